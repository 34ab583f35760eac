import type { Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Context } from '../context.ts'
import { localDate } from '../dates.ts'
import { tellCredit, tellPayment, tellSubscription } from '../events-lifecycle.ts'
import { paymentAccounts, post } from '../ledger/ledger.ts'
import * as lots from '../ledger/store.ts'
import { assignCode } from '../licenses/assign.ts'
import { min, sum, toMajor } from '../money.ts'
import { restartedAt, timed } from '../subscriptions/periods.ts'
import type { SubscriptionRow } from '../subscriptions/store.ts'
import * as subscriptions from '../subscriptions/store.ts'
import type { TransactionRow } from '../transactions/store.ts'
import type { InvoiceRow } from './store.ts'
import * as store from './store.ts'

/** Money arrived: it pays its invoice and those carried to it; what is too much becomes credit, so that no cent is lost. */
export async function receive(
  tx: Tx,
  context: Context,
  subscription: SubscriptionRow,
  payment: TransactionRow,
): Promise<SubscriptionRow> {
  const { business, now } = context
  const paid = await pay(tx, context, payment)
  const excess = payment.amountMinor - sum(paid.map(one => one.amountMinor))
  const accounts = paymentAccounts(payment.gateway, payment.amountMinor)
  await post(tx, business.id, [
    {
      sourceKey: `payment:${payment.id}`,
      at: now,
      customerId: payment.customerId,
      subscriptionId: payment.subscriptionId,
      currency: payment.currency,
      gateway: payment.gateway,
      accounts: { ...accounts, receivable: excess - payment.amountMinor, customerCredit: -excess },
    },
  ])
  if (excess > 0n) await openLot(tx, context, subscription, { sourceId: payment.id, amountMinor: excess })
  await tellPayment(tx, context, 'payment_success', payment)
  const after = await recover(tx, context, await activate(tx, context, subscription))
  const renewed = paid.some(({ invoice }) => isRenewal(invoice) && invoice.dueMinor === 0n)
  if (renewed && payment.gateway !== 'offline') await tellSubscription(tx, context, ['subscription_renew'], after)
  return after
}

async function pay(tx: Tx, context: Context, payment: TransactionRow) {
  const carried = new Map((payment.carried ?? []).map(one => [one.invoiceId, BigInt(one.amount)]))
  const rows = await store.lockInvoices(tx, context.business.id, [...carried.keys(), payment.invoiceId])
  // The carried ones first, so that what is missing shows on the newest.
  rows.sort((a, b) => Number(a.id === payment.invoiceId) - Number(b.id === payment.invoiceId))
  let rest = payment.amountMinor
  const paid: { invoice: InvoiceRow; amountMinor: bigint }[] = []
  for (const row of rows) {
    const open = row.status === 'sent' || row.status === 'overdue' ? row.dueMinor : 0n
    const amountMinor = min(min(open, carried.get(row.id) ?? rest), rest)
    if (amountMinor === 0n) continue
    rest -= amountMinor
    const invoice = settledBy(row, { paidMinor: amountMinor, now: context.now })
    await store.saveInvoice(tx, context.business.id, invoice)
    paid.push({ invoice, amountMinor })
  }
  return paid
}

/** The invoice after something was taken off its due: paid when nothing is left, and then no longer chased. */
export function settledBy(row: InvoiceRow, by: { paidMinor?: bigint; offsetMinor?: bigint; now: Date }): InvoiceRow {
  const { paidMinor = 0n, offsetMinor = 0n, now } = by
  const dueMinor = row.dueMinor - paidMinor - offsetMinor
  const done = dueMinor === 0n
  return {
    ...row,
    paidMinor: row.paidMinor + paidMinor,
    offsetMinor: row.offsetMinor + offsetMinor,
    dueMinor,
    status: done ? 'paid' : row.status,
    chargeAt: done ? null : row.chargeAt,
    carried: done ? false : row.carried,
    updatedAt: now,
  }
}

export async function openLot(
  tx: Tx,
  context: Context,
  subscription: Pick<SubscriptionRow, 'id' | 'customerId' | 'currency'>,
  credit: { id?: string; sourceId: string; amountMinor: bigint },
): Promise<string> {
  const id = credit.id ?? newId()
  const amount = toMajor(credit.amountMinor, subscription.currency)
  await lots.insertLot(tx, context.business.id, {
    id,
    subscriptionId: subscription.id,
    customerId: subscription.customerId,
    currency: subscription.currency,
    sourceId: credit.sourceId,
    createdMinor: credit.amountMinor,
    usedMinor: 0n,
    reservedMinor: 0n,
    createdAt: context.now,
  })
  await tellCredit(tx, context, 'credit_create', {
    id,
    subscription_id: subscription.id,
    customer_id: subscription.customerId,
    amount,
    remaining_amount: amount,
  })
  return id
}

/** The first payment makes a subscription one that counts: it gets its licence code, once. */
export async function activate(tx: Tx, context: Context, row: SubscriptionRow): Promise<SubscriptionRow> {
  if (row.activated) return row
  const after = { ...row, activated: true, updatedAt: context.now }
  await subscriptions.saveSubscription(tx, context.business.id, after)
  await assignCode(tx, context.business.id, {
    productId: row.productId,
    planId: row.planId,
    subscriptionId: row.id,
    now: context.now,
    source: context.source,
  })
  await tellSubscription(tx, context, ['subscription_activate'], after)
  return after
}

/** Back in good standing once nothing is owed. A term that ran out meanwhile begins anew today. */
export async function recover(tx: Tx, context: Context, row: SubscriptionRow): Promise<SubscriptionRow> {
  const { business, now } = context
  if (row.status !== 'dunning' && row.status !== 'unpaid') return row
  const owed = await store.lockDueInvoices(tx, business.id, row.id)
  if (owed.some(invoice => !invoice.carried && (invoice.status === 'overdue' || invoice.dunningStep > 0))) return row
  const status = row.cancelAtEnd ? 'non_renewing' : 'live'
  const after = running({ ...row, status, updatedAt: now }, { now, timeZone: business.timeZone })
  await subscriptions.saveSubscription(tx, business.id, after)
  return after
}

/** Goes on in its term; when the term is over, with a new one from today. */
export function running(row: SubscriptionRow, { now, timeZone }: { now: Date; timeZone: string }): SubscriptionRow {
  if (row.nextBillingAt !== null) return row
  const today = localDate(now, timeZone)
  if (row.periodEnd !== null && row.periodEnd > today) return timed(row, { now, timeZone })
  return { ...restartedAt(row, today), nextBillingAt: now }
}

/** An invoice for another period, not the first. */
export const isRenewal = (invoice: Pick<InvoiceRow, 'kind' | 'periodNo'>): boolean =>
  (invoice.kind === 'renewal' || invoice.kind === 'resume') && (invoice.periodNo ?? 0) > 1
