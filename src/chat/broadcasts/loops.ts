import { nowFor, type TimeKeeper } from '../../platform/clock.ts'
import { type Loop, pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { businessById } from '../store.ts'
import { freezeNext } from './freeze.ts'
import { mediaForFreeze } from './media.ts'
import { sendBatch } from './send-batch.ts'
import * as store from './store.ts'

const pollMs = 500

/** One step for every broadcast that is under way. Answers how much was done. */
export async function stepBroadcasts(platform: Platform): Promise<number> {
  await store.startDue(platform.db)
  const active = await store.activeBroadcasts(platform.db)
  const steps = await Promise.all(active.map(one => stepBroadcast(platform, one)))
  return steps.reduce((sum, step) => sum + step, 0)
}

async function stepBroadcast(
  platform: Platform,
  { businessId, id }: { businessId: string; id: string },
): Promise<number> {
  const business = await businessById(platform.db, businessId)
  if (!business) return 0
  const now = await nowFor(platform.db, business)
  const mediaId = await mediaForFreeze(platform, business, id)
  const frozen = await freezeNext(platform.db, business, id, { now, mediaId })
  return frozen ? sendBatch(platform, business, id) : 1
}

export const broadcastLoop = (platform: Platform): Loop => ({
  name: 'chat broadcasts',
  async run(signal) {
    while (!signal.aborted) if ((await stepBroadcasts(platform)) === 0) await pause(pollMs, signal)
  },
})

/** In test mode a broadcast begins when the clock of its business reaches its moment. */
export const broadcastKeeper = ({ db }: Platform): TimeKeeper => ({
  name: 'chat broadcasts',
  nextDue: (anyDb, businessId) => store.nextStart(anyDb, businessId),
  run: async (businessId, now) => void (await store.startDueOf(db, businessId, now)),
})
