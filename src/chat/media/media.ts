import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { badRequest, invalidField, notFound, Problem, unprocessable } from '../../platform/problem.ts'
import { channelOf } from '../channel/channels.ts'
import type { Setting } from '../settings/settings.ts'
import { storable } from '../storable.ts'
import { isOurs, piecesOf } from './content.ts'
import { kindOfType, looksLike, type MediaKind, maxBytes } from './limits.ts'
import * as store from './store.ts'

/**
 * A file we send is `uploading` while it comes in, then `stored`. A file that came with a message is `waiting` until it is
 * fetched from the platform, then `stored`, or `failed` where the platform has it no more.
 */
const pieceBytes = 1024 * 1024
/** The platform keeps uploads for 30 days. */
const uploadDays = 29

/** Keeps a file piece by piece as it comes in; one that is too large or plainly something else leaves nothing behind. */
export async function storeUpload(
  db: Database,
  business: Business,
  file: Readable,
  { mimeType, filename }: { mimeType: string; filename: string },
): Promise<store.MediaRow> {
  const kind = kindOfType(mimeType)
  if (!kind || kind === 'sticker')
    throw new Problem(
      415,
      'media_type_unsupported',
      'The platform takes JPEG, PNG, MP4, 3GP, AAC, AMR, MP3, M4A, OGG and documents; say which in Content-Type.',
    )
  const id = newId()
  const now = await nowFor(db, business)
  await store.insertMedia(db, business.id, {
    id,
    direction: 'out',
    kind,
    status: 'uploading',
    mimeType,
    filename: storable(filename),
    now,
  })
  try {
    const { size, sha256 } = await keepPieces(db, business.id, id, file, { kind, mimeType })
    return await store.markStored(db, business.id, id, { size, sha256, mimeType, now })
  } catch (error) {
    await store.deleteMedia(db, business.id, id)
    throw error
  }
}

export async function keepPieces(
  db: Db,
  businessId: string,
  mediaId: string,
  source: AsyncIterable<Buffer>,
  { kind, mimeType }: { kind: MediaKind; mimeType: string },
): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256')
  let size = 0
  let number = 0
  for await (const content of inPieces(source)) {
    if (number === 0 && !looksLike(mimeType, content))
      throw badRequest('media_invalid', `The file does not look like ${mimeType}.`)
    size += content.length
    if (size > maxBytes[kind])
      throw new Problem(413, 'media_too_large', `The platform takes at most ${maxBytes[kind]} bytes of ${kind}.`)
    hash.update(content)
    await store.addPiece(db, businessId, { mediaId, number: number++, content })
  }
  if (size === 0) throw badRequest('media_empty', 'The file is empty.')
  return { size, sha256: hash.digest('hex') }
}

async function* inPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let kept: Buffer[] = []
  let size = 0
  for await (const bytes of source) {
    kept.push(bytes)
    size += bytes.length
    if (size < pieceBytes) continue
    yield Buffer.concat(kept)
    kept = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(kept)
}

/**
 * What the platform calls a file: an id of ours is uploaded to the number once and remembered while the platform keeps it;
 * any other is the platform's own already.
 */
export async function platformMediaId(
  platform: Platform,
  business: Business,
  setting: Setting,
  { mediaId, kind }: { mediaId: string; kind: string | undefined },
): Promise<string> {
  const { db } = platform
  const media = isOurs(mediaId) ? await store.mediaById(db, business.id, mediaId) : undefined
  if (!media && /^\d+$/.test(mediaId)) return mediaId
  if (media?.status !== 'stored') throw notFound('Media')
  if (kind !== undefined && media.kind !== kind && kind !== 'document')
    throw invalidField('mediaId', `is a file of kind ${media.kind}, not ${kind}`)
  const key = { mediaId, phoneNumberId: setting.type === 'sandbox' ? 'sandbox' : setting.phoneNumberId }
  const known = await store.findUpload(db, business.id, key)
  if (known) return known
  const pieces = await Array.fromAsync(piecesOf(db, business.id, mediaId))
  const { mimeType, filename } = media
  const platformId = await channelOf(platform, setting).uploadMedia({
    mimeType,
    filename: filename || `${media.kind}-${media.id}`,
    content: Buffer.concat(pieces),
  })
  if (!/^\d{1,40}$/.test(platformId)) throw unprocessable('channel_rejected', 'The platform gave the file no id.')
  await store.keepUpload(db, business.id, { ...key, platformId, days: uploadDays })
  return platformId
}
