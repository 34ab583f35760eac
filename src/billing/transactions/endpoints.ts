import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { contextOf } from '../context.ts'
import { getCustomer } from '../customers/customers.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { majorText } from '../money.ts'
import { refundPayment } from './refund.ts'
import {
  RefundPath,
  RefundRequest,
  TransactionPath,
  TransactionQuery,
  TransactionSchema,
  TransactionsPath,
} from './schema.ts'
import { showTransaction } from './show.ts'
import { pageOf, removeTransaction } from './transactions.ts'

const defaultLimit = 50

export const refund = endpoint({
  summary: 'Refund a payment, or record a refund made elsewhere',
  description:
    'refund sends the money back, refund_credit keeps it as credit on the subscription, record_refund notes that you returned it yourself.',
  params: RefundPath,
  body: Type.Optional(RefundRequest),
  answer: envelope(TransactionSchema),
  effects: 'outside',
  run: async call => {
    const context = await contextOf(call)
    const row = await refundPayment(context, call.params.payment_id, call.body ?? {}, call.idempotencyKey)
    const amount = `${majorText(row.amountMinor, row.currency)} ${row.currency}`
    const done = row.state === 'pending' ? 'is on its way back' : 'was refunded'
    return ok(`The payment of ${amount} ${done}.`, showTransaction(row))
  },
})

export const list = endpoint({
  summary: "A customer's payments and refunds, newest first",
  params: TransactionsPath,
  query: TransactionQuery,
  answer: pageEnvelope(TransactionSchema),
  run: async call => {
    const context = await contextOf(call)
    const customer = await getCustomer(call.db, call.business.id, call.params.customer_id)
    const page = pageRequest(call.query, defaultLimit)
    const { rows, total } = await pageOf(context, customer.id, call.query, page)
    return okPage('Transactions', rows.map(showTransaction), page, total)
  },
})

export const listRefunds = endpoint({
  summary: "A customer's refunds, newest first",
  params: TransactionsPath,
  query: TransactionQuery,
  answer: pageEnvelope(TransactionSchema),
  run: async call => {
    const context = await contextOf(call)
    const customer = await getCustomer(call.db, call.business.id, call.params.customer_id)
    const page = pageRequest(call.query, defaultLimit)
    const { rows, total } = await pageOf(context, customer.id, { ...call.query, type: 'refund' }, page)
    return okPage('Refunds', rows.map(showTransaction), page, total)
  },
})

export const remove = endpoint({
  summary: 'Delete a transaction that was recorded by hand or never succeeded',
  params: TransactionPath,
  answer: envelope(TransactionSchema),
  run: async call =>
    ok(
      'Transaction deleted',
      showTransaction(await removeTransaction(await contextOf(call), call.params.transaction_id)),
    ),
})
