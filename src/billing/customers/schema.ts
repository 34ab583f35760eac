import { type Static, Type } from 'typebox'
import { IdInPath, Nullable, Timestamp } from '../../platform/schema.ts'
import { AmountShown, ShortText } from '../fields.ts'

export const CustomerPath = Type.Object({ customer_id: IdInPath })

export const EmailAddress = Type.String({
  maxLength: 254,
  pattern: '^[^\\s@<>(),;:"\\[\\]\\\\]{1,64}@([^\\s@.<>(),;:"\\[\\]\\\\]{1,63}\\.)+[^\\s@.<>(),;:"\\[\\]\\\\]{2,63}$',
  patternMessage: 'must be a valid email address',
})

export const Address = Type.Partial(
  Type.Object({
    street1: ShortText,
    street2: ShortText,
    city: ShortText,
    state: ShortText,
    state_code: ShortText,
    zip_code: ShortText,
    country: Type.String({ maxLength: 255, description: 'ISO code of two letters, or the English name' }),
  }),
)
export type Address = Static<typeof Address>

const details = {
  first_name: Type.Optional(ShortText),
  last_name: Type.Optional(ShortText),
  company_name: Type.Optional(ShortText),
  phone: Type.Optional(Type.String({ maxLength: 50 })),
  website: Type.Optional(Type.String({ maxLength: 2_000 })),
  billing_address: Type.Optional(Nullable(Address)),
  shipping_address: Type.Optional(Nullable(Address)),
  tax_exempt: Type.Optional(Type.Boolean()),
  tax_id: Type.Optional(Nullable(Type.String({ maxLength: 60 }))),
}
export const CustomerFields = Type.Object({ ...details, email_id: EmailAddress })
export type CustomerFields = Static<typeof CustomerFields>
export const CustomerChanges = Type.Object({ ...details, email_id: Type.Optional(EmailAddress) })
export type CustomerChanges = Static<typeof CustomerChanges>

export const CustomerSchema = Type.Object({
  id: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  email_id: Type.String(),
  company_name: Type.String(),
  phone: Type.String(),
  website: Type.String(),
  credit: Nullable(AmountShown),
  billing_address: Type.Object({
    street1: Type.String(),
    street2: Type.String(),
    city: Type.String(),
    state: Type.String(),
    state_code: Type.String(),
    zip_code: Type.String(),
    country: Type.String(),
  }),
  shipping_address: Address,
  tax_exempt: Type.Boolean(),
  tax_id: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
