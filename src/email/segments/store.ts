import type { PendingQuery, Row } from 'postgres'
import { type Db, first, only } from '../../platform/database.ts'
import type { Group } from './rules.ts'
import { type RuleContext, ruleCondition } from './store-rules.ts'

export interface SegmentRule {
  id: string
  name: string
  rules: Group
}

export interface SegmentRow extends SegmentRule {
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`id, name, rules, created_at as "createdAt", updated_at as "updatedAt"`

export const all = (db: Db, businessId: string) => db<SegmentRow[]>`
  select ${columns(db)} from email_segment where business_id = ${businessId} order by id`

export const find = (db: Db, businessId: string, id: string) =>
  db<SegmentRow[]>`select ${columns(db)} from email_segment where business_id = ${businessId} and id = ${id}`.then(
    first,
  )

/** Before its names: who deletes it takes them in this order too. */
export const lock = (db: Db, businessId: string, id: string) =>
  db<SegmentRow[]>`
  select ${columns(db)} from email_segment where business_id = ${businessId} and id = ${id} for no key update`.then(
    first,
  )

export const byIds = (db: Db, businessId: string, ids: string[]) => db<SegmentRow[]>`
  select ${columns(db)} from email_segment where business_id = ${businessId} and id = any(${ids}::text[]) order by id`

export const insert = (db: Db, businessId: string, segment: SegmentRule, now: Date) =>
  db<SegmentRow[]>`
  insert into email_segment (business_id, id, name, rules, created_at, updated_at)
  values (${businessId}, ${segment.id}, ${segment.name}, ${db.json(segment.rules as never)}, ${now}, ${now})
  returning ${columns(db)}`.then(only)

export const update = (db: Db, businessId: string, segment: SegmentRule, now: Date) =>
  db<SegmentRow[]>`
  update email_segment set name = ${segment.name}, rules = ${db.json(segment.rules as never)}, updated_at = ${now}
  where business_id = ${businessId} and id = ${segment.id} returning ${columns(db)}`.then(first)

export const remove = (db: Db, businessId: string, id: string) =>
  db<SegmentRow[]>`
  delete from email_segment where business_id = ${businessId} and id = ${id} returning ${columns(db)}`.then(first)

/** One pass over the subscribers counts every segment given. */
export async function counts(db: Db, context: RuleContext, segments: readonly SegmentRule[]): Promise<number[]> {
  if (segments.length === 0) return []
  const sums = segments.map(segment => db`count(*) filter (where ${ruleCondition(db, context, segment.rules)})::int`)
  const row = await db<{ counts: number[] }[]>`
    select array[${joined(db, sums)}]::int[] as counts from email_subscriber s
    where s.business_id = ${context.businessId} and s.delete_after is null`
  return only(row).counts
}

/** Expression over `s`: names of the segments it belongs to. */
export const namesExpression = (db: Db, context: RuleContext, segments: readonly SegmentRule[]): PendingQuery<Row[]> =>
  segments.length === 0
    ? db`array[]::text[]`
    : db`array_remove(array[${joined(
        db,
        segments.map(
          segment => db`case when ${ruleCondition(db, context, segment.rules)} then ${segment.name}::text end`,
        ),
      )}], null)`

const joined = (db: Db, parts: PendingQuery<Row[]>[]) => parts.reduce((left, right) => db`${left}, ${right}`)
