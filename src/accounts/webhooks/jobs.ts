import type { Db } from '../../platform/database.ts'
import { does, queue, type Work } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { allBusinessIds, deleteOldEvents } from '../events/store.ts'
import { deleteOldReactions } from '../events/store-reactions.ts'
import { deleteOldDeliveries } from './store-deliveries.ts'

const purge = queue<object>('account_purge_events', { expireInSeconds: 3_600 })

export const eventWork = (platform: Platform): Work[] => [
  does(purge, (_, { signal }) => purgeEvents(platform.db, new Date(), signal), { cron: '41 * * * *', concurrency: 1 }),
]

/** Spec silent: events and what became of them are kept for 30 days, and longer while an enabled endpoint waits for them. */
const keptDays = 30
const atOnce = 5_000

export async function purgeEvents(db: Db, now: Date, signal?: AbortSignal): Promise<void> {
  const options = { before: firstIdOf(new Date(now.getTime() - keptDays * 86_400_000)), limit: atOnce }
  for (const { id } of await allBusinessIds(db)) {
    // Deliveries first: an event goes when none that waits needs it.
    for (const remove of [deleteOldDeliveries, deleteOldReactions, deleteOldEvents])
      while (!signal?.aborted && (await remove(db, id, options)).count === atOnce);
  }
}

/** Ids begin with the second they were made in; that is the world's time, also where a test clock tells another. */
const firstIdOf = (time: Date) =>
  Math.floor(time.getTime() / 1_000)
    .toString(16)
    .padStart(8, '0')
