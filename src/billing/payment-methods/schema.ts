import { Type } from 'typebox'
import { Choice, IdInPath, Timestamp } from '../../platform/schema.ts'

export const MethodPath = Type.Object({ id: IdInPath })
export const MethodsPath = Type.Object({ customer_id: IdInPath })

/** Figures, as text or as a number: forms send the one, programs the other. */
const digits = (options: object) => Type.Unsafe<string | number>({ type: ['string', 'integer'], ...options })

export const CardSchema = Type.Object({
  number: digits({
    minLength: 12,
    maxLength: 30,
    pattern: '^[0-9 -]+$',
    patternMessage: 'must be a card number',
  }),
  exp_month: digits({
    minimum: 1,
    maximum: 12,
    pattern: '^ *(0?[1-9]|1[0-2]) *$',
    patternMessage: 'must be a month from 1 to 12',
  }),
  exp_year: digits({
    minimum: 2000,
    maximum: 2100,
    pattern: '^ *20[0-9]{2} *$',
    patternMessage: 'must be a year of four digits',
  }),
  cvc: digits({ minimum: 0, maximum: 9999, pattern: '^[0-9]{3,4}$', patternMessage: 'must be 3 or 4 digits' }),
})
type GivenCard = Type.Static<typeof CardSchema>

export const readCard = (card: GivenCard | undefined) =>
  card && {
    number: String(card.number),
    exp_month: Number(card.exp_month),
    exp_year: Number(card.exp_year),
    cvc: String(card.cvc),
  }

export const NewMethod = Type.Object({
  gateway_type: Choice(['test', 'stripe'] as const),
  card: Type.Optional(CardSchema),
  token: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
})
export type NewMethod = Type.Static<typeof NewMethod>

export const MethodSchema = Type.Object({
  id: Type.String(),
  customer_id: Type.String(),
  gateway_type: Type.String(),
  brand: Type.String(),
  last4: Type.String(),
  exp_month: Type.Integer(),
  exp_year: Type.Integer(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
