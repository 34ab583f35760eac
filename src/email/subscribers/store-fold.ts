import { type Db, first, sendAlong, type Tx } from '../../platform/database.ts'
import { everyoneKey, type SetChanges } from './bitmaps.ts'
import { type Change, engagedDays, type Facets } from './facets.ts'
import type { Status } from './schema.ts'
import type { Fragment } from './store-changes.ts'

export interface CountRow {
  kind: 'all' | 'list' | 'tag' | 'score'
  number: number
  total: number
  subscribed: number
  unsubscribed: number
  bounced: number
  complaint: number
  scoreSum: number
  hot: number
  cold: number
  engaged: number
  updatedAt: Date
}

export type Tally = Omit<CountRow, 'kind' | 'number' | 'updatedAt'>

export const emptyTally = (): Tally => ({
  total: 0,
  subscribed: 0,
  unsubscribed: 0,
  bounced: 0,
  complaint: 0,
  scoreSum: 0,
  hot: 0,
  cold: 0,
  engaged: 0,
})

/** Whoever holds this row may write totals and sets; the caller waits for its turn. */
export async function waitForFold(db: Db, businessId: string): Promise<void> {
  await db`insert into email_fold (business_id, engaged_as_of) values (${businessId}, now()) on conflict do nothing`
  await db`select 1 from email_fold where business_id = ${businessId} for update`
}

/** Undefined: another process is folding this business right now. */
export async function lockFold(tx: Tx, businessId: string, now: Date, wait: boolean) {
  await sendAlong(
    tx,
    tx`insert into email_fold (business_id, engaged_as_of) values (${businessId}, ${now}) on conflict do nothing`,
  )
  return tx<{ engagedAsOf: Date }[]>`
    select engaged_as_of as "engagedAsOf" from email_fold where business_id = ${businessId}
    for update ${wait ? tx`` : tx`skip locked`}`.then(first)
}

interface ChangeRow {
  slot: number
  at: Date
  textChanged: boolean
  oldText: string | null
  oldStatus: Status | null
  oldScore: number
  oldLists: number[]
  oldTags: number[]
  oldEngaged: Date | null
  newStatus: Status | null
  newScore: number
  newLists: number[]
  newTags: number[]
  newEngaged: Date | null
}

/**
 * The oldest changes, in order. Taken as a range, which is quick by any plan, also one made when the log was empty. Of one subscriber they
 * are in the order of their commits, because its row was locked.
 */
export async function takeChanges(db: Db, businessId: string, limit: number): Promise<Change[]> {
  const rows = await db<ChangeRow[]>`
    with taken as (
      delete from email_change where business_id = ${businessId} and id <= (
        select max(id) from (select id from email_change where business_id = ${businessId} order by id limit ${limit}) oldest)
      returning *)
    select slot, at, text_changed as "textChanged", old_text as "oldText", old_status as "oldStatus", old_score as "oldScore", old_lists as "oldLists",
      old_tags as "oldTags", old_engaged as "oldEngaged", new_status as "newStatus", new_score as "newScore",
      new_lists as "newLists", new_tags as "newTags", new_engaged as "newEngaged"
    from taken order by id`
  return rows.map(row => ({
    slot: row.slot,
    at: row.at,
    textChanged: row.textChanged,
    oldText: row.oldText,
    before: facets(row.oldStatus, row.oldScore, row.oldLists, row.oldTags, row.oldEngaged),
    after: facets(row.newStatus, row.newScore, row.newLists, row.newTags, row.newEngaged),
  }))
}

const facets = (
  status: Status | null,
  leadScore: number,
  listNumbers: number[],
  tagNumbers: number[],
  engagedAt: Date | null,
): Facets | undefined => (status === null ? undefined : { status, leadScore, listNumbers, tagNumbers, engagedAt })

export const addCounts = (db: Db, businessId: string, rows: CountRow[]) => db`
  insert into email_count as c (business_id, kind, number, total, subscribed, unsubscribed, bounced, complaint, score_sum, hot, cold,
    engaged, updated_at)
  select ${businessId}, r.kind, r.number, r.total, r.subscribed, r.unsubscribed, r.bounced, r.complaint, r."scoreSum", r.hot, r.cold,
    r.engaged, r."updatedAt"
  from jsonb_to_recordset(${db.json(rows as never)}) as r (kind text, number int, total int, subscribed int, unsubscribed int,
    bounced int, complaint int, "scoreSum" bigint, hot int, cold int, engaged int, "updatedAt" timestamptz)
  on conflict (business_id, kind, number) do update set
    total = c.total + excluded.total, subscribed = c.subscribed + excluded.subscribed,
    unsubscribed = c.unsubscribed + excluded.unsubscribed, bounced = c.bounced + excluded.bounced,
    complaint = c.complaint + excluded.complaint, score_sum = c.score_sum + excluded.score_sum, hot = c.hot + excluded.hot,
    cold = c.cold + excluded.cold, engaged = c.engaged + excluded.engaged, updated_at = greatest(c.updated_at, excluded.updated_at)`

const nobody = (db: Db) => db`0::bit(8192)`

