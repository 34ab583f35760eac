import { type Db, only } from '../../platform/database.ts'
import { type RuleContext, ruleCondition } from '../segments/store-rules.ts'
import { everyoneKey, listKey, scoreBase, scoreBits, scoreKey, statusKey, tagKey } from './bitmaps.ts'
import type { Filter } from './filter.ts'
import { maxScore } from './schema.ts'
import type { Fragment } from './store-changes.ts'
import { searchText } from './store-fold.ts'

export const listNumbers = async (db: Db, businessId: string, idsOrNames: string[]) =>
  (
    await db<{ number: number }[]>`
    select number from email_list where business_id = ${businessId} and id in (
      select object_id from email_name where business_id = ${businessId} and kind = 'list'
        and name in (select lower(x) from unnest(${idsOrNames}::text[]) x)
      union select x from unnest(${idsOrNames}::text[]) x)`
  ).map(row => row.number)

export const tagNumbers = async (db: Db, businessId: string, names: string[]) =>
  (
    await db<{ number: number }[]>`
    select number from email_tag where business_id = ${businessId} and name = any(${names}::text[])`
  ).map(row => row.number)

/** The filter as a condition on `s`, a row of email_subscriber as it is now. The truth that every quicker way must equal. */
export function rowCondition(db: Db, context: RuleContext, filter: Filter): Fragment {
  const parts = [db`s.business_id = ${context.businessId} and s.delete_after is null`]
  if (filter.status) parts.push(db`s.status = ${filter.status}`)
  if (filter.listNumbers) parts.push(db`s.list_numbers && ${filter.listNumbers}::int[]`)
  if (filter.tagNumbers) parts.push(db`s.tag_numbers && ${filter.tagNumbers}::int[]`)
  if (filter.scoreMin !== undefined) parts.push(db`s.lead_score >= ${filter.scoreMin}`)
  if (filter.scoreMax !== undefined) parts.push(db`s.lead_score <= ${filter.scoreMax}`)
  if (filter.segments)
    parts.push(
      db`(${filter.segments.map(one => ruleCondition(db, context, one.rules)).reduce((a, b) => db`${a} or ${b}`)})`,
    )
  if (filter.search !== undefined)
    parts.push(db`${searchText(db)} like lower(${pattern(filter.search)}::text) escape '!'`)
  return parts.reduce((left, right) => db`${left} and ${right}`)
}

/** A term that contains the separator of the fields would match across them; it can match nothing. */
const pattern = (term: string) =>
  term.includes('\u001f') ? '' : `%${term.replaceAll(/[!%_]/g, character => `!${character}`)}%`

/** The same on one side of a row of the log. */
function changeCondition(db: Db, filter: Filter, side: 'old' | 'new'): Fragment {
  const column = (name: string) => db(`${side}_${name}`)
  const parts = [db`${column('status')} is not null`]
  if (filter.status) parts.push(db`${column('status')} = ${filter.status}`)
  if (filter.listNumbers) parts.push(db`${column('lists')} && ${filter.listNumbers}::int[]`)
  if (filter.tagNumbers) parts.push(db`${column('tags')} && ${filter.tagNumbers}::int[]`)
  if (filter.scoreMin !== undefined) parts.push(db`${column('score')} >= ${filter.scoreMin}`)
  if (filter.scoreMax !== undefined) parts.push(db`${column('score')} <= ${filter.scoreMax}`)
  return db`coalesce(${parts.reduce((left, right) => db`${left} and ${right}`)}, false)`
}

export interface Totals {
  /** how many match */
  total: number
  /** how many there are, nearly: to choose the cheaper way to a page */
  everyone: number
}

const everyoneNearly = (db: Db, businessId: string) => db`
  coalesce((select c.total from email_count c where c.business_id = ${businessId} and c.kind = 'all'), 0)`

/** Filters by status, list, tag and score: what is folded plus what the log still holds, in one snapshot. */
export async function totalByFacets(db: Db, businessId: string, filter: Filter): Promise<Totals> {
  const folded = foldedTotal(db, businessId, filter, await scoreBitsInUse(db, businessId, filter))
  return db<Totals[]>`
    select ((${folded}) + (
      select coalesce(sum(${changeCondition(db, filter, 'new')}::int - ${changeCondition(db, filter, 'old')}::int), 0)
      from email_change where business_id = ${businessId}))::int as total,
      ${everyoneNearly(db, businessId)} as everyone`.then(only)
}

