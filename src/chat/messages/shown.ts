import { type Static, Type } from 'typebox'
import { AnyObject, Choice, Id, Nullable, Timestamp } from '../../platform/schema.ts'
import type { MessageRow } from './store.ts'

const Time = Nullable(Timestamp)

export const MessageSchema = Type.Object({
  _id: Id,
  chatId: Id,
  direction: Choice(['in', 'out']),
  kind: Type.String(),
  status: Choice(['queued', 'accepted', 'sent', 'delivered', 'read', 'failed', 'unknown', 'cancelled', 'received']),
  to: Type.String({ description: 'recipient of an outgoing message, sender of an incoming one' }),
  platformId: Nullable(Type.String()),
  content: AnyObject,
  error: Nullable(
    Type.Object({ code: Type.Union([Type.Number(), Type.String()]), title: Type.String(), details: Type.String() }),
  ),
  pricing: Nullable(AnyObject),
  broadcastId: Nullable(Type.String()),
  mediaId: Nullable(Type.String({ description: 'the file it carries, where we keep it' })),
  blocked: Type.Boolean(),
  seen: Type.Boolean(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  acceptedAt: Time,
  sentAt: Time,
  deliveredAt: Time,
  readAt: Time,
  failedAt: Time,
})

/** A message as the API and the events show it: `sending` is ours alone and shows as queued. */
export const shownMessage = (message: MessageRow): Static<typeof MessageSchema> => ({
  _id: message.id,
  chatId: message.conversationId,
  direction: message.direction,
  kind: message.kind,
  status: message.status === 'sending' ? 'queued' : message.status,
  to: message.recipient,
  platformId: message.platformId,
  content: contentOf(message),
  error: message.error,
  pricing: message.pricing,
  broadcastId: message.broadcastId,
  mediaId: message.mediaId,
  blocked: message.blocked,
  seen: message.seen,
  createdAt: message.createdAt,
  updatedAt: message.updatedAt,
  acceptedAt: message.acceptedAt,
  sentAt: message.sentAt,
  deliveredAt: message.deliveredAt,
  readAt: message.readAt,
  failedAt: message.failedAt,
})

/** Only what the message says, without the envelope around it. */
function contentOf({ payload }: MessageRow): Record<string, unknown> {
  const type = String(payload.type ?? 'unsupported')
  return {
    type,
    ...(payload[type] !== undefined && { [type]: payload[type] }),
    ...(payload.context !== undefined && { context: payload.context }),
  }
}
