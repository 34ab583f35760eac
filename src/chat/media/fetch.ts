import { emit } from '../../platform/events.ts'
import { type Loop, pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { Problem } from '../../platform/problem.ts'
import { channelOf } from '../channel/channels.ts'
import { recentSetting } from '../settings/settings.ts'
import { keepPieces } from './media.ts'
import { shownMedia } from './shown.ts'
import * as store from './store.ts'

const pollMs = 1_000
const atOnce = 4
const leaseSeconds = 300
const attempts = 10
const firstDelaySeconds = 10

/** Fetches the files that came with messages, while the platform still has them (7 days). Answers how many it looked at. */
export async function fetchWaiting(platform: Platform): Promise<number> {
  const claimed = await store.claimWaiting(platform.db, { limit: atOnce, leaseSeconds })
  await Promise.all(claimed.map(media => fetchOne(platform, media)))
  return claimed.length
}

async function fetchOne(platform: Platform, media: store.MediaRow & { businessId: string }): Promise<void> {
  const { db } = platform
  const { businessId, id, attempt, kind } = media
  try {
    const setting = await recentSetting(platform, businessId)
    const { content, mimeType } = await channelOf(platform, setting).fetchMedia(media.platformId ?? '')
    const now = new Date()
    await db.begin(async tx => {
      // An earlier try may have died in the middle.
      await store.dropPieces(tx, businessId, id)
      const kept = await keepPieces(tx, businessId, id, inPieces(content), { kind, mimeType: '' })
      const stored = await store.markStored(tx, businessId, id, { ...kept, mimeType: mimeType || media.mimeType, now })
      await emit(tx, {
        businessId,
        type: 'media_received',
        source: 'channel',
        objectId: media.messageId ?? id,
        data: shownMedia(stored),
        at: now,
      })
    })
  } catch (error) {
    // Too large or empty stays so; everything else may pass.
    const giveUp = attempt >= attempts || (error instanceof Problem && (error.status === 400 || error.status === 413))
    await store.tryAgain(db, businessId, id, {
      afterSeconds: firstDelaySeconds * 3 ** (attempt - 1),
      error: (error as Error).message.slice(0, 500),
      giveUp,
    })
    platform.log.warn({ err: error, businessId, mediaId: id }, 'a file of a message could not be fetched')
  }
}

const pieceBytes = 1024 * 1024

async function* inPieces(content: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < content.length; from += pieceBytes) yield content.subarray(from, from + pieceBytes)
}

export const mediaLoop = (platform: Platform): Loop => ({
  name: 'chat media',
  async run(signal) {
    while (!signal.aborted) if ((await fetchWaiting(platform)) === 0) await pause(pollMs, signal)
  },
})
