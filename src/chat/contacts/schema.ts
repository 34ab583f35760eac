import { type Static, Type } from 'typebox'
import { Choice, Id, PageQuery, Timestamp } from '../../platform/schema.ts'
import { Name } from '../settings/schema.ts'

export const sources = ['api', 'manual', 'csv', 'user', 'sync', 'wa'] as const
export type ContactSource = (typeof sources)[number]

export const AttributeSchema = Type.Object({ name: Type.String(), value: Type.String(), _id: Id })

/** `lastActive` only on the read of one contact. */
export const ContactSchema = Type.Object({
  _id: Id,
  name: Type.String(),
  settingId: Type.String(),
  userId: Type.String(),
  countryCode: Type.String(),
  mobile: Type.String(),
  status: Choice(['active', 'blocked']),
  source: Choice(sources),
  optin: Type.Boolean(),
  attributes: Type.Array(AttributeSchema),
  incomingBlocked: Type.Boolean(),
  broadcastIds: Type.Array(Type.String()),
  list: Type.Array(Type.String()),
  tags: Type.Array(Type.String()),
  __v: Type.Integer(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  lastActive: Type.Optional(Timestamp),
})

/** Integer or text; the rules of numbers are checked beside the schema. */
export const NumberText = Type.Unsafe<string | number>({
  type: ['integer', 'string'],
  description: 'phone number with dialing code',
})

export const ContactName = Type.String({ maxLength: 256 })
export const Tags = Type.Array(Name, { maxItems: 100 })
export const Lists = Type.Array(Name, { maxItems: 100 })
/** A value is text; a number or yes-or-no is kept as its text, null removes like an empty text. */
export const AttributeChanges = Type.Array(
  Type.Object({
    name: Name,
    value: Type.Unsafe<string | number | boolean | null>({
      type: ['string', 'number', 'boolean', 'null'],
      maxLength: 1000,
    }),
  }),
  { maxItems: 100 },
)

export const ContactDetails = Type.Object({
  name: Type.Optional(ContactName),
  optin: Type.Optional(Type.Boolean()),
  incomingBlocked: Type.Optional(Type.Boolean()),
  tags: Type.Optional(Tags),
  attributes: Type.Optional(AttributeChanges),
  list: Type.Optional(Lists),
})
export type ContactDetails = Static<typeof ContactDetails>
/** What may also come as text, wherever details of a contact are given. */
export const contactTexts = { jsonText: ['attributes', 'list'], commaText: ['tags'] } as const

export const NewContactSchema = Type.Object({ mobile: NumberText, ...ContactDetails.properties })

export const ContactChangeSchema = Type.Object({
  mobile: Type.Optional(NumberText),
  ...ContactDetails.properties,
  tagsToAdd: Type.Optional(Tags),
  tagsToRemove: Type.Optional(Tags),
})
export type ContactChange = Static<typeof ContactChangeSchema>

export const ContactInPath = Type.Object({
  id: Type.String({ pattern: '^[0-9a-fA-F]{24}$', patternMessage: 'must have 24 hexadecimal characters' }),
})

export const ContactFilterSchema = Type.Object({
  ...PageQuery,
  skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000_000 })),
  order: Type.Optional(Choice(['-1', '1'], { description: '-1 newest first, 1 oldest first' })),
  name: Type.Optional(Type.String({ maxLength: 256 })),
  mobile: Type.Optional(Type.String({ maxLength: 50, description: 'any part of the number' })),
  tags: Type.Optional(Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 100, description: 'any of them' })),
  list: Type.Optional(Type.String({ maxLength: 100 })),
  optin: Type.Optional(Type.Boolean()),
  source: Type.Optional(Choice(sources)),
  incomingBlocked: Type.Optional(Type.Boolean()),
})
export type ContactFilterQuery = Static<typeof ContactFilterSchema>
