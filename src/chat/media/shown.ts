import { type Static, Type } from 'typebox'
import { Choice, Id, Nullable, Timestamp } from '../../platform/schema.ts'
import type { MediaRow } from './store.ts'

export const MediaSchema = Type.Object({
  _id: Id,
  direction: Choice(['in', 'out']),
  kind: Choice(['image', 'video', 'audio', 'document', 'sticker']),
  status: Choice(['waiting', 'stored', 'failed']),
  mimeType: Type.String(),
  filename: Type.String(),
  size: Type.Integer({ description: 'bytes' }),
  sha256: Type.String({ description: 'hexadecimal' }),
  messageId: Nullable(Id),
  error: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const shownMedia = (media: MediaRow): Static<typeof MediaSchema> => ({
  _id: media.id,
  direction: media.direction,
  kind: media.kind,
  status: media.status === 'uploading' ? 'waiting' : media.status,
  mimeType: media.mimeType,
  filename: media.filename,
  size: media.size,
  sha256: media.sha256,
  messageId: media.messageId,
  error: media.error,
  createdAt: media.createdAt,
  updatedAt: media.updatedAt,
})
