import { type Db, only } from '../../platform/database.ts'
import { type RuleContext, ruleCondition } from '../segments/store-rules.ts'
import { tenant } from '../store-tenant.ts'
import type { Filter } from './filter.ts'
import { type Fragment, searchText } from './store-changes.ts'
import { everyoneNearly as allNearly, type Totals } from './store-sets.ts'

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
export const rowCondition = (db: Db, context: RuleContext, filter: Filter): Fragment =>
  db`${present(db, context)} ${filterConditions(db, context, filter)}`

const present = (db: Db, { businessId }: RuleContext) =>
  db`s.business_id = ${tenant(db, businessId)} and s.delete_after is null`

function filterConditions(db: Db, context: RuleContext, filter: Filter): Fragment {
  const parts: Fragment[] = []
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
    parts.push(db`${searchText(db, db`s`)} like lower(${pattern(filter.search)}::text) escape '!'`)
  return parts.reduce((left, right) => db`${left} and ${right}`, db``)
}

/** A term that contains the separator of the fields would match across them; it can match nothing. */
const pattern = (term: string) =>
  term.includes('\u001f') ? '' : `%${term.replaceAll(/[!%_]/g, character => `!${character}`)}%`

/** How many there are, nearly: to choose the cheaper way to a page. */
export const everyoneNearly = async (db: Db, businessId: string) =>
  only(await db<{ everyone: number }[]>`select ${allNearly(db, businessId)} as everyone`).everyone

export const totalByRows = (db: Db, context: RuleContext, filter: Filter) =>
  db<Totals[]>`
  select (select count(*) from email_subscriber s where ${rowCondition(db, context, filter)})::int as total,
    ${allNearly(db, context.businessId)} as everyone`.then(only)

const newestFirst = (db: Db) => db`order by s.created_at desc, s.id desc`

/** Looks at the rows of these slots only: how many match, and the slots of the newest of them. */
export const lookAtSlots = (db: Db, context: RuleContext, filter: Filter, slots: number[], wanted: number) =>
  db<{ total: number; slots: number[] }[]>`
  with matching as materialized (
    select s.slot, s.created_at, s.id from email_subscriber s
    where ${rowCondition(db, context, filter)} and s.slot = any(${slots}::int[]))
  select (select count(*) from matching)::int as total,
    array(select s.slot from matching s ${newestFirst(db)} limit ${wanted}) as slots`.then(only)

/** The newest who match among these slots. */
export const newestAmongSlots = (db: Db, context: RuleContext, filter: Filter, slots: number[], wanted: number) =>
  db<{ id: string; createdAt: Date }[]>`
  select s.id, s.created_at as "createdAt" from email_subscriber s
  where ${rowCondition(db, context, filter)} and s.slot = any(${slots}::int[]) ${newestFirst(db)} limit ${wanted}`

export interface Window {
  limit: number
  offset: number
}

/** Walks from the newest on, past so many at most, and keeps what matches: cheap where much matches. */
export async function idsByWalk(
  db: Db,
  context: RuleContext,
  filter: Filter,
  { limit, offset }: Window,
  most?: number,
): Promise<string[]> {
  const everyone = db`email_subscriber s where ${present(db, context)}`
  const people = most ? db`(select * from ${everyone} ${newestFirst(db)} limit ${most}::int) s where true` : everyone
  const rows = await db<{ id: string }[]>`
    select s.id from ${people} ${filterConditions(db, context, filter)} ${newestFirst(db)} limit ${limit} offset ${offset}`
  return rows.map(row => row.id)
}

export const holdSnapshot = (db: Db) => db`set transaction isolation level repeatable read`
