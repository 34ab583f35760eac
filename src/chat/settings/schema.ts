import { Type } from 'typebox'
import { AnyObject, Choice, Id, Nullable, Timestamp } from '../../platform/schema.ts'

export const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', patternMessage: 'must not be blank' })
export const NameBody = Type.Object({ name: Name })

const Text = Type.String({ maxLength: 500 })
export const ChannelChangeSchema = Type.Object({
  type: Type.Optional(Choice(['sandbox', 'cloud'])),
  baseUrl: Type.Optional(Type.String({ maxLength: 2000, description: 'of the platform, with its version' })),
  phoneNumberId: Type.Optional(Text),
  businessAccountId: Type.Optional(Text),
  accessToken: Type.Optional(Type.String({ maxLength: 4000 })),
  appSecret: Type.Optional(Text),
  verifyToken: Type.Optional(Text),
  enforceWindow: Type.Optional(Nullable(Type.Boolean())),
  messagesPerSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  marketingEndpoint: Type.Optional(Type.Boolean()),
})

/** Secrets are never answered, only whether they are set. */
export const ChannelSchema = Type.Object({
  settingId: Id,
  type: Choice(['sandbox', 'cloud']),
  baseUrl: Type.String(),
  phoneNumberId: Type.String(),
  businessAccountId: Type.String(),
  accessTokenSet: Type.Boolean(),
  appSecretSet: Type.Boolean(),
  verifyTokenSet: Type.Boolean(),
  enforceWindow: Type.Boolean(),
  messagesPerSecond: Type.Integer(),
  marketingEndpoint: Type.Boolean(),
  halted: AnyObject,
  webhookUrl: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
