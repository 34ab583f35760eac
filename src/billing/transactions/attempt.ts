import { first, type Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import type { Outcome } from '../gateways/gateway.ts'
import { gatewayFor } from '../gateways/registry.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { sum } from '../money.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import * as methods from '../payment-methods/store.ts'
import type { TransactionRow } from './store.ts'
import * as store from './store.ts'

/**
 * One attempt is one decision to charge. It is written and committed before the gateway is asked; its id is the
 * gateway's key, so that asking again after a crash or a timeout can't charge twice.
 */
export const gatewayKey = (businessId: string, transactionId: string) => `${businessId}:${transactionId}`

export function newPayment(
  invoice: InvoiceRow,
  payment: { gateway: string; methodId: string | null; amountMinor: bigint; now: Date; carried?: InvoiceRow[] },
): TransactionRow {
  const { gateway, methodId, amountMinor, now, carried = [] } = payment
  return {
    id: newId(),
    type: 'payment',
    state: 'created',
    customerId: invoice.customerId,
    subscriptionId: invoice.subscriptionId,
    productId: invoice.productId,
    planId: invoice.planId,
    invoiceId: invoice.id,
    carried: carried.length > 0 ? carried.map(row => ({ invoiceId: row.id, amount: String(row.dueMinor) })) : null,
    gateway,
    gatewayRef: null,
    paymentMethodId: methodId,
    currency: invoice.currency,
    amountMinor,
    refundedMinor: 0n,
    refundPendingMinor: 0n,
    paymentId: null,
    refundType: null,
    taxMinor: 0n,
    description: '',
    reference: '',
    code: null,
    actionUrl: null,
    // A worker that dies between writing this and asking the gateway leaves it to be found here.
    checkAt: new Date(now.getTime() + firstCheckMs),
    checks: 0,
    createdAt: now,
    updatedAt: now,
  }
}

const firstCheckMs = 5 * 60_000
const laterChecksMs = [60 * 60_000, 24 * 60 * 60_000]
export const nextCheck = (checks: number, now: Date) =>
  new Date(now.getTime() + (checks === 0 ? firstCheckMs : (laterChecksMs[checks - 1] ?? laterChecksMs.at(-1)!)))

/** Decides to charge an invoice, together with the small ones that were carried to this moment. */
export async function openPayment(
  tx: Tx,
  businessId: string,
  invoice: InvoiceRow,
  options: { method: MethodRow; now: Date },
): Promise<TransactionRow> {
  const owed = await invoices.lockDueInvoices(tx, businessId, [invoice.subscriptionId])
  const payment = paymentWithCarried(invoice, owed, options)
  const [made] = await store.insertPayments(tx, businessId, [payment])
  return made ? payment : fail(inProgress())
}

/** Of all that its subscription owes, the small amounts that wait for an invoice which can take them along. */
export const carriedTo = (invoice: Pick<InvoiceRow, 'id' | 'currency'>, owed: readonly InvoiceRow[]): InvoiceRow[] =>
  owed.filter(row => row.carried && row.dueMinor > 0n && row.id !== invoice.id && row.currency === invoice.currency)

/** The attempt to charge an invoice and what was carried to it, of all that its subscription owes. */
export function paymentWithCarried(
  invoice: InvoiceRow,
  owed: readonly InvoiceRow[],
  { method, now }: { method: MethodRow; now: Date },
): TransactionRow {
  const carried = carriedTo(invoice, owed)
  return newPayment(invoice, {
    gateway: method.gateway,
    methodId: method.id,
    amountMinor: invoice.dueMinor + sum(carried.map(row => row.dueMinor)),
    now,
    carried,
  })
}

export const inProgress = () =>
  conflict('payment_in_progress', 'A payment of this invoice is under way. Wait until it is settled, then try again.')

/** Where customers come back from their bank. Signed, because it leads to the receipt, and ids can be guessed. */
export const returnPath = ({ platform, business }: Pick<Context, 'platform' | 'business'>, paymentId: string) =>
  `/checkout/returned/${platform.secrets.token('payment return', `${business.id} ${paymentId}`)}`

/** Asks the gateway. Never inside a transaction. */
export async function sendPayment(
  context: Context,
  payment: TransactionRow,
  options: { customerPresent: boolean; method?: MethodRow | undefined },
): Promise<Outcome> {
  const { db, business, platform } = context
  const gateway = await gatewayFor(context, payment.gateway)
  const method = options.method ?? first(await methods.methodsByIds(db, business.id, [payment.paymentMethodId ?? '']))
  if (!method) return { kind: 'not_sent', reason: 'The payment method was deleted.' }
  return safely(() =>
    gateway.charge({
      key: gatewayKey(business.id, payment.id),
      amountMinor: payment.amountMinor,
      currency: payment.currency,
      method: { ref: method.gatewayMethod, customer: method.gatewayCustomer },
      customerPresent: options.customerPresent,
      returnUrl: platform.config.publicUrl + returnPath(context, payment.id),
      meta: { invoice: payment.invoiceId, subscription: payment.subscriptionId },
      onRef: async ref => {
        await store.setGatewayRef(db, business.id, payment.id, ref)
      },
    }),
  )
}

/** An adapter that fails in a way of its own leaves doubt, and doubt is `unknown`. */
export async function safely(ask: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await ask()
  } catch (error) {
    return { kind: 'unknown', reason: error instanceof Error ? error.message : String(error) }
  }
}
