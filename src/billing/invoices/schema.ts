import { type Static, Type } from 'typebox'
import { Choice, IdInPath, Nullable, PageQuery, Timestamp } from '../../platform/schema.ts'
import { CustomerSchema } from '../customers/schema.ts'
import { AmountShown } from '../fields.ts'
import { SubscriptionSchema } from '../subscriptions/schema.ts'
import { invoiceStatuses } from './store.ts'

export const InvoicePath = Type.Object({ invoice_id: IdInPath })
export const InvoiceQuery = Type.Object({
  ...PageQuery,
  status: Type.Optional(Choice(invoiceStatuses)),
  subscription_id: Type.Optional(Type.String({ maxLength: 100 })),
})

export const CreditNoteSchema = Type.Object({
  total_tax: Type.String(),
  current_plan_name: Type.String(),
  current_plan_price: AmountShown,
  current_plan_quantity: AmountShown,
  current_plan_total: AmountShown,
  new_plan_name: Type.String(),
  new_plan_price: AmountShown,
  new_plan_total: Type.String(),
  update_type: Type.String(),
  transaction_note: Type.String(),
  used_amount: AmountShown,
  used_days: Type.Integer(),
  remaining_days: Type.Integer(),
  new_credits: AmountShown,
  total_credit_amount: AmountShown,
  charge_amount: AmountShown,
  credit_applied: Type.Array(
    Type.Object({
      id: Type.String(),
      amount: AmountShown,
      deducted_from: AmountShown,
      remaining_amount: AmountShown,
    }),
  ),
})
export type CreditNote = Static<typeof CreditNoteSchema>

export const TaxApplySchema = Type.Object({
  country: Type.String(),
  tax_id: Type.String(),
  exempt_tax: Type.Array(Type.Unknown()),
  total_amount: AmountShown,
  total_tax: Type.String(),
  taxes: Type.Array(Type.Object({ name: Type.String(), rate: Type.Number(), amount: AmountShown })),
})
export type TaxApply = Static<typeof TaxApplySchema>

export const LineSchema = Type.Object({
  type: Type.String({ description: 'plan, addon or setup_fee' }),
  item_id: Type.String(),
  description: Type.String(),
  quantity: Type.Integer(),
  unit_price: AmountShown,
  amount: AmountShown,
  discount: AmountShown,
  tax: AmountShown,
  starts_on: Type.String({ description: 'first day it pays for; empty if it pays for no time' }),
  ends_on: Type.String({ description: 'the day after the last' }),
})

export const InvoiceSchema = Type.Object({
  id: Type.String(),
  invoice_id: Type.String({ description: 'INV-<number>; empty until it is issued' }),
  customer_id: Type.String(),
  subscription_id: Type.String(),
  product_id: Type.String(),
  plan_id: Type.String(),
  quantity: Type.String(),
  setup_fee: AmountShown,
  amount: AmountShown,
  due_amount: AmountShown,
  paid_amount: AmountShown,
  credit_amount: AmountShown,
  refunded_amount: AmountShown,
  status: Type.String(),
  payment_term: Type.String(),
  due_date: Timestamp,
  currency_code: Type.String(),
  currency_symbol: Type.String(),
  subscription: SubscriptionSchema,
  credit_note: Nullable(CreditNoteSchema),
  tax_apply: TaxApplySchema,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const InvoiceDetailSchema = Type.Object({ ...InvoiceSchema.properties, lines: Type.Array(LineSchema) })
/** As its events tell it. */
export const InvoiceEventSchema = Type.Object({ ...InvoiceSchema.properties, customer: CustomerSchema })

export const RecordPayment = Type.Object({
  payment_mode: Type.String({ minLength: 1, maxLength: 100, description: 'such as cash, check, bank_transfer' }),
  amount: Type.Optional(Type.Unsafe<number | string>({ type: ['number', 'string'], maxLength: 40 })),
  payment_note: Type.Optional(Type.String({ maxLength: 2_000 })),
  transaction: Type.Optional(Type.String({ maxLength: 255, description: 'a reference of your own' })),
})
export type RecordPayment = Static<typeof RecordPayment>

export const CollectRequest = Type.Object({
  card_id: Type.Optional(Type.String({ maxLength: 100, description: 'payment method to charge instead' })),
})
