import { Type } from 'typebox'
import { IdInPath, Nullable, Timestamp } from '../../platform/schema.ts'
import { Label } from '../fields.ts'

export const TaxPath = Type.Object({ id: IdInPath })

const Country = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'ISO code of two letters, or the English name',
})

export const TaxFields = Type.Object({
  name: Label,
  country: Country,
  state: Type.Optional(
    Nullable(Type.String({ maxLength: 255, description: 'name or code; empty: the whole country' })),
  ),
  rate: Type.Number({ minimum: 0, maximum: 100, description: 'percent, with at most 4 decimals' }),
})
export const TaxChanges = Type.Partial(TaxFields)

export const TaxSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  country: Type.String(),
  state: Type.String(),
  rate: Type.Number(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
