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
