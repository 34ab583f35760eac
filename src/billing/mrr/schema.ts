import { Type } from 'typebox'
import { Choice, PageQuery, Timestamp } from '../../platform/schema.ts'
import { AmountShown } from '../fields.ts'
import { movementTypes } from './store.ts'

const Day = Type.String({
  pattern: '^(?!0000)\\d{4}-\\d{2}-\\d{2}$',
  patternMessage: 'must be a date such as 2026-12-31',
  description: 'a day of the business',
})

export const MrrQuery = Type.Object({ from: Type.Optional(Day), to: Type.Optional(Day) })

/** What is lost is negative, so that opening and movements add up to closing. */
export const MrrSchema = Type.Object({
  currency_code: Type.String(),
  currency_symbol: Type.String(),
  from: Type.String(),
  to: Type.String(),
  opening: AmountShown,
  new: AmountShown,
  expansion: AmountShown,
  contraction: AmountShown,
  churn: AmountShown,
  reactivation: AmountShown,
  closing: AmountShown,
})

export const MovementsQuery = Type.Object({
  ...PageQuery,
  subscription_id: Type.Optional(Type.String({ maxLength: 100 })),
  type: Type.Optional(Choice(movementTypes)),
})

export const MovementSchema = Type.Object({
  subscription_id: Type.String(),
  customer_id: Type.String(),
  type: Type.String(),
  amount: AmountShown,
  mrr: Type.Number({ description: 'what the subscription brings a month afterwards' }),
  currency_code: Type.String(),
  currency_symbol: Type.String(),
  createdAt: Timestamp,
})