const isScored = (filter: Filter) => filter.scoreMin !== undefined || filter.scoreMax !== undefined

/** Scores of a business use few of the bits they could; only those are worth looking at. */
async function scoreBitsInUse(db: Db, businessId: string, filter: Filter): Promise<number[]> {
  if (!isScored(filter)) return []
  const rows = await db<{ bit: number }[]>`
    select bit from generate_series(0, ${scoreBits - 1}::int) bit
    where exists (select 1 from email_bitmap where business_id = ${businessId} and key = 'b' || bit)`
  return rows.map(row => row.bit)
}

/** One kept total answers where there is one; else sets are intersected and counted. */
function foldedTotal(db: Db, businessId: string, filter: Filter, bits: number[]): Fragment {
  const { status, listNumbers, tagNumbers } = filter
  const sets = (listNumbers ?? []).length + (tagNumbers ?? []).length
  if (!isScored(filter) && sets <= 1) {
    const kind = listNumbers ? 'list' : tagNumbers ? 'tag' : 'all'
    const number = listNumbers?.[0] ?? tagNumbers?.[0] ?? 0
    return db`select coalesce(sum(${db(status ?? 'total')}), 0) from email_count
      where business_id = ${businessId} and kind = ${kind} and number = ${number}`
  }
  return db`select coalesce(sum(bit_count(bits)), 0) from (${matchingBlocks(db, businessId, filter, bits)}) matching`
}

/** Blocks of the slots that match, as folded: sets of one filter are united, those of different filters intersected. */
function matchingBlocks(db: Db, businessId: string, filter: Filter, bits: number[]): Fragment {
  const union = (keys: string[]) =>
    keys.length === 1
      ? db`select block, bits from email_bitmap where business_id = ${businessId} and key = ${keys[0]!}`
      : db`select block, bit_or(bits) as bits from email_bitmap
          where business_id = ${businessId} and key = any(${keys}::text[]) group by block`
  const sets = [union([filter.status ? statusKey(filter.status) : everyoneKey])]
  if (filter.listNumbers) sets.push(union(filter.listNumbers.map(listKey)))
  if (filter.tagNumbers) sets.push(union(filter.tagNumbers.map(tagKey)))
  if (isScored(filter)) sets.push(scoreBlocks(db, businessId, filter, bits))
  return sets.reduce(
    (left, right) => db`
    select l.block, l.bits & r.bits as bits from (${left}) l join (${right}) r on r.block = l.block`,
  )
}

/** Range of scores from the sets of their bits: `at least x` is found from the lowest bit up. */
function scoreBlocks(db: Db, businessId: string, filter: Filter, bits: number[]): Fragment {
  const column = (bit: number) => db`coalesce(${db(`bit${bit}`)}, nobody)`
  const atLeast = (score: number): Fragment | boolean => {
    const value = score + scoreBase
    let found: Fragment | boolean = true
    for (let bit = 0; bit < scoreBits; bit++) {
      const isSet = Math.floor(value / 2 ** bit) % 2 === 1
      if (!bits.includes(bit)) found = isSet ? false : found
      else if (isSet) found = found === true ? column(bit) : found === false ? false : db`(${column(bit)} & ${found})`
      else found = found === true ? true : found === false ? column(bit) : db`(${column(bit)} | ${found})`
    }
    return found
  }
  const whole = (found: Fragment | boolean) => (found === true ? db`~nobody` : found === false ? db`nobody` : found)
  const { scoreMin, scoreMax } = filter
  const low = scoreMin === undefined || scoreMin <= -maxScore ? true : atLeast(scoreMin)
  const above = scoreMax === undefined || scoreMax >= maxScore ? false : atLeast(scoreMax + 1)
  const columns = bits.map(bit => db`, bit_or(bits) filter (where key = ${scoreKey(bit)}) as ${db(`bit${bit}`)}`)
  return db`
    select block, ${whole(low)} & ~${whole(above)} as bits from (
      select block, repeat('0', 8192)::bit(8192) as nobody ${columns.reduce((a, b) => db`${a} ${b}`, db``)}
      from email_bitmap where business_id = ${businessId} and key = any(${bits.map(scoreKey)}::text[]) group by block) pivoted`
}

