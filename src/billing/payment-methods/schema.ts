import { Type } from 'typebox'
import { Choice, IdInPath, Timestamp } from '../../platform/schema.ts'

export const MethodPath = Type.Object({ id: IdInPath })
export const MethodsPath = Type.Object({ customer_id: IdInPath })

export const CardSchema = Type.Object({
  number: Type.String({
    minLength: 12,
    maxLength: 30,
    pattern: '^[0-9 -]+$',
    patternMessage: 'must be a card number',
  }),
  exp_month: Type.Integer({ minimum: 1, maximum: 12 }),
  exp_year: Type.Integer({ minimum: 2000, maximum: 2100 }),
  cvc: Type.String({ pattern: '^[0-9]{3,4}$', patternMessage: 'must be 3 or 4 digits' }),
})

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
