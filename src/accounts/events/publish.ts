import { beginWithRetry, type Database } from '../../platform/database.ts'
import * as store from './store.ts'

/**
 * Gives committed events their place in the feed of their business, and to each enabled webhook endpoint a delivery.
 *
 * An event is *fresh* when its transaction commits, and *placed* when it has a `position`. Positions are given one
 * business at a time, under the lock of its stream, and only to what is committed: so whoever read up to a position
 * has read everything below it, however late a slow transaction commits. An order made by the writers themselves (an
 * id, a sequence, a transaction number) can't promise that, or must wait for the oldest transaction of the whole cluster.
 *
 * Among fresh events `seq` decides. Two changes of one object follow each other by its row lock, the later one takes
 * its `seq` after the earlier one committed; so the feed never tells an object's story backwards.
 */
const perBusiness = 1_000
const perRound = 200

export interface Publisher {
  /** Places what is fresh, of some businesses; answers how many deliveries were made and whether there may be more. */
  round(): Promise<{ placed: number; queued: number; more: boolean }>
}

export function createPublisher(db: Database, now: () => Date): Publisher {
  // Each round begins where the last one ended, so that no business waits behind the smaller ids of busy ones.
  let after = ''
  return {
    async round() {
      const found = await store.businessesWithFreshEvents(db, { after, limit: perRound })
      if (found.length === 0) {
        const wrapped = after !== ''
        after = ''
        return { placed: 0, queued: 0, more: wrapped }
      }
      after = found.length === perRound ? (found.at(-1)?.businessId ?? '') : ''
      const businessIds = found.map(row => row.businessId)
      const { placed, queued } = await place(db, businessIds, { now: now(), wait: false })
      // Nothing placed: another process holds these streams; it is not worth asking again at once.
      return { placed, queued, more: placed > 0 || after !== '' }
    },
  }
}

/** Places all fresh events of these businesses; afterwards a reader sees every event committed before the call. */
export async function publish(db: Database, businessIds: readonly string[], now: Date): Promise<void> {
  let fresh = await store.withFreshEvents(db, businessIds)
  while (fresh.length > 0) {
    const ids = fresh.map(row => row.businessId)
    const { placed } = await place(db, ids, { now, wait: true })
    if (placed < perBusiness) return
    fresh = await store.withFreshEvents(db, ids)
  }
}

async function place(
  db: Database,
  businessIds: readonly string[],
  options: { now: Date; wait: boolean },
): Promise<{ placed: number; queued: number }> {
  return beginWithRetry(db, async tx => {
    await store.openStreams(tx, businessIds)
    const streams = await store.lockStreams(tx, businessIds, options)
    if (streams.length === 0) return { placed: 0, queued: 0 }
    const [done] = await store.placeEvents(tx, streams, { now: options.now, perBusiness })
    return done ?? { placed: 0, queued: 0 }
  })
}
