import { Type } from 'typebox'
import { AnyObject, Choice, Id, Nullable, Timestamp } from '../platform/schema.ts'
import { keyServices } from './keys.ts'

export const Name = Type.String({ minLength: 1, maxLength: 200 })

export const BusinessSchema = Type.Object({
  id: Id,
  userId: Id,
  name: Type.String(),
  timeZone: Type.String(),
  currency: Type.String(),
  testMode: Type.Boolean(),
  settings: AnyObject,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const Said = Type.String({ maxLength: 200 })
/** What the owner says of themself: shown on invoices and in the `user` of billing's answers, under the same names. */
export const profileFields = {
  first_name: Said,
  last_name: Said,
  address_line1: Said,
  address_line2: Said,
  city: Said,
  state: Said,
  country: Said,
  zip_code: Said,
  phone: Said,
  mobile: Said,
  facebook_url: Said,
  twitter_url: Said,
  date_format: Said,
}
export const UserSchema = Type.Object({
  id: Id,
  email: Type.String(),
  ...profileFields,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const KeySchema = Type.Object({
  id: Id,
  service: Choice(keyServices),
  name: Type.String(),
  hint: Type.String(),
  readOnly: Type.Boolean(),
  createdAt: Timestamp,
  revokedAt: Nullable(Timestamp),
})

export const NewKeySchema = Type.Object({
  id: Id,
  service: Choice(keyServices),
  name: Type.String(),
  readOnly: Type.Boolean(),
  apiKey: Type.String({ description: 'shown only now' }),
  secretKey: Type.Optional(Type.String({ description: 'shown only now' })),
})

const Access = Type.Object({ baseUrl: Type.String(), apiKey: Type.String(), secretKey: Type.Optional(Type.String()) })
export const NewBusinessSchema = Type.Object({
  business: BusinessSchema,
  account: Access,
  email: Access,
  chat: Access,
  billing: Access,
})

export const ClockSchema = Type.Object({ now: Timestamp, testMode: Type.Boolean() })