/** Only places travel to the database, which makes masks of them: a block is a kilobyte, and most changes are a bit in one. */
export async function changeSets(
  db: Db,
  businessId: string,
  { keys, blocks, places, members, created }: SetChanges,
): Promise<void> {
  if (keys.length === 0) return
  const mask = (condition: Fragment) =>
    db`coalesce(bit_or(set_bit(${nobody(db)}, place, 1)) filter (where ${condition}), ${nobody(db)})`
  await db`
    with masks as materialized (
      select key collate "C" as key, block, ${mask(db`member = 1`)} as added, ${mask(db`member = 0`)} as removed, max(created) as newest
      from unnest(${keys}::text[], ${blocks}::int[], ${places}::int[], ${members}::int[], ${created}::text[]::timestamptz[])
        as c (key, block, place, member, created)
      group by key, block
    ), changed as (
      update email_bitmap b set bits = (b.bits | m.added) & ~m.removed, newest = greatest(b.newest, m.newest) from masks m
      where b.business_id = ${businessId} and b.key = m.key and b.block = m.block
      returning b.key, b.block
    )
    insert into email_bitmap (business_id, key, block, bits, newest)
    select ${businessId}, key, block, added, newest from masks where (key, block) not in (select key, block from changed)`
}

/** Sets of a block that nobody was in before and all are created now. */
export const addBlock = (
  db: Db,
  businessId: string,
  block: number,
  sets: readonly { key: string; bits: Buffer }[],
  now: Date,
) => db`
  insert into email_bitmap (business_id, key, block, bits, newest)
  select ${businessId}, key, ${block}::int, bits::bit(8192), case when key = ${everyoneKey} then ${now}::timestamptz end
  from unnest(${sets.map(set => set.key)}::text[], ${sets.map(set => `x${set.bits.toString('hex')}`)}::text[]) as s (key, bits) order by key`

/**
 * Who was engaged at one moment and no longer is at the other, or the reverse, counted as the folded totals know it:
 * as the rows are now, less what the log still holds. One statement, so one snapshot.
 */
export async function moveEngagement(db: Db, businessId: string, move: { from: Date; to: Date }): Promise<void> {
  const forward = move.to > move.from
  const [low, high] = forward ? [move.from, move.to] : [move.to, move.from]
  const since = (moment: Date) => db`${moment}::timestamptz - ${engagedDays} * interval '1 day'`
  await db`
    with moved as (
      select 1 as sign, list_numbers as lists, tag_numbers as tags from email_subscriber
      where business_id = ${businessId} and delete_after is null and status = 'subscribed'
        and engaged_at >= ${since(low)} and engaged_at < ${since(high)}
      union all
      select -1, new_lists, new_tags from email_change
      where business_id = ${businessId} and new_status = 'subscribed' and new_engaged >= ${since(low)} and new_engaged < ${since(high)}
      union all
      select 1, old_lists, old_tags from email_change
      where business_id = ${businessId} and old_status = 'subscribed' and old_engaged >= ${since(low)} and old_engaged < ${since(high)}
    ), sums as (
      select 'all' as kind, 0 as number, sum(sign) as n from moved
      union all select 'list', number, sum(sign) from moved, unnest(lists) number group by number
      union all select 'tag', number, sum(sign) from moved, unnest(tags) number group by number
    )
    update email_count c set engaged = c.engaged + (${forward ? -1 : 1} * sums.n)::int from sums
    where c.business_id = ${businessId} and c.kind = sums.kind and c.number = sums.number and sums.n <> 0`
  await db`update email_fold set engaged_as_of = ${move.to} where business_id = ${businessId}`
}

/** All rows as they are now, less what the log still holds: what the folded totals must say. */
export const recountLeads = (db: Db, businessId: string, rules: { hotFrom: number; coldTo: number }) => db`
  with state as (
    select 1 as sign, lead_score as score, list_numbers as lists, tag_numbers as tags from email_subscriber
    where business_id = ${businessId} and delete_after is null
    union all select -1, new_score, new_lists, new_tags from email_change where business_id = ${businessId} and new_status is not null
    union all select 1, old_score, old_lists, old_tags from email_change where business_id = ${businessId} and old_status is not null
  ), leads as (
    select sign * (score >= ${rules.hotFrom})::int as hot, sign * (score <= ${rules.coldTo})::int as cold, lists, tags from state
  ), sums as (
    select 'all' as kind, 0 as number, sum(hot) as hot, sum(cold) as cold from leads
    union all select 'list', number, sum(hot), sum(cold) from leads, unnest(lists) number group by number
    union all select 'tag', number, sum(hot), sum(cold) from leads, unnest(tags) number group by number
  )
  update email_count c set hot = sums.hot, cold = sums.cold from sums
  where c.business_id = ${businessId} and c.kind = sums.kind and c.number = sums.number`

/** Walks from business to business in the index, so its cost is the number of businesses with changes, not of changes. */
export const businessesWithChanges = (db: Db) => db<{ id: string }[]>`
  with recursive found as (
    (select business_id from email_change order by business_id limit 1)
    union all
    select (select c.business_id from email_change c where c.business_id > found.business_id order by c.business_id limit 1)
    from found where found.business_id is not null
  ) select business_id as id from found where business_id is not null`

export const businessesWithOldEngagement = (db: Db, before: Date) => db<{ id: string }[]>`
  select business_id as id from email_fold where engaged_as_of < ${before} limit 10000`
