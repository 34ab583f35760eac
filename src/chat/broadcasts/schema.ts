import { Type } from 'typebox'
import { AnyObject, Choice, Id, Nullable, PageQuery, Timestamp, TimestampText } from '../../platform/schema.ts'
import { Name } from '../settings/schema.ts'

export const broadcastStates = ['scheduled', 'preparing', 'sending', 'paused', 'finished', 'cancelled'] as const

const Count = Type.Integer()
/** Every recipient is in exactly one of the states, so they add up to the audience. */
export const ReportSchema = Type.Object({
  audience: Count,
  skipped: Type.Integer({ description: 'matched, but opted out of marketing or not reachable; not in the audience' }),
  queued: Count,
  accepted: Count,
  sent: Count,
  delivered: Count,
  read: Count,
  failed: Count,
  unknown: Count,
  cancelled: Count,
})

export const BroadcastSchema = Type.Object({
  _id: Id,
  name: Type.String(),
  templateName: Type.String(),
  languageCode: Type.String(),
  lists: Type.Array(Type.String()),
  tags: Type.Array(Type.String()),
  parameters: AnyObject,
  status: Choice(broadcastStates),
  pauseReason: Type.String(),
  report: ReportSchema,
  scheduledAt: Nullable(Timestamp),
  startedAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  finishedAt: Nullable(Timestamp),
})

/** The parameters of the template come beside these, as in POST /messages. */
export const NewBroadcastSchema = Type.Object({
  name: Name,
  templateName: Type.String({ minLength: 1, maxLength: 512 }),
  languageCode: Type.Optional(Type.String({ minLength: 1, maxLength: 35 })),
  scheduledAt: Type.Optional(Nullable(TimestampText)),
  lists: Type.Optional(Type.Array(Name, { maxItems: 100, description: 'contacts in any of these lists' })),
  tags: Type.Optional(Type.Array(Name, { maxItems: 100, description: 'or with any of these tags' })),
})

export const BroadcastFilter = Type.Object({ ...PageQuery, status: Type.Optional(Choice(broadcastStates)) })
