import type { TimeKeeper } from '../../platform/clock.ts'
import { type Loop, pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { sweepMessages } from '../messages/sweep.ts'
import { processNews } from './intake.ts'
import * as store from './store.ts'

const pollMs = 250
const sweepMs = 5_000
/** Between two batches, so that under load many deliveries share one transaction; the first after a quiet moment goes at once. */
const gatherMs = 25
const wakers = new WeakMap<Platform, () => void>()

/** News arrived in this very process: no need to wait for the next look. */
export function wakeIntake(platform: Platform): void {
  wakers.get(platform)?.()
}

/** Works through everything that is due, for every business. Answers how many deliveries it worked through. */
export async function processAllNews(platform: Platform): Promise<number> {
  let done = 0
  for (const { businessId, now } of await store.businessesWithNews(platform.db, 100))
    done += await processNews(platform, platform.db, businessId, { now })
  return done
}

export const intakeLoop = (platform: Platform): Loop => ({
  name: 'chat news',
  async run(signal) {
    while (!signal.aborted) {
      if ((await processAllNews(platform)) > 0) {
        await pause(gatherMs, signal)
        continue
      }
      const waiting = new AbortController()
      wakers.set(platform, () => waiting.abort())
      await pause(pollMs, AbortSignal.any([signal, waiting.signal]))
    }
  },
})

export const sweepLoop = (platform: Platform): Loop => ({
  name: 'chat sweep',
  async run(signal) {
    while (!signal.aborted) {
      await sweepMessages(platform)
      await pause(sweepMs, signal)
    }
  },
})

/** In test mode the sandbox's news arrive when the business's clock reaches them. */
export const newsKeeper = (platform: Platform): TimeKeeper => ({
  name: 'chat news',
  nextDue: (db, businessId) => store.nextNews(db, businessId),
  run: async (businessId, now) => void (await processNews(platform, platform.db, businessId, { now, wait: true })),
})
