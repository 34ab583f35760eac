import { type Static, Type } from 'typebox'
import { Choice, Id, NotBlank, Nullable, PageQuery, Timestamp, TimestampText } from '../../platform/schema.ts'
import { EmailText } from '../subscribers/schema.ts'
import { BuilderTypeSchema, ContentText } from '../templates/schema.ts'

export const campaignTypes = ['Regular', 'API / Workflow Campaign'] as const
export type CampaignType = (typeof campaignTypes)[number]
export type CampaignStatus = 'draft' | 'scheduled' | 'live'

export const CampaignSchema = Type.Object({
  _id: Id,
  campaignDetails: Type.Object({
    campaignType: Choice(campaignTypes),
    campaignName: Type.String(),
    senderName: Type.String(),
    subject: Type.String(),
    preheaderText: Type.String(),
  }),
  status: Choice(['draft', 'scheduled', 'live']),
  templateId: Type.Object({
    _id: Id,
    name: Type.String(),
    builderType: BuilderTypeSchema,
    htmlContent: Type.String(),
  }),
  scheduledAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Campaign = Static<typeof CampaignSchema>

/** These become mail headers, where a line break would begin another header. */
const OneLine = (limits: { maxLength: number }) =>
  Type.String({ ...limits, pattern: '^[^\\r\\n]*$', patternMessage: 'must be one line' })
const details = {
  senderName: Type.Optional(OneLine({ maxLength: 200 })),
  preheaderText: Type.Optional(OneLine({ maxLength: 500 })),
}
const NameText = NotBlank({ maxLength: 200 })
const Subject = Type.String({
  maxLength: 500,
  pattern: '^[^\\r\\n]*[^\\s][^\\r\\n]*$',
  patternMessage: 'must be one line and not empty',
})
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 1_000 })

const planning = {
  scheduledAt: Type.Optional(Nullable(TimestampText)),
  lists: Type.Optional(Names),
  includedList: Type.Optional(Names),
  excludedList: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 1_000 })),
  deliveryServerId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  senderEmail: Type.Optional(EmailText),
}

export const NewCampaignSchema = Type.Object({
  campaignDetails: Type.Object({
    campaignName: NameText,
    subject: Subject,
    campaignType: Type.Optional(Choice(campaignTypes)),
    ...details,
  }),
  builderType: Type.Optional(BuilderTypeSchema),
  content: Type.Optional(ContentText),
  templateId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  ...planning,
})
export type NewCampaign = Static<typeof NewCampaignSchema>

export const CampaignChangesSchema = Type.Object({
  campaignDetails: Type.Optional(
    Type.Object({ campaignName: Type.Optional(NameText), subject: Type.Optional(Subject), ...details }),
  ),
  builderType: Type.Optional(BuilderTypeSchema),
  content: Type.Optional(ContentText),
  templateId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  status: Type.Optional(Choice(['draft', 'live'])),
  ...planning,
})
export type CampaignChanges = Static<typeof CampaignChangesSchema>

export const CampaignsQuerySchema = Type.Object({
  ...PageQuery,
  campaignType: Type.Optional(Choice(['all', ...campaignTypes])),
})

export const CampaignPageSchema = Type.Object({
  campaigns: Type.Array(CampaignSchema),
  pagination: Type.Object({
    page: Type.Integer(),
    limit: Type.Integer(),
    totalCount: Type.Integer(),
    totalPages: Type.Integer(),
    hasNextPage: Type.Boolean(),
    hasPrevPage: Type.Boolean(),
  }),
})

/** Spec silent: what still fits a mail that providers accept. */
export const maxAttachments = 10

const AttachmentSchema = Type.Object({
  filename: Type.String({
    maxLength: 255,
    pattern: '^[^/\\\\\\r\\n"]*[^/\\\\\\r\\n".]\\.[A-Za-z0-9]{1,10}$',
    patternMessage: 'must be a file name with an extension such as .pdf',
  }),
  url: Type.String({ minLength: 1, maxLength: 2_000 }),
})

const launch = {
  campaignId: Type.String({ minLength: 1, maxLength: 100 }),
  deliveryServerId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  senderEmail: Type.Optional(EmailText),
  fromName: Type.Optional(OneLine({ maxLength: 200 })),
  subject: Type.Optional(Subject),
  attachments: Type.Optional(Type.Array(AttachmentSchema, { maxItems: maxAttachments })),
}

export const SendToIndividualSchema = Type.Object({
  ...launch,
  emails: Type.Array(Type.String({ maxLength: 1_000 }), { minItems: 1, maxItems: 1_000 }),
})
export type SendToIndividual = Static<typeof SendToIndividualSchema>

export const SendToListSchema = Type.Object({
  ...launch,
  includedList: Names,
  excludedList: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 1_000 })),
})
export type SendToList = Static<typeof SendToListSchema>

export const QueuedSchema = Type.Object({
  campaignId: Id,
  campaignName: Type.String(),
  totalEmails: Type.Integer(),
  queued: Type.Integer(),
  message: Type.String(),
})