export async function matchingSlotBlocks(db: Db, businessId: string, filter: Filter) {
  const blocks = matchingBlocks(db, businessId, filter, await scoreBitsInUse(db, businessId, filter))
  return db<{ block: number; bytes: Buffer }[]>`
    select block, bit_send(bits) as bytes from (${blocks}) matching where bit_count(bits) > 0`
}

export const loggedSlots = async (db: Db, businessId: string) =>
  (await db<{ slot: number }[]>`select distinct slot from email_change where business_id = ${businessId}`).map(
    row => row.slot,
  )

/** Slots whose text in the search index may be out of date. */
const staleSlots = (db: Db, businessId: string) => db`
  select slot from email_change where business_id = ${businessId} and text_changed
  union select slot from email_search_todo where business_id = ${businessId}`

const foundSlots = (db: Db, businessId: string, term: string) => db`
  select slot from email_search where business_id = ${businessId} and text like lower(${pattern(term)}::text) escape '!'`

/** A search alone is counted in the index; with other filters the rows found are looked at. */
export function totalBySearch(db: Db, context: RuleContext, filter: Filter & { search: string }): Promise<Totals> {
  const { businessId } = context
  const alone = Object.keys(filter).length === 1
  const indexed = alone
    ? db`select count(*) from (${foundSlots(db, businessId, filter.search)}) f where slot not in (select slot from stale)`
    : db`select count(*) from email_subscriber s where ${rowCondition(db, context, { ...filter, search: undefined })}
        and s.slot in (${foundSlots(db, businessId, filter.search)}) and s.slot not in (select slot from stale)`
  return db<Totals[]>`
    with stale as materialized (${staleSlots(db, businessId)})
    select ((${indexed}) + (select count(*) from email_subscriber s where ${rowCondition(db, context, filter)}
      and s.slot in (select slot from stale)))::int as total, ${everyoneNearly(db, businessId)} as everyone`.then(only)
}

export const totalByRows = (db: Db, context: RuleContext, filter: Filter) =>
  db<Totals[]>`
  select (select count(*) from email_subscriber s where ${rowCondition(db, context, filter)})::int as total,
    ${everyoneNearly(db, context.businessId)} as everyone`.then(only)

export interface Window {
  limit: number
  offset: number
}

/** Walks from the newest on and keeps what matches: cheap where much matches. */
export const idsByWalk = async (db: Db, context: RuleContext, filter: Filter, { limit, offset }: Window) =>
  (
    await db<{ id: string }[]>`
    select s.id from email_subscriber s where ${rowCondition(db, context, filter)}
    order by s.created_at desc, s.id desc limit ${limit} offset ${offset}`
  ).map(row => row.id)

/** Looks at the rows of these slots only: cheap where little matches. */
export const idsAmongSlots = async (
  db: Db,
  context: RuleContext,
  filter: Filter,
  slots: number[],
  { limit, offset }: Window,
) =>
  (
    await db<{ id: string }[]>`
    select s.id from email_subscriber s where ${rowCondition(db, context, filter)} and s.slot = any(${slots}::int[])
    order by s.created_at desc, s.id desc limit ${limit} offset ${offset}`
  ).map(row => row.id)

export const idsBySearch = async (
  db: Db,
  context: RuleContext,
  filter: Filter & { search: string },
  { limit, offset }: Window,
) =>
  (
    await db<{ id: string }[]>`
    with candidate as materialized (
      ${foundSlots(db, context.businessId, filter.search)} union ${staleSlots(db, context.businessId)})
    select s.id from email_subscriber s where ${rowCondition(db, context, filter)} and s.slot in (select slot from candidate)
    order by s.created_at desc, s.id desc limit ${limit} offset ${offset}`
  ).map(row => row.id)

export const holdSnapshot = (db: Db) => db`set transaction isolation level repeatable read`
