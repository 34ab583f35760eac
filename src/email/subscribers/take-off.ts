import type { Database } from '../../platform/database.ts'
import { slotsIn } from './bitmaps.ts'
import { foldAll } from './fold.ts'
import { blocksOfRule } from './store-sets.ts'
import * as store from './store-take-off.ts'

const batch = 2_000

/**
 * Takes a list or a tag that is no more off everyone who has it, in batches; answers how many had it. Its set tells who has it, so nobody
 * else is looked at; it is read again until nobody is left, since a request that was under way may still have given it.
 */
export async function takeOff(db: Database, businessId: string, what: store.Mark, now: Date): Promise<number> {
  for (let all = 0; ; ) {
    await foldAll(db, businessId, now)
    let taken = 0
    for (const [block, bits] of await blocksOfRule(db, businessId, { in: what.kind, values: [what.number] })) {
      const slots = slotsIn(block, bits)
      for (let from = 0; from < slots.length; from += batch)
        taken += await store.takeOffSlots(db, businessId, what, slots.slice(from, from + batch), now)
    }
    if (taken === 0) return all
    all += taken
  }
}
