import { type Db, first, only } from '../../platform/database.ts'
import type { MediaKind } from './limits.ts'

export interface MediaRow {
  id: string
  direction: 'in' | 'out'
  kind: MediaKind
  status: 'uploading' | 'waiting' | 'stored' | 'failed'
  mimeType: string
  filename: string
  size: number
  sha256: string
  messageId: string | null
  platformId: string | null
  error: string
  attempt: number
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, direction, kind, status, mime_type as "mimeType", filename, size, sha256, message_id as "messageId",
  platform_id as "platformId", error, attempt, created_at as "createdAt", updated_at as "updatedAt"`

export type NewMedia = Pick<MediaRow, 'id' | 'direction' | 'kind' | 'status' | 'mimeType' | 'filename'> & {
  messageId?: string
  platformId?: string
  now: Date
}

export const insertMedia = (db: Db, businessId: string, media: NewMedia) => db`
  insert into chat_media (business_id, id, direction, kind, status, mime_type, filename, message_id, platform_id, try_at,
    created_at, updated_at)
  values (${businessId}, ${media.id}, ${media.direction}, ${media.kind}, ${media.status}, ${media.mimeType}, ${media.filename},
    ${media.messageId ?? null}, ${media.platformId ?? null}, ${media.status === 'waiting' ? db`now()` : null},
    ${media.now}, ${media.now})`

export const mediaById = (db: Db, businessId: string, id: string) =>
  db<MediaRow[]>`
  select ${columns(db)} from chat_media where business_id = ${businessId} and id = ${id}`.then(first)

export const addPiece = (db: Db, businessId: string, piece: { mediaId: string; number: number; content: Buffer }) => db`
  insert into chat_media_piece (business_id, media_id, number, content)
  values (${businessId}, ${piece.mediaId}, ${piece.number}, ${piece.content})`

export const pieceOf = (db: Db, businessId: string, mediaId: string, number: number) =>
  db<{ content: Buffer }[]>`
  select content from chat_media_piece
  where business_id = ${businessId} and media_id = ${mediaId} and number = ${number}`.then(rows => rows[0]?.content)

export const dropPieces = (db: Db, businessId: string, mediaId: string) => db`
  delete from chat_media_piece where business_id = ${businessId} and media_id = ${mediaId}`

export const markStored = (
  db: Db,
  businessId: string,
  id: string,
  { size, sha256, mimeType, now }: { size: number; sha256: string; mimeType: string; now: Date },
) =>
  db<MediaRow[]>`
  update chat_media
  set status = 'stored', size = ${size}, sha256 = ${sha256}, mime_type = ${mimeType}, error = '', try_at = null, updated_at = ${now}
  where business_id = ${businessId} and id = ${id} returning ${columns(db)}`.then(only)

export const deleteMedia = (db: Db, businessId: string, id: string) =>
  db`delete from chat_media where business_id = ${businessId} and id = ${id} returning 1`.then(rows => rows.length > 0)

export const findUpload = (db: Db, businessId: string, upload: { mediaId: string; phoneNumberId: string }) =>
  db<{ platformId: string }[]>`
  select platform_id as "platformId" from chat_media_upload
  where business_id = ${businessId} and media_id = ${upload.mediaId} and phone_number_id = ${upload.phoneNumberId}
    and expires_at > now()`.then(rows => rows[0]?.platformId)

export const keepUpload = (
  db: Db,
  businessId: string,
  upload: { mediaId: string; phoneNumberId: string; platformId: string; days: number },
) => db`
  insert into chat_media_upload (business_id, media_id, phone_number_id, platform_id, expires_at)
  values (${businessId}, ${upload.mediaId}, ${upload.phoneNumberId}, ${upload.platformId}, now() + ${upload.days} * interval '1 day')
  on conflict (business_id, media_id, phone_number_id) do update
  set platform_id = excluded.platform_id, expires_at = excluded.expires_at`

/** Takes what is due to be fetched; whoever takes it has until the lease is over. */
export const claimWaiting = (db: Db, { limit, leaseSeconds }: { limit: number; leaseSeconds: number }) => db<
  (MediaRow & { businessId: string })[]
>`
  with due as materialized (
    select business_id as due_business, id as due_id from chat_media
    where status = 'waiting' and try_at <= now() order by try_at limit ${limit} for update skip locked)
  update chat_media set attempt = attempt + 1, try_at = now() + ${leaseSeconds} * interval '1 second'
  from due where business_id = due_business and id = due_id
  returning business_id as "businessId", ${columns(db)}`

export const tryAgain = (
  db: Db,
  businessId: string,
  id: string,
  { afterSeconds, error, giveUp }: { afterSeconds: number; error: string; giveUp: boolean },
) => db`
  update chat_media
  set status = case when ${giveUp} then 'failed' else status end, error = ${error}, updated_at = now(),
      try_at = case when ${giveUp} then null else now() + ${afterSeconds} * interval '1 second' end
  where business_id = ${businessId} and id = ${id} and status = 'waiting'`

/** Uploads that broke off. */
export const purgeUploads = (db: Db, businessId: string) => db`
  delete from chat_media where business_id = ${businessId} and status = 'uploading' and created_at < now() - interval '1 day'`
