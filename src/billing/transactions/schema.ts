import { type Static, Type } from 'typebox'
import { Choice, IdInPath, PageQuery, Timestamp } from '../../platform/schema.ts'
import { AmountShown } from '../fields.ts'

export const TransactionsPath = Type.Object({ customer_id: IdInPath })
export const TransactionPath = Type.Object({ transaction_id: IdInPath })
export const RefundPath = Type.Object({ payment_id: IdInPath })

export const shownStatuses = ['created', 'success', 'failure', 'refund', 'paid', 'inprogress'] as const
const filter = Type.Optional(Type.String({ maxLength: 100 }))
export const TransactionQuery = Type.Object({
  ...PageQuery,
  invoice_id: filter,
  subscription_id: filter,
  product_id: filter,
  plan_id: filter,
  status: Type.Optional(Choice(shownStatuses)),
})
export type TransactionQuery = Static<typeof TransactionQuery>

export const refundTypes = ['refund', 'refund_credit', 'record_refund'] as const
export const RefundRequest = Type.Object({
  amount: Type.Optional(Type.Unsafe<number | string>({ type: ['number', 'string'], maxLength: 40 })),
  refund_type: Type.Optional(Choice(refundTypes)),
  description: Type.Optional(Type.String({ maxLength: 2_000 })),
})
export type RefundRequest = Static<typeof RefundRequest>

export const TransactionSchema = Type.Object({
  id: Type.String(),
  type: Type.String(),
  type_formatted: Type.String(),
  status: Type.String(),
  status_formatted: Type.String(),
  description: Type.String(),
  amount: AmountShown,
  refunded_amount: AmountShown,
  currency_code: Type.String(),
  currency_symbol: Type.String(),
  customer_id: Type.String(),
  subscription_id: Type.String(),
  plan_id: Type.String(),
  product_id: Type.String(),
  invoice_id: Type.String(),
  reference_id: Type.String({ description: 'what the gateway calls it; of a refund, the payment' }),
  gateway_type: Type.String(),
  transaction: Type.String({ description: 'your own reference' }),
  refund_type: Type.String(),
  failure_code: Type.String(),
  action_url: Type.String({ description: 'where the customer confirms the payment; empty if there is nothing to do' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
