import { type Database, type Db, sendAlong } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { RuleContext } from '../segments/store-rules.ts'
import { slotsIn } from './bitmaps.ts'
import { countAll, newestOf } from './block-sets.ts'
import { type Filter, matchesNobody } from './filter.ts'
import { type Found, findBySets } from './search.ts'
import { boundsOf, type SetRule } from './sets.ts'
import * as store from './store-filter.ts'
import * as sets from './store-sets.ts'

/** From where on which way is quicker. */
const usual = { shortWalk: 1_000, fewSlots: 300 }

export interface PageOfIds {
  total: number
  ids: string[]
}

/**
 * A page of subscribers, newest first, and how many match in all. Two ways lead to a page: to walk from the newest and
 * keep what matches, where much does, or to look at those who match in the newest blocks. The total, known first, tells how far a walk
 * would go if those who match were spread evenly; where they are not, it ends after twice as much, and the blocks are asked.
 */
export async function pageOfIds(
  db: Db,
  context: RuleContext,
  filter: Filter,
  page: PageRequest,
  ways = usual,
): Promise<PageOfIds> {
  if (matchesNobody(filter)) return { total: 0, ids: [] }
  const wanted = page.offset + page.limit
  const { total, everyone, newest } = await look(db, context, filter, wanted, ways.fewSlots)
  if (page.offset >= total) return { total, ids: [] }
  if (!newest) return { total, ids: await store.idsByWalk(db, context, filter, page) }
  const walked = Math.ceil(wanted * Math.max(1, everyone / total))
  if (walked <= ways.shortWalk * Math.max(1, wanted / 500)) {
    const most = Object.keys(filter).length > 0 ? walked * 2 : undefined
    const ids = await store.idsByWalk(db, context, filter, page, most)
    if (ids.length === Math.min(page.limit, total - page.offset)) return { total, ids }
  }
  return { total, ids: await idsByBlocks(db, context, filter, newest, page) }
}

export const totalOf = async (db: Db, context: RuleContext, filter: Filter): Promise<number> =>
  matchesNobody(filter) ? 0 : (await look(db, context, filter, 0, usual.fewSlots)).total

/** Everyone who matches was created no later than `others`, or is among these slots, with some who don't match. */
interface Newest {
  slots: number[]
  others: number
}

interface Look extends sets.Totals {
  /** from blocks with so many members at least; missing where nearly everybody would have to be looked at */
  newest: ((reach: number) => Newest | Promise<Newest>) | undefined
}

/** Among those of one moment the id decides, so a block may only be left out when it is older than the last of the page. */
async function idsByBlocks(
  db: Db,
  context: RuleContext,
  filter: Filter,
  newest: NonNullable<Look['newest']>,
  page: PageRequest,
): Promise<string[]> {
  const wanted = page.offset + page.limit
  for (let reach = wanted; ; reach *= 4) {
    const { slots, others } = await newest(reach)
    const found = await store.newestAmongSlots(db, context, filter, slots, wanted)
    const last = found[wanted - 1]
    if (others === Number.NEGATIVE_INFINITY || (last && last.createdAt.getTime() > others))
      return found.slice(page.offset).map(row => row.id)
  }
}

async function look(db: Db, context: RuleContext, filter: Filter, wanted: number, few: number): Promise<Look> {
  const { businessId } = context
  const bounds = boundsOf(filter, await sets.ruleNumbers(db, businessId, filter.segments))
  if (hasSearch(filter)) {
    const found = await findBySets(db, businessId, filter, bounds, few)
    return lookAtFound(db, context, filter, found, wanted)
  }
  if (!bounds.exact) return lookAtRows(db, context, filter, bounds.upper, wanted)
  const newest = (reach: number) => newestOfRule(db, businessId, bounds.upper, reach)
  if (sets.hasKeptTotal(bounds.upper)) return { ...(await sets.totalOfRule(db, businessId, bounds.upper)), newest }
  const first = await newest(wanted)
  return { ...first, newest: reach => (reach === wanted ? first : newest(reach)) }
}

/** As folded, with what the log still holds; the log is read first, so that what is folded in between is in both. */
async function newestOfRule(db: Db, businessId: string, rule: SetRule, reach: number): Promise<Newest & sets.Totals> {
  const [log, blocks] = await Promise.all([
    sets.logOfRule(db, businessId, rule),
    sets.newestBlocks(db, businessId, rule, reach),
  ])
  const slots = log.slots
  for (const { block, bits } of blocks) if (bits) for (const slot of slotsIn(block, bits)) slots.push(slot)
  const others = blocks.find(block => !block.bits)?.newest?.getTime() ?? Number.NEGATIVE_INFINITY
  const total = blocks.reduce((sum, block) => sum + block.members, log.difference)
  return { slots, others, total, everyone: log.everyone }
}

const worthSets = 0.3

/** The sets know only a part of the filter: they tell whom to look at, unless that is nearly everybody. */
async function lookAtRows(db: Db, context: RuleContext, filter: Filter, upper: SetRule, wanted: number): Promise<Look> {
  const { businessId } = context
  const most = upper === true ? undefined : await sets.totalOfRule(db, businessId, upper)
  if (!most || most.total > worthSets * most.everyone)
    return { ...(await store.totalByRows(db, context, filter)), newest: undefined }
  const { slots } = await newestOfRule(db, businessId, upper, sets.everybody)
  const looked = await store.lookAtSlots(db, context, filter, slots, wanted)
  const newest = { slots: looked.slots, others: Number.NEGATIVE_INFINITY }
  return { total: looked.total, everyone: most.everyone, newest: () => newest }
}

/** Those in doubt are all looked at, since they count; of those who match for sure only the newest. */
async function lookAtFound(
  db: Db,
  context: RuleContext,
  filter: Filter,
  { sure, doubtful }: Found,
  wanted: number,
): Promise<Look> {
  const { businessId } = context
  // Sent together: every trip to the database costs both sides.
  const [looked, everyone, createdBy] = await Promise.all([
    store.lookAtSlots(db, context, filter, doubtful, wanted),
    store.everyoneNearly(db, businessId),
    sets.newestByBlock(db, businessId),
  ])
  return {
    total: looked.total + countAll(sure),
    everyone,
    newest: reach => {
      const { slots, others } = newestOf(sure, createdBy, reach)
      return { slots: slots.concat(looked.slots), others }
    },
  }
}

const hasSearch = (filter: Filter): filter is Filter & { search: string } => filter.search !== undefined

/** Total and page must come from one moment, or a page could disagree with its own total. */
export const inOneSnapshot = <T>(db: Database, read: (db: Db) => Promise<T>): Promise<T> =>
  db.begin(async tx => {
    await sendAlong(tx, store.holdSnapshot(tx))
    return read(tx)
  })
