import { type Database, isPassing } from '../../platform/database.ts'
import type { Reactions } from '../../platform/events.ts'
import { type Loop, pause } from '../../platform/jobs.ts'
import type { Log } from '../../platform/log.ts'
import type { Platform } from '../../platform/platform.ts'
import * as store from './store-reactions.ts'

/**
 * Lets services act on what others told. Placing an event in the feed also puts it on the list of those to act on, if
 * its type is among the known ones; here they are taken from it, a few of one business at a time.
 */
const idleMs = 500
const atOnce = 20
const businessesAtOnce = 100

export const reactionLoop = (platform: Platform, reactions: Reactions): Loop => ({
  name: 'reactions',
  async run(signal) {
    await store.knowTypes(platform.db, Object.keys(reactions))
    while (!signal.aborted) {
      const done = await reactRound(platform, reactions).catch(error => {
        if (!isPassing(error)) platform.log.error({ err: error }, 'events could not be acted on; trying again')
        return 0
      })
      if (done === 0) await pause(idleMs, signal)
    }
  },
})

/** Acts on what is there for now; answers on how many. */
export async function reactRound(platform: { db: Database; log: Log }, reactions: Reactions): Promise<number> {
  let done = 0
  for (const { businessId } of await store.businessesWithReactions(platform.db, businessesAtOnce))
    done += await reactFor(platform, reactions, businessId)
  return done
}

async function reactFor(
  { db, log }: { db: Database; log: Log },
  reactions: Reactions,
  businessId: string,
): Promise<number> {
  return db.begin(async tx => {
    const events = await store.takeReactions(tx, businessId, { limit: atOnce, types: Object.keys(reactions) })
    for (const event of events)
      try {
        await tx.savepoint(inner => reactions[event.type]?.(inner as typeof tx, event))
      } catch (error) {
        // The database went away: everything is undone and comes again. Anything else would fail again for ever.
        if (isPassing(error)) throw error
        log.error({ err: error, businessId, event: event.id, type: event.type }, 'an event could not be acted on')
      }
    return events.length
  })
}
