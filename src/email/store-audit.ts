import type { Db } from '../platform/database.ts'
import { blockBits, everyoneKey, scoreBase } from './subscribers/bitmaps.ts'
import { engagedSince } from './subscribers/facets.ts'
import { gramLength } from './subscribers/grams.ts'
import { searchText } from './subscribers/store-changes.ts'
import { storedSlots } from './subscribers/store-grams.ts'

export { holdSnapshot } from './subscribers/store-filter.ts'

export const countedFields = [
  'total',
  'subscribed',
  'unsubscribed',
  'bounced',
  'complaint',
  'scoreSum',
  'hot',
  'cold',
  'engaged',
] as const

export const recount = (db: Db, businessId: string, kind: 'all' | 'list' | 'tag', now: Date) => {
  const numbers = {
    all: db`array[0]`,
    list: db`s.list_numbers`,
    tag: db`s.tag_numbers`,
  }[kind]
  return db<({ number: number } & Record<(typeof countedFields)[number], number>)[]>`
    with settings as (
      select coalesce((settings ->> 'hotFrom')::int, 50) as hot, coalesce((settings ->> 'coldTo')::int, 10) as cold
      from (select 1) one left join email_lead_score on business_id = ${businessId}
    )
    select number, count(*)::int as total, count(*) filter (where status = 'subscribed')::int as subscribed,
      count(*) filter (where status = 'unsubscribed')::int as unsubscribed, count(*) filter (where status = 'bounced')::int as bounced,
      count(*) filter (where status = 'complaint')::int as complaint, sum(lead_score)::float8 as "scoreSum",
      count(*) filter (where lead_score >= settings.hot)::int as hot, count(*) filter (where lead_score <= settings.cold)::int as cold,
      count(*) filter (where status = 'subscribed' and engaged_at >= ${engagedSince(now)})::int as engaged
    from email_subscriber s, settings, unnest(${numbers}) number
    where s.business_id = ${businessId} and s.delete_after is null group by number`
}

/** Totals by score as folded, with the changes still in the log, against the rows. */
export const wrongScores = (db: Db, businessId: string) => db<{ score: number; kept: number; counted: number }[]>`
  with part as (
    select number as score, total as kept, 0 as counted from email_count where business_id = ${businessId} and kind = 'score'
    union all select new_score, 1, 0 from email_change where business_id = ${businessId} and new_status is not null
    union all select old_score, -1, 0 from email_change where business_id = ${businessId} and old_status is not null
    union all select lead_score, 0, 1 from email_subscriber where business_id = ${businessId} and delete_after is null
  )
  select score, sum(kept)::int as kept, sum(counted)::int as counted from part group by score having sum(kept) <> sum(counted)`

/** Sets as folded, with the changes still in the log, against the sets that the rows make. */
export const wrongSets = (db: Db, businessId: string) => db<{ key: string; kept: number; counted: number }[]>`
  with side as (
    select 1 as sign, new_status as status, new_score as score, new_lists as lists, new_tags as tags from email_change
    where business_id = ${businessId} and new_status is not null
    union all
    select -1, old_status, old_score, old_lists, old_tags from email_change where business_id = ${businessId} and old_status is not null
  ), row as (
    select 0 as source, 1 as sign, status, lead_score as score, list_numbers as lists, tag_numbers as tags from email_subscriber
    where business_id = ${businessId} and delete_after is null
    union all select 1, sign, status, score, lists, tags from side
  ), member as (
    select source, sign, 'a' as key from row
    union all select source, sign, 's' || status from row
    union all select source, sign, 'l' || n from row, unnest(lists) n
    union all select source, sign, 't' || n from row, unnest(tags) n
    union all select source, sign, 'b' || bit from row, generate_series(0, 31) bit where ((score::bigint + ${scoreBase}::bigint) >> bit) & 1 = 1
  ), expected as (
    select key, coalesce(sum(sign) filter (where source = 0), 0) as counted, coalesce(sum(sign) filter (where source = 1), 0) as logged
    from member group by key
  ), folded as (
    select key, sum(bit_count(bits)) as n from email_bitmap where business_id = ${businessId} group by key
  )
  select key, (coalesce(n, 0) + coalesce(logged, 0))::int as kept, coalesce(counted, 0)::int as counted
  from expected full join folded using (key) where coalesce(n, 0) + coalesce(logged, 0) <> coalesce(counted, 0)`

/** Blocks that have someone, as folded, who is newer than the block is said to be. */
export const wrongNewest = (db: Db, businessId: string) => db<{ block: number; newer: number }[]>`
  select b.block, count(*)::int as newer from email_bitmap b
  join email_subscriber s on s.business_id = b.business_id and s.slot / ${blockBits}::int = b.block and s.delete_after is null
  where b.business_id = ${businessId} and b.key = ${everyoneKey} and s.created_at > b.newest and get_bit(b.bits, s.slot % ${blockBits}::int) = 1
  group by b.block`

/** Slots whose sets are known not to be right yet. */
export const unindexedSlots = async (db: Db, businessId: string) =>
  (
    await db<{ slot: number }[]>`
    select slot from email_change where business_id = ${businessId} and text_changed
    union select slot from email_search_todo where business_id = ${businessId}`
  ).map(row => row.slot)

export const texts = (db: Db, businessId: string, from: number, to: number) => db<{ slot: number; text: string }[]>`
  select s.slot, ${searchText(db, db`s`)} as text from email_subscriber s
  where s.business_id = ${businessId} and s.slot >= ${from} and s.slot < ${to} and s.delete_after is null order by s.slot`

export const lastSlot = async (db: Db, businessId: string) =>
  (
    await db<{ slot: number }[]>`
    select slot from email_subscriber where business_id = ${businessId} order by slot desc limit 1`
  )[0]?.slot ?? -1

export const gramSets = (db: Db, businessId: string) =>
  db<{ gram: string; block: number; slots: Buffer }[]>`
  select gram, block, ${storedSlots(db)} as slots from email_gram where business_id = ${businessId} and length(gram) <= ${gramLength}`.cursor(
    5_000,
  )

export const wordSets = (db: Db, businessId: string) => db<{ gram: string; block: number; slots: Buffer }[]>`
  select gram, block, ${storedSlots(db)} as slots from email_gram where business_id = ${businessId} and length(gram) > ${gramLength}`
