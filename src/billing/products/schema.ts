import { Type } from 'typebox'
import { IdInPath, Nullable, Timestamp } from '../../platform/schema.ts'
import { Label, LongText } from '../fields.ts'

export const ProductPath = Type.Object({ product_id: IdInPath })

const RedirectUrl = Type.String({
  maxLength: 2_000,
  pattern: '^(https?://[^\\s]+)?$',
  patternMessage: 'must be an http or https address',
  description: 'where the customer goes after paying',
})

export const ProductFields = Type.Object({
  product_name: Label,
  description: Type.Optional(Nullable(LongText)),
  redirect_url: Type.Optional(Nullable(RedirectUrl)),
})
export const ProductChanges = Type.Partial(ProductFields)

export const ProductSchema = Type.Object({
  id: Type.String(),
  product_name: Type.String(),
  description: Nullable(Type.String()),
  redirect_url: Nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
