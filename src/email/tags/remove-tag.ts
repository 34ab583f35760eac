import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { fail, notFound } from '../../platform/problem.ts'
import * as store from './store.ts'

const batch = 5_000

/** The tag vanishes first, so that nobody gets it meanwhile; then it is taken off people in batches. */
export async function removeTag(db: Database, business: Business, name: string) {
  const tag = (await store.remove(db, business.id, name)) ?? fail(notFound('Tag'))
  const now = await nowFor(db, business)
  let removedFrom = 0
  for (let taken = batch; taken === batch; removedFrom += taken)
    taken = await store.takeOff(db, business.id, tag.number, { limit: batch, now })
  return { name: tag.name, removedFrom }
}
