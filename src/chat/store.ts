import type { Business } from '../platform/business.ts'
import { type Db, first } from '../platform/database.ts'

const shards = 8

/** One shard for the whole change: the rows of a change lie together, and parallel writers mostly meet different ones. */
export const addToTallies = (db: Db, businessId: string, deltas: readonly (readonly [string, number])[]) => db`
  insert into chat_tally (business_id, name, shard, count)
  select ${businessId}, name, ${Math.floor(Math.random() * shards)}, delta
  from unnest(${deltas.map(([name]) => name)}::text[], ${deltas.map(([, delta]) => delta)}::int8[]) as change (name, delta)
  on conflict (business_id, name, shard) do update set count = chat_tally.count + excluded.count`

export interface GroupDelta {
  optin: boolean
  source: string
  incomingBlocked: boolean
  tags: readonly string[]
  list: readonly string[]
  delta: number
}

/** Totals and groups of contacts together; in the order of names, so that two writers can't wait for each other in a circle. */
export const countChanges = (
  db: Db,
  businessId: string,
  { totals, groups }: { totals: readonly (readonly [string, number])[]; groups: readonly GroupDelta[] },
) => db`
  with keyed as materialized (
    select chat_group_key(optin, source, "incomingBlocked", tags, list) as key, * from jsonb_to_recordset(
      ${db.json(groups as never)}::jsonb) as x (optin boolean, source text, "incomingBlocked" boolean, tags text[], list text[], delta int)),
  known as (
    insert into chat_group (business_id, key, optin, source, incoming_blocked, tags, list)
    select distinct on (key) ${businessId}, key, optin, source, "incomingBlocked", tags, list from keyed where delta > 0 order by key
    on conflict do nothing)
  insert into chat_tally (business_id, name, shard, count)
  select ${businessId}, name, ${Math.floor(Math.random() * shards)}, sum(delta) from (
    select name, delta from unnest(${totals.map(([name]) => name)}::text[], ${totals.map(([, delta]) => delta)}::int8[]) as change (name, delta)
    union all select 'group:' || key, delta from keyed) counted
  group by name having sum(delta) <> 0 order by name collate "C"
  on conflict (business_id, name, shard) do update set count = chat_tally.count + excluded.count`

export const tally = (db: Db, businessId: string, name: string): Promise<number> =>
  db<{ count: number }[]>`
  select coalesce(sum(count), 0)::float8 as count from chat_tally where business_id = ${businessId} and name = ${name}`.then(
    rows => rows[0]?.count ?? 0,
  )

export const allTallies = (db: Db, businessId: string) => db<{ name: string; count: number }[]>`
  select name, sum(count)::float8 as count from chat_tally where business_id = ${businessId}
  group by name having sum(count) <> 0 order by name`

/** What the tallies must say. */
export const recountTallies = (db: Db, businessId: string) => db<{ name: string; count: number }[]>`
  select name, count(*)::float8 as count from (
    select 'contacts' as name from chat_contact where business_id = ${businessId}
    union all select 'optin:' || optin from chat_contact where business_id = ${businessId}
    union all select 'source:' || source from chat_contact where business_id = ${businessId}
    union all select 'blocked:' || incoming_blocked from chat_contact where business_id = ${businessId}
    union all select 'tag:' || tag from chat_contact, unnest(tags) tag where business_id = ${businessId}
    union all select 'list:' || list_name from chat_contact, unnest(list) list_name where business_id = ${businessId}
    union all select 'group:' || chat_group_key(optin, source, incoming_blocked, tags, list) from chat_contact
      where business_id = ${businessId}
    union all select 'conversations' from chat_conversation where business_id = ${businessId}
  ) counted group by name order by name`

/** Work that begins with a row of ours finds its business by this. */
export const businessById = (db: Db, id: string) =>
  db<Business[]>`
  select id, user_id as "userId", name, time_zone as "timeZone", currency, test_mode as "testMode"
  from account_business where id = ${id}`.then(first)
