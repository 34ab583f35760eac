import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import { settlePayment } from '../subscriptions/settle.ts'
import { gatewayKey } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { gatewayFor } from './registry.ts'
import * as store from './store.ts'

/** The customer confirms (or refuses) a payment of the test gateway, as they would on the page of their bank. */
export async function confirmTestPayment(
  context: Context,
  paymentId: string,
  accept: boolean,
): Promise<TransactionRow> {
  const { db, business } = context
  const payment = await transactions.findTransaction(db, business.id, paymentId)
  if (payment?.gateway !== 'test' || payment.type !== 'payment') throw notFound('Transaction')
  if (payment.state !== 'action_required' || payment.gatewayRef === null)
    throw unprocessable('nothing_to_confirm', 'This payment does not wait for a confirmation.')
  await store.answerTestCharge(context.platform.db, business.id, payment.gatewayRef, accept ? 'succeeded' : 'declined')
  return refreshPayment(context, payment)
}

/** Asks the gateway what became of a payment and settles it accordingly. */
export async function refreshPayment(context: Context, payment: TransactionRow): Promise<TransactionRow> {
  const gateway = await gatewayFor(context, payment.gateway)
  const key = gatewayKey(context.business.id, payment.id)
  const state = await gateway.fetchState({ kind: payment.type, key, ref: payment.gatewayRef })
  if (state.kind === 'absent') return payment
  return settlePayment(context, payment.id, state)
}

/** For the hosted page: the payment behind the link that a customer was sent. */
export async function findPaymentByRef(context: Context, ref: string): Promise<TransactionRow> {
  const { db, business } = context
  return (
    (await transactions.findTransactionByRef(db, business.id, { gateway: 'test', type: 'payment', ref })) ??
    fail(notFound('Transaction'))
  )
}
