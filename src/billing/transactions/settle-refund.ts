import { sendAlong, type Tx } from '../../platform/database.ts'
import { fail, notFound } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import { tellPayment } from '../events-lifecycle.ts'
import type { Outcome } from '../gateways/gateway.ts'
import { gatewayFor } from '../gateways/registry.ts'
import * as invoices from '../invoices/store.ts'
import { creditLines, voidCreditNote } from '../invoices/store-credit.ts'
import { cashOf, post } from '../ledger/ledger.ts'
import { max } from '../money.ts'
import * as subscriptions from '../subscriptions/store.ts'
import { gatewayKey, nextCheck, safely } from './attempt.ts'
import { act, withRefunded } from './refund.ts'
import type { TransactionRow } from './store.ts'
import * as store from './store.ts'

/** Asks the gateway. Never inside a transaction. */
export async function sendRefund(context: Context, refund: TransactionRow): Promise<Outcome> {
  const { db, business } = context
  const [payment] = await store.transactionsByIds(db, business.id, [refund.paymentId ?? ''])
  const ref = payment?.gatewayRef
  if (!ref) return { kind: 'not_sent', reason: 'The payment has no reference at the gateway.' }
  const gateway = await gatewayFor(context, refund.gateway)
  return safely(() =>
    gateway.refund({
      key: gatewayKey(business.id, refund.id),
      ref,
      amountMinor: refund.amountMinor,
      currency: refund.currency,
    }),
  )
}

/** What a refund's outcome means; like payments, only forward and as often as it is told. */
export async function settleRefund(context: Context, refundId: string, outcome: Outcome): Promise<TransactionRow> {
  const { db, business, now } = context
  const known = (await store.findTransaction(db, business.id, refundId)) ?? fail(notFound('Transaction'))
  return db.begin(async tx => {
    await subscriptions.lockSubscription(tx, business.id, known.subscriptionId)
    const payment =
      (await store.lockTransaction(tx, business.id, known.paymentId ?? '')) ?? fail(notFound('Transaction'))
    const refund = (await store.lockTransaction(tx, business.id, refundId)) ?? fail(notFound('Transaction'))
    if (refund.state === 'succeeded' || refund.state === 'failed') return refund
    if (outcome.kind === 'succeeded') return paidOut(tx, context, payment, refund, outcome.ref)
    if (outcome.kind === 'declined') return undo(tx, context, payment, refund, outcome.code)
    // Not sent, for example because the gateway is busy: as good as unknown, the same key is sent again later.
    const after: TransactionRow = {
      ...refund,
      state: outcome.kind === 'pending' ? 'pending' : 'unknown',
      gatewayRef: 'ref' in outcome ? (outcome.ref ?? refund.gatewayRef) : refund.gatewayRef,
      checkAt: nextCheck(refund.checks, now),
      checks: refund.checks + 1,
      updatedAt: now,
    }
    await store.saveTransaction(tx, business.id, after)
    return after
  })
}

async function paidOut(
  tx: Tx,
  context: Context,
  payment: TransactionRow,
  refund: TransactionRow,
  ref: string,
): Promise<TransactionRow> {
  const { business, now } = context
  const after: TransactionRow = { ...refund, state: 'succeeded', gatewayRef: ref, checkAt: null, updatedAt: now }
  await store.saveTransaction(tx, business.id, after)
  await store.saveTransaction(tx, business.id, {
    ...payment,
    refundPendingMinor: payment.refundPendingMinor - refund.amountMinor,
    refundedMinor: payment.refundedMinor + refund.amountMinor,
    updatedAt: now,
  })
  await post(tx, business.id, [
    act(refund, `refund-paid:${refund.id}`, now, {
      refundClearing: refund.amountMinor,
      [cashOf(refund.gateway)]: -refund.amountMinor,
    }),
  ])
  await tellPayment(tx, context, 'payment_refund', after)
  return after
}

/** The gateway gave nothing back: note, lines, invoice and books are as before, by entries of their own. */
async function undo(
  tx: Tx,
  context: Context,
  payment: TransactionRow,
  refund: TransactionRow,
  code: string,
): Promise<TransactionRow> {
  const { business, now } = context
  const after: TransactionRow = { ...refund, state: 'failed', code, checkAt: null, updatedAt: now }
  await store.saveTransaction(tx, business.id, after)
  await store.saveTransaction(tx, business.id, {
    ...payment,
    refundPendingMinor: payment.refundPendingMinor - refund.amountMinor,
    updatedAt: now,
  })
  const note = await voidCreditNote(tx, business.id, refund.id, now)
  const lines = (note?.lines ?? []).map(line => ({
    subscriptionId: refund.subscriptionId,
    invoiceId: line.invoiceId,
    lineNo: line.lineNo,
    netMinor: BigInt(line.net),
    taxMinor: BigInt(line.tax),
  }))
  await sendAlong(tx, ...creditLines(tx, business.id, lines, -1))
  const invoice = await invoices.lockInvoice(tx, business.id, refund.invoiceId)
  if (invoice) await invoices.saveInvoice(tx, business.id, withRefunded(invoice, -refund.amountMinor, now))
  const netMinor = max(0n, refund.amountMinor - refund.taxMinor)
  await post(tx, business.id, [
    act(refund, `refund-failed:${refund.id}`, now, {
      revenue: -netMinor,
      tax: -refund.taxMinor,
      refundClearing: refund.amountMinor,
    }),
  ])
  return after
}
