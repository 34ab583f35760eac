import { type Static, Type } from 'typebox'
import { isId } from '../../platform/ids.ts'
import { AnyObject, Choice, Id, NotBlank, Nullable, PageQuery, Timestamp } from '../../platform/schema.ts'

export const statuses = ['subscribed', 'unsubscribed', 'bounced', 'complaint'] as const
export type Status = (typeof statuses)[number]

/** Spec silent: bounds that keep every sum exact; no real score comes near them. */
export const maxScore = 1_000_000_000
export const LeadScore = Type.Integer({ minimum: -maxScore, maximum: maxScore })

export const EmailText = Type.String({ minLength: 1, maxLength: 254 })
export const TagName = NotBlank({ maxLength: 100 })
const ShortText = Type.String({ maxLength: 200 })

export const SuppressionDetailSchema = Type.Object({
  type: Type.String({ description: 'unsubscribed, bounced, complaint or manual; empty when not suppressed' }),
  reason: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const ActivitySchema = Type.Object({
  type: Choice(['sent', 'delivered', 'open', 'click', 'bounce', 'complaint', 'unsubscribe']),
  campaignId: Type.String(),
  campaignName: Type.String(),
  isMachine: Type.Boolean(),
  createdAt: Type.String(),
})

export const SubscriberSchema = Type.Object({
  _id: Id,
  userId: Id,
  businessId: Id,
  email: Type.String(),
  firstName: Type.String(),
  lastName: Type.String(),
  mobile: Type.String(),
  leadScore: Type.Integer(),
  dateOfBirth: Nullable(Type.String({ format: 'date' })),
  status: Choice(statuses),
  country: Type.String(),
  city: Type.String(),
  tags: Type.Array(Type.String()),
  source: Type.String(),
  segments: Type.Array(Type.String()),
  customFields: AnyObject,
  activity: Type.Array(ActivitySchema, { description: 'newest first, the last 30' }),
  automationWorkflows: Type.Array(AnyObject),
  lists: Type.Array(Type.String()),
  totalSent: Type.Integer(),
  totalDelivered: Type.Integer(),
  totalOpens: Type.Integer(),
  totalUniqueOpens: Type.Integer(),
  totalUniqueClick: Type.Integer(),
  totalClicks: Type.Integer(),
  deleteAfter: Nullable(Timestamp),
  suppressionDetail: SuppressionDetailSchema,
  isSuppressed: Type.Boolean(),
  campaignDetails: Type.Array(
    Type.Object({ _id: Type.String(), campaignId: Type.String(), campaignName: Type.String() }),
    { description: 'campaigns mailed to this person, newest first, the last 30' },
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Subscriber = Static<typeof SubscriberSchema>

const names = {
  firstName: Type.Optional(ShortText),
  lastName: Type.Optional(ShortText),
  mobile: Type.Optional(Type.String({ maxLength: 50 })),
  country: Type.Optional(Type.String({ maxLength: 100 })),
  city: Type.Optional(Type.String({ maxLength: 100 })),
  dateOfBirth: Type.Optional(Nullable(Type.String({ format: 'date' }))),
  leadScore: Type.Optional(LeadScore),
  status: Type.Optional(Choice(statuses)),
  customFields: Type.Optional(AnyObject),
}

/** Spec silent: as many tags or lists as fit a request that a person could mean. */
const maxNames = 1_000

export const NewSubscriberSchema = Type.Object({
  email: EmailText,
  ...names,
  tags: Type.Optional(Type.Array(TagName, { maxItems: maxNames })),
  lists: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: maxNames })),
  source: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
})
export type NewSubscriber = Static<typeof NewSubscriberSchema>

export const SubscriberChangesSchema = Type.Object({
  ...names,
  tagsToAdd: Type.Optional(Type.Array(TagName, { maxItems: maxNames })),
  tagsToRemove: Type.Optional(Type.Array(TagName, { maxItems: maxNames })),
})
export type SubscriberChanges = Static<typeof SubscriberChangesSchema>

export const SubscriberInPath = Type.Object({
  subscriber: Type.String({ minLength: 1, maxLength: 1_000, description: 'email or id' }),
})

const NamesText = Type.Unsafe<string | string[]>({
  anyOf: [
    { type: 'array', items: { type: 'string', maxLength: 10_000 }, maxItems: maxNames },
    { type: 'string', maxLength: 10_000 },
  ],
  description: 'names, comma-separated or repeated; matches any of them',
})
const ScoreText = Type.String({
  pattern: '^[+-]?\\d{1,100}$',
  patternMessage: 'must be an integer',
  description: 'integer, inclusive',
})

export const filterQuery = {
  search: Type.Optional(
    Type.String({ maxLength: 254, description: 'part of email, firstName or lastName, in any case' }),
  ),
  status: Type.Optional(Choice(statuses)),
  tags: Type.Optional(NamesText),
  segments: Type.Optional(NamesText),
  lists: Type.Optional(NamesText),
  leadScoreMin: Type.Optional(ScoreText),
  leadScoreMax: Type.Optional(ScoreText),
}
export const FilterQuerySchema = Type.Object(filterQuery)
export type FilterQuery = Static<typeof FilterQuerySchema>
export const SubscribersQuerySchema = Type.Object({ ...PageQuery, ...filterQuery })

export const SuppressionEntrySchema = Type.Object({
  email: Type.String(),
  type: Type.String(),
  reason: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const SubscriberPageSchema = Type.Object({
  subscribers: Type.Array(SubscriberSchema),
  suppressionList: Type.Array(SuppressionEntrySchema),
  pagination: Type.Object({
    currentPage: Type.Integer(),
    itemsPerPage: Type.Integer(),
    totalItems: Type.Integer(),
    totalPages: Type.Integer(),
    hasNextPage: Type.Boolean(),
    hasPrevPage: Type.Boolean(),
  }),
})

const maxDeleted = 1_000
export const DeletionSchema = Type.Object({
  emails: Type.Optional(Type.Array(EmailText, { minItems: 1, maxItems: maxDeleted })),
  subscriberIds: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: maxDeleted }),
  ),
  email: Type.Optional(EmailText),
  subscriberId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
})

/** How a path or body names one subscriber. */
export type SubscriberKey = { id: string } | { email: string }
export const looksLikeId = (text: string) => isId(text)
