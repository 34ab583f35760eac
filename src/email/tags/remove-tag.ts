import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { takeOff } from '../subscribers/take-off.ts'
import * as store from './store.ts'

/** The tag vanishes first, so that nobody gets it meanwhile. */
export async function removeTag(db: Database, business: Business, name: string) {
  const { number, ...tag } = (await store.remove(db, business.id, name)) ?? fail(notFound('Tag'))
  const now = await nowFor(db, business)
  return { name: tag.name, removedFrom: await takeOff(db, business.id, { kind: 'tags', number }, now) }
}
