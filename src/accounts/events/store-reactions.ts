import type { Db, Tx } from '../../platform/database.ts'
import type { ToldEvent } from '../../platform/events.ts'

export const knowTypes = (db: Db, types: readonly string[]) => db`
  insert into event_reaction_type (type) select * from unnest(${types}::text[]) on conflict do nothing`

/** Jumps from business to business along the key, so that a long list of one costs nothing. */
export const businessesWithReactions = (db: Db, limit: number) => db<{ businessId: string }[]>`
  with recursive waiting (business_id) as (
    (select business_id from event_reaction order by business_id limit 1)
    union all
    select (select business_id from event_reaction where business_id > waiting.business_id order by business_id limit 1)
    from waiting where waiting.business_id is not null
  )
  select business_id as "businessId" from waiting where business_id is not null limit ${limit}`

/** Takes the next ones off the list, oldest first; those of types that only another copy of the program knows stay. */
export const takeReactions = (tx: Tx, businessId: string, options: { limit: number; types: readonly string[] }) => tx<
  ToldEvent[]
>`
  with taken as (
    select waiting.position from event_reaction waiting
    join event on event.business_id = waiting.business_id and event.id = waiting.event_id
    where waiting.business_id = ${businessId} and event.type = any(${options.types}::text[])
    order by waiting.position limit ${options.limit} for update of waiting skip locked
  ), gone as (
    delete from event_reaction where business_id = ${businessId} and position in (select position from taken)
    returning event_id
  )
  select event.business_id as "businessId", event.id, event.type, event.data, event.created_at as "createdAt"
  from gone join event on event.business_id = ${businessId} and event.id = gone.event_id order by event.position`

export const deleteOldReactions = (db: Db, businessId: string, options: { before: string; limit: number }) => db`
  delete from event_reaction where business_id = ${businessId} and position in (
    select position from event_reaction where business_id = ${businessId} and event_id < ${options.before}
    limit ${options.limit})`
