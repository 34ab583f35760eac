import { isUniqueViolation, sendAlong, type Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { fail, invalidField, notFound, outcomeUnknown, unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import { newDeed, write } from '../deed.ts'
import { tellPayment } from '../events-lifecycle.ts'
import { gatewayFor } from '../gateways/registry.ts'
import { openLot } from '../invoices/receive.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { creditLines, insertCreditNote } from '../invoices/store-credit.ts'
import { type Accounts, cashOf, post, takeBack } from '../ledger/ledger.ts'
import { majorText, min, rnd, share, sum, toMinor } from '../money.ts'
import { refuseOpenChange } from '../subscriptions/change-plan.ts'
import type { SubscriptionRow } from '../subscriptions/store.ts'
import * as subscriptions from '../subscriptions/store.ts'
import { nextCheck } from './attempt.ts'
import type { RefundRequest } from './schema.ts'
import { sendRefund, settleRefund } from './settle-refund.ts'
import type { TransactionRow } from './store.ts'
import * as store from './store.ts'

/**
 * Money back to where it came from (`refund`), as credit on the subscription (`refund_credit`), or noted as returned
 * outside (`record_refund`). Against giving too much: the payment's row is locked and checked by the database, the
 * refund is written before the gateway is asked, and its id is the gateway's key on every try.
 */
export async function refundPayment(
  context: Context,
  paymentId: string,
  request: RefundRequest,
  idempotencyKey?: string,
): Promise<TransactionRow> {
  const { db, business } = context
  const payment = await store.findTransaction(db, business.id, paymentId)
  if (!payment || payment.state === 'voided') throw notFound('Transaction')
  if (payment.type !== 'payment')
    throw unprocessable('not_a_payment', 'This transaction is a refund. Only a payment can be refunded.')
  const key = idempotencyKey === undefined ? null : `${paymentId}:${idempotencyKey}`
  const made =
    key === null
      ? undefined
      : await store.findTransactionByKey(db, business.id, { type: 'refund', idempotencyKey: key })
  const refund = made ?? (await accept(context, payment, request, key))
  if (refund.state === 'succeeded') return refund
  if (refund.state === 'failed') throw refused(refund)
  const settled = await settleRefund(context, refund.id, await sendRefund(context, refund))
  if (settled.state === 'failed') throw refused(settled)
  if (settled.state === 'unknown')
    throw outcomeUnknown(
      'refund_outcome_unknown',
      'The gateway did not say what became of the refund. It is settled as soon as it does; don’t ask again.',
    )
  return settled
}

const refused = (refund: TransactionRow) =>
  unprocessable('refund_failed', `The gateway refused the refund (${refund.code}). Nothing was given back.`)

async function accept(
  context: Context,
  known: TransactionRow,
  request: RefundRequest,
  key: string | null,
): Promise<TransactionRow> {
  const { db, business } = context
  const type = await refundTypeOf(context, known, request)
  try {
    return await db.begin(async tx => {
      const subscription =
        (await subscriptions.lockSubscription(tx, business.id, known.subscriptionId)) ?? fail(notFound('Subscription'))
      await refuseOpenChange(tx, business.id, subscription.id)
      const payment = (await store.lockTransaction(tx, business.id, known.id)) ?? fail(notFound('Transaction'))
      const invoice = (await invoices.lockInvoice(tx, business.id, payment.invoiceId)) ?? fail(notFound('Invoice'))
      const amountMinor = amountOf(payment, request)
      return book(tx, context, { subscription, payment, invoice, amountMinor, type, request, key })
    })
  } catch (error) {
    if (isUniqueViolation(error, 'billing_transaction_key') && key !== null)
      return (
        (await store.findTransactionByKey(db, business.id, { type: 'refund', idempotencyKey: key })) ??
        fail(error as Error)
      )
    throw error
  }
}

async function refundTypeOf(context: Context, payment: TransactionRow, request: RefundRequest) {
  const { caps } = await gatewayFor(context, payment.gateway)
  const type = request.refund_type ?? 'refund'
  if (type === 'refund' && !caps.refund)
    throw unprocessable(
      'refund_not_possible',
      `Payments by ${payment.gateway} can't be sent back. Return the money yourself and use refund_type record_refund.`,
      [{ field: 'refund_type', message: 'must be record_refund or refund_credit for this payment' }],
    )
  return type
}

function amountOf(payment: TransactionRow, request: RefundRequest): bigint {
  if (payment.state !== 'succeeded')
    throw unprocessable('payment_not_successful', 'Only a payment that succeeded can be refunded.')
  const left = payment.amountMinor - payment.refundedMinor - payment.refundPendingMinor
  const given = request.amount === undefined || request.amount === '' ? undefined : request.amount
  const amountMinor = given === undefined ? left : toMinor(given, payment.currency, 'amount')
  if (given !== undefined && amountMinor === 0n) throw invalidField('amount', 'must be greater than 0')
  if (left === 0n) throw unprocessable('already_refunded', 'The whole payment was refunded before.')
  if (amountMinor > left)
    throw unprocessable(
      'refund_exceeds_payment',
      `Only ${majorText(left, payment.currency)} ${payment.currency} of this payment are left to refund.`,
      [{ field: 'amount', message: `must be at most ${majorText(left, payment.currency)}` }],
    )
  return amountMinor
}

interface Booking {
  subscription: SubscriptionRow
  payment: TransactionRow
  invoice: InvoiceRow
  amountMinor: bigint
  type: 'refund' | 'refund_credit' | 'record_refund'
  request: RefundRequest
  key: string | null
  /** of a refund that was made at the gateway by hand */
  gatewayRef?: string
}

/** A refund that happened at the gateway without us: written as recorded, and found again by its reference. */
export async function recordGatewayRefund(
  context: Context,
  known: TransactionRow,
  made: { ref: string; amountMinor: bigint },
): Promise<void> {
  const { db, business } = context
  await db.begin(async tx => {
    const subscription =
      (await subscriptions.lockSubscription(tx, business.id, known.subscriptionId)) ?? fail(notFound('Subscription'))
    const payment = (await store.lockTransaction(tx, business.id, known.id)) ?? fail(notFound('Transaction'))
    const invoice = (await invoices.lockInvoice(tx, business.id, payment.invoiceId)) ?? fail(notFound('Invoice'))
    const twice = { gateway: payment.gateway, type: 'refund', ref: made.ref } as const
    if (await store.findTransactionByRef(tx, business.id, twice)) return
    const request = { description: 'Refunded at the gateway' }
    const type = 'record_refund'
    const { amountMinor, ref: gatewayRef } = made
    await book(tx, context, { subscription, payment, invoice, amountMinor, type, request, key: null, gatewayRef })
  })
}

async function book(tx: Tx, context: Context, booking: Booking): Promise<TransactionRow> {
  const { business, now } = context
  const { subscription, payment, invoice, amountMinor, type, request } = booking
  const outside = type === 'refund'
  const taxMinor = taxOf(invoice, amountMinor)
  const refund: TransactionRow = {
    ...payment,
    id: newId(),
    type: 'refund',
    state: outside ? 'created' : 'succeeded',
    carried: null,
    gatewayRef: booking.gatewayRef ?? null,
    amountMinor,
    refundedMinor: 0n,
    refundPendingMinor: 0n,
    paymentId: payment.id,
    refundType: type,
    taxMinor,
    description: request.description ?? '',
    reference: '',
    code: null,
    actionUrl: null,
    checkAt: outside ? nextCheck(0, now) : null,
    checks: 0,
    createdAt: now,
    updatedAt: now,
  }
  await store.insertTransactions(tx, business.id, [refund], booking.key)
  await store.saveTransaction(tx, business.id, {
    ...payment,
    refundedMinor: payment.refundedMinor + (outside ? 0n : amountMinor),
    refundPendingMinor: payment.refundPendingMinor + (outside ? amountMinor : 0n),
    updatedAt: now,
  })
  const back = await writeNote(tx, context, booking, refund)
  const destination: Accounts =
    type === 'refund'
      ? { refundClearing: -amountMinor }
      : type === 'refund_credit'
        ? { customerCredit: -amountMinor }
        : { [cashOf(payment.gateway)]: -amountMinor }
  await post(tx, business.id, [act(refund, `refund:${refund.id}`, now, { ...back, tax: taxMinor, ...destination })])
  if (type === 'refund_credit') {
    const deed = newDeed()
    openLot({ context, deed }, subscription, { sourceId: refund.id, amountMinor })
    await write(tx, context, deed)
  }
  if (!outside) await tellPayment(tx, context, 'payment_refund', refund)
  return refund
}

/** Cumulative: after all refunds the tax given back is the tax's share in what was given back, so cents never drift. */
function taxOf(invoice: InvoiceRow, amountMinor: bigint): bigint {
  const { totalMinor, taxMinor, refundedMinor } = invoice
  if (totalMinor === 0n) return 0n
  const until = (refunded: bigint) => rnd(taxMinor, min(refunded, totalMinor), totalMinor)
  return min(amountMinor, until(refundedMinor + amountMinor) - until(refundedMinor))
}

/** Every refund has its credit note: the invoice stays settled, and a later change can't credit the same money again. */
async function writeNote(tx: Tx, context: Context, booking: Booking, refund: TransactionRow) {
  const { business, now } = context
  const { subscription, invoice, amountMinor } = booking
  const netMinor = amountMinor - refund.taxMinor
  const lines = await invoices.linesOf(tx, business.id, invoice)
  const spread = (total: bigint, rooms: bigint[]) => share(min(total, sum(rooms)), rooms)
  const nets = spread(
    netMinor,
    lines.map(line => line.netMinor - line.creditedNetMinor),
  )
  const taxes = spread(
    refund.taxMinor,
    lines.map(line => line.taxMinor - line.creditedTaxMinor),
  )
  const credits = lines.map((line, i) => ({
    subscriptionId: subscription.id,
    invoiceId: invoice.id,
    lineNo: line.lineNo,
    netMinor: nets[i]!,
    taxMinor: taxes[i]!,
  }))
  await sendAlong(tx, ...creditLines(tx, business.id, credits))
  await insertCreditNote(tx, business.id, {
    id: newId(),
    subscriptionId: subscription.id,
    kind: 'refund',
    sourceId: refund.id,
    netMinor,
    taxMinor: refund.taxMinor,
    lines: credits,
    createdAt: now,
  })
  await invoices.saveInvoice(tx, business.id, withRefunded(invoice, amountMinor, now))
  const back = takeBack(subscription.deferredMinor, netMinor)
  await subscriptions.saveSubscription(tx, business.id, {
    ...subscription,
    deferredMinor: subscription.deferredMinor - back.deferred,
  })
  return back
}

/** `refunded` once all that was paid is given back; a part of it leaves the invoice as it is. */
export function withRefunded(invoice: InvoiceRow, amountMinor: bigint, now: Date): InvoiceRow {
  const refundedMinor = invoice.refundedMinor + amountMinor
  const settled = invoice.status === 'paid' || invoice.status === 'refunded'
  const status = settled
    ? refundedMinor > 0n && refundedMinor >= invoice.paidMinor
      ? 'refunded'
      : 'paid'
    : invoice.status
  return { ...invoice, refundedMinor, status, updatedAt: now }
}

export const act = (refund: TransactionRow, sourceKey: string, at: Date, accounts: Accounts) => ({
  sourceKey,
  at,
  customerId: refund.customerId,
  subscriptionId: refund.subscriptionId,
  currency: refund.currency,
  gateway: refund.gateway,
  accounts,
})
