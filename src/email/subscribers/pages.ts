import { type Database, type Db, sendAlong } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { RuleContext } from '../segments/store-rules.ts'
import { slotsIn } from './bitmaps.ts'
import { type Filter, matchesNobody } from './filter.ts'
import { type Found, findBySets, slotsFound, totalBySearch } from './search.ts'
import { type Bounds, boundsOf } from './sets.ts'
import * as store from './store-filter.ts'
import * as sets from './store-sets.ts'

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
  const { total, everyone, slots, newest } = await look(db, context, filter)
  if (newest) return { total, ids: newest.slice(page.offset, page.offset + page.limit) }
  if (page.offset >= total) return { total, ids: [] }
  const walked = ((page.offset + page.limit) * Math.max(everyone, total)) / total
  if (walked <= Math.max(total, shortWalk) || !slots)
    return { total, ids: await store.idsByWalk(db, context, filter, page) }
  return { total, ids: await store.idsAmongSlots(db, context, filter, await slots(), page) }
}

export async function totalOf(db: Db, context: RuleContext, filter: Filter): Promise<sets.Totals> {
  if (matchesNobody(filter)) return { total: 0, everyone: 0 }
  const { total, everyone } = await look(db, context, filter)
  return { total, everyone }
}

interface Look extends sets.Totals {
  /** everyone who matches is among these, with some who don't; missing where that would be nearly everybody */
  slots?: () => Promise<number[]>
  /** all who match, newest first, where they are few */
  newest?: string[]
}

const few = 3_000

async function look(db: Db, context: RuleContext, filter: Filter): Promise<Look> {
  const { businessId } = context
  const bounds = boundsOf(filter, await sets.ruleNumbers(db, businessId, filter.segments))
  if (hasSearch(filter)) {
    const found: Found = await findBySets(db, businessId, filter, bounds)
    if (found.sure.size === 0 && found.doubtful.length <= few) {
      const newest = await store.idsAmongSlots(db, context, filter, found.doubtful, { limit: few, offset: 0 })
      return { total: newest.length, everyone: newest.length, newest }
    }
    const total = await totalBySearch(db, context, filter, found)
    return { total, everyone: await store.everyoneNearly(db, businessId), slots: async () => slotsFound(found) }
  }
  if (bounds.exact) {
    const totals = await sets.totalOfRule(db, businessId, bounds.upper)
    return { ...totals, slots: () => slotsOf(db, businessId, bounds) }
  }
  return lookAtRows(db, context, filter, bounds)
}

const worthSets = 0.3

/** The sets know only a part of the filter: they tell whom to look at, unless that is nearly everybody. */
async function lookAtRows(db: Db, context: RuleContext, filter: Filter, bounds: Bounds): Promise<Look> {
  const { businessId } = context
  const upper = bounds.upper === true ? undefined : await sets.totalOfRule(db, businessId, bounds.upper)
  if (!upper || upper.total > worthSets * upper.everyone) return store.totalByRows(db, context, filter)
  const slots = await slotsOf(db, businessId, bounds)
  const total = await store.countAmongSlots(db, context, filter, slots)
  return { total, everyone: upper.everyone, slots: async () => slots }
}

async function slotsOf(db: Db, businessId: string, bounds: Bounds): Promise<number[]> {
  const slots = await sets.loggedSlots(db, businessId)
  for (const [block, bits] of await sets.blocksOfRule(db, businessId, bounds.upper))
    for (const slot of slotsIn(block, bits)) slots.push(slot)
  return slots
}

const hasSearch = (filter: Filter): filter is Filter & { search: string } => filter.search !== undefined

/** Total and page must come from one moment, or a page could disagree with its own total. */
export const inOneSnapshot = <T>(db: Database, read: (db: Db) => Promise<T>): Promise<T> =>
  db.begin(async tx => {
    await sendAlong(tx, store.holdSnapshot(tx))
    return read(tx)
  })
