import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { slotsIn } from '../subscribers/bitmaps.ts'
import { foldAll } from '../subscribers/fold.ts'
import { blocksOfRule } from '../subscribers/store-sets.ts'
import * as store from './store.ts'

const batch = 2_000

/**
 * The tag vanishes first, so that nobody gets it meanwhile; then it is taken off people in batches. Its set tells who has it, so nobody
 * else is looked at; it is read again until nobody is left, since a request that was under way may still have given it.
 */
export async function removeTag(db: Database, business: Business, name: string) {
  const tag = (await store.remove(db, business.id, name)) ?? fail(notFound('Tag'))
  const now = await nowFor(db, business)
  let removedFrom = 0
  for (;;) {
    await foldAll(db, business.id, now)
    let taken = 0
    for (const [block, bits] of await blocksOfRule(db, business.id, { in: 'tags', values: [tag.number] })) {
      const slots = slotsIn(block, bits)
      for (let from = 0; from < slots.length; from += batch)
        taken += await store.takeOff(db, business.id, tag.number, slots.slice(from, from + batch), now)
    }
    removedFrom += taken
    if (taken === 0) return { name: tag.name, removedFrom }
  }
}
