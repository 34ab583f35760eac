import { newId } from '../../platform/ids.ts'
import { localDate } from '../dates.ts'
import { paymentAccounts } from '../ledger/ledger.ts'
import { min, sum, toMajor } from '../money.ts'
import {
  owedBy,
  type Scene,
  saveInvoice,
  saveSubscription,
  tellCredit,
  tellPayment,
  tellSubscription,
} from '../scene.ts'
import { restartedAt, timed } from '../subscriptions/periods.ts'
import type { SubscriptionRow } from '../subscriptions/store.ts'
import type { TransactionRow } from '../transactions/store.ts'
import type { InvoiceRow } from './store.ts'

/** Money arrived: it pays its invoice and those carried to it; what is too much becomes credit, so that no cent is lost. */
export function receive(scene: Scene, subscription: SubscriptionRow, payment: TransactionRow): SubscriptionRow {
  const { deed, context } = scene
  const paid = pay(scene, payment)
  const excess = payment.amountMinor - sum(paid.map(one => one.amountMinor))
  const accounts = paymentAccounts(payment.gateway, payment.amountMinor)
  deed.acts.push({
    sourceKey: `payment:${payment.id}`,
    at: context.now,
    customerId: payment.customerId,
    subscriptionId: payment.subscriptionId,
    currency: payment.currency,
    gateway: payment.gateway,
    accounts: { ...accounts, receivable: excess - payment.amountMinor, customerCredit: -excess },
  })
  if (excess > 0n) openLot(scene, subscription, { sourceId: payment.id, amountMinor: excess })
  tellPayment(scene, 'payment_success', payment)
  const after = recover(scene, activate(scene, subscription))
  // Of one that was carried to this it was told before.
  const renewed = paid.some(
    ({ invoice }) => invoice.id === payment.invoiceId && isRenewal(invoice) && invoice.dueMinor === 0n,
  )
  if (renewed && payment.gateway !== 'offline') tellSubscription(scene, ['subscription_renew'], after)
  return after
}

function pay(scene: Scene, payment: TransactionRow) {
  const carried = new Map((payment.carried ?? []).map(one => [one.invoiceId, BigInt(one.amount)]))
  // The carried ones first, so that what is missing shows on the newest.
  const rows = owedBy(scene, payment.subscriptionId)
    .filter(row => carried.has(row.id) || row.id === payment.invoiceId)
    .sort((a, b) => Number(a.id === payment.invoiceId) - Number(b.id === payment.invoiceId))
  let rest = payment.amountMinor
  const paid: { invoice: InvoiceRow; amountMinor: bigint }[] = []
  for (const row of rows) {
    const amountMinor = min(min(row.dueMinor, carried.get(row.id) ?? rest), rest)
    if (amountMinor === 0n) continue
    rest -= amountMinor
    const invoice = settledBy(row, { paidMinor: amountMinor, now: scene.context.now })
    saveInvoice(scene, invoice)
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

export function openLot(
  scene: Pick<Scene, 'deed' | 'context'>,
  subscription: Pick<SubscriptionRow, 'id' | 'customerId' | 'currency'>,
  credit: { id?: string | undefined; sourceId: string; amountMinor: bigint },
): void {
  const { deed, context } = scene
  const { id: subscriptionId, customerId, currency } = subscription
  const id = credit.id ?? newId()
  const amount = toMajor(credit.amountMinor, currency)
  deed.lots.push({
    id,
    subscriptionId,
    customerId,
    currency,
    sourceId: credit.sourceId,
    createdMinor: credit.amountMinor,
    usedMinor: 0n,
    reservedMinor: 0n,
    createdAt: context.now,
  })
  tellCredit(scene, 'credit_create', {
    id,
    subscription_id: subscriptionId,
    customer_id: customerId,
    amount,
    remaining_amount: amount,
  })
}

/** The first payment makes a subscription one that counts: it gets its licence code, once. */
export function activate(scene: Scene, row: SubscriptionRow): SubscriptionRow {
  if (row.activated) return row
  const after = { ...row, activated: true, updatedAt: scene.context.now }
  saveSubscription(scene, after)
  scene.deed.activated.push(after)
  tellSubscription(scene, ['subscription_activate'], after)
  return after
}

/** Back in good standing once nothing is owed. A term that ran out meanwhile begins anew today. */
export function recover(scene: Scene, row: SubscriptionRow): SubscriptionRow {
  const { business, now } = scene.context
  if (row.status !== 'dunning' && row.status !== 'unpaid') return row
  const chased = owedBy(scene, row.id).filter(invoice => !invoice.carried)
  if (chased.some(invoice => invoice.status === 'overdue' || invoice.dunningStep > 0)) return row
  const status = row.cancelAtEnd ? 'non_renewing' : 'live'
  const after = running({ ...row, status, updatedAt: now }, { now, timeZone: business.timeZone })
  saveSubscription(scene, after)
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
