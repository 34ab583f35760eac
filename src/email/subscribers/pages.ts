import type { Database, Db } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { RuleContext } from '../segments/store-rules.ts'
import { slotsIn } from './bitmaps.ts'
import { type Filter, matchesNobody } from './filter.ts'
import * as store from './store-filter.ts'

export interface PageOfIds {
  total: number
  ids: string[]
}

/**
 * A page of subscribers, newest first, and how many match in all. Two ways lead to a page: to walk from the newest and
 * keep what matches, or to take all that match and sort them. The total, known first, tells which is shorter; so neither
 * a rare nor a common filter is slow.
 */
export async function pageOfIds(
  db: Db,
  context: RuleContext,
  filter: Filter,
  page: PageRequest,
  shortWalk = 1_000,
): Promise<PageOfIds> {
  if (matchesNobody(filter)) return { total: 0, ids: [] }
  const { total, everyone } = await totalOf(db, context, filter)
  if (page.offset >= total) return { total, ids: [] }
  const walked = ((page.offset + page.limit) * Math.max(everyone, total)) / total
  if (walked <= Math.max(total, shortWalk) || filter.segments)
    return { total, ids: await store.idsByWalk(db, context, filter, page) }
  if (hasSearch(filter)) return { total, ids: await store.idsBySearch(db, context, filter, page) }
  const blocks = await store.matchingSlotBlocks(db, context.businessId, filter)
  const slots = blocks.flatMap(({ block, bytes }) => slotsIn(block, bytes.subarray(4)))
  const logged = await store.loggedSlots(db, context.businessId)
  return { total, ids: await store.idsAmongSlots(db, context, filter, slots.concat(logged), page) }
}

export function totalOf(db: Db, context: RuleContext, filter: Filter): Promise<store.Totals> {
  if (matchesNobody(filter)) return Promise.resolve({ total: 0, everyone: 0 })
  if (hasSearch(filter)) return store.totalBySearch(db, context, filter)
  if (filter.segments) return store.totalByRows(db, context, filter)
  return store.totalByFacets(db, context.businessId, filter)
}

const hasSearch = (filter: Filter): filter is Filter & { search: string } => filter.search !== undefined

/** Total and page must come from one moment, or a page could disagree with its own total. */
export const inOneSnapshot = <T>(db: Database, read: (db: Db) => Promise<T>): Promise<T> =>
  db.begin(async tx => {
    await store.holdSnapshot(tx)
    return read(tx)
  })
