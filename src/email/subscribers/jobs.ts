import type { Business } from '../../platform/business.ts'
import { nowFor, type TimeKeeper } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { does, type Loop, pause, queue, type Work } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { foldBatch, foldChanges } from './fold.ts'
import { indexWhenMany } from './index-search.ts'
import * as store from './store.ts'
import * as foldStore from './store-fold.ts'

const foldEveryMs = 250

/** Keeps the log short in the background: totals are right without it, but quick with it. */
export const foldLoop = (platform: Platform): Loop => ({
  name: 'email_fold',
  async run(signal) {
    while (!signal.aborted) {
      const busy = await foldOnce(platform.db)
      if (!busy) await pause(foldEveryMs, signal)
    }
  },
})

/** True when some business has more to do than one batch. */
export async function foldOnce(db: Database): Promise<boolean> {
  let busy = false
  for (const business of await foldStore.businessesWithChanges(db))
    if ((await foldOf(db, business.id)) >= foldBatch) busy = true
  return busy
}

async function foldOf(db: Database, businessId: string): Promise<number> {
  const taken = await foldChanges(db, businessId, await clockOf(db, businessId))
  await indexWhenMany(db, businessId)
  return taken
}

const clockOf = async (db: Database, businessId: string): Promise<Date> =>
  nowFor(db, { id: businessId, testMode: true } satisfies Pick<Business, 'id' | 'testMode'>)

const ageEngagement = queue<object>('email_age_engagement')
const eraseDeleted = queue<object>('email_erase_deleted')

export const subscriberWork = (platform: Platform): Work[] => [
  does(ageEngagement, () => ageAll(platform.db), { cron: '*/10 * * * *' }),
  does(eraseDeleted, () => eraseAll(platform.db), { cron: '41 * * * *' }),
]

/** Engagement ages while nothing changes; without this, a quiet business would have ever more to look at. */
async function ageAll(db: Database): Promise<void> {
  const before = new Date(Date.now() - 600_000)
  for (const business of await foldStore.businessesWithOldEngagement(db, before)) await foldOf(db, business.id)
}

async function eraseAll(db: Database): Promise<void> {
  for (const business of await store.businessesWithErasure(db, new Date()))
    await eraseDue(db, business.id, await clockOf(db, business.id))
}

const eraseBatch = 1_000

export async function eraseDue(db: Database, businessId: string, now: Date): Promise<void> {
  while ((await store.erase(db, businessId, now, eraseBatch)) === eraseBatch);
}

/** Deleted subscribers are erased when their thirty days are over. */
export const erasureKeeper = (platform: Platform): TimeKeeper => ({
  name: 'email_erasure',
  nextDue: (db, businessId) => store.nextErasure(db, businessId),
  run: (businessId, now) => eraseDue(platform.db, businessId, now),
})
