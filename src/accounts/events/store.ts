import type { Db, Tx } from '../../platform/database.ts'

export interface EventRow {
  id: string
  position: bigint
  type: string
  source: string
  data: Record<string, unknown>
  createdAt: Date
}

const eventColumns = (db: Db) => db`id, position, type, source, data, created_at as "createdAt"`

/** Jumps from business to business along the index of unplaced events, so that a long backlog of one costs nothing. */
export const businessesWithFreshEvents = (db: Db, options: { after: string; limit: number }) => db<
  { businessId: string }[]
>`
  with recursive fresh (business_id) as (
    (select business_id from event where position is null and business_id > ${options.after} order by business_id limit 1)
    union all
    select (select business_id from event where position is null and business_id > fresh.business_id
            order by business_id limit 1)
    from fresh where fresh.business_id is not null
  )
  select business_id as "businessId" from fresh where business_id is not null limit ${options.limit}`

export const withFreshEvents = (db: Db, businessIds: readonly string[]) => db<{ businessId: string }[]>`
  select asked.id as "businessId" from unnest(${businessIds}::text[]) asked (id)
  where exists (select 1 from event where business_id = asked.id and position is null)`

export const openStreams = (db: Db, businessIds: readonly string[]) => db`
  insert into event_stream (business_id) select id from unnest(${businessIds}::text[]) id order by id
  on conflict do nothing`

/** Whoever holds the lock of a stream places its events; `wait` for those who need the result. */
export const lockStreams = (tx: Tx, businessIds: readonly string[], options: { wait: boolean }) => tx<
  { businessId: string; lastPosition: bigint }[]
>`
  select business_id as "businessId", last_position as "lastPosition" from event_stream
  where business_id = any(${businessIds}::text[]) order by business_id
  for update ${options.wait ? tx`` : tx`skip locked`}`

/**
 * Gives fresh events their places, and a delivery to each enabled endpoint that wants them. One statement, so that an
 * event is in the feed exactly when its deliveries exist.
 */
export const placeEvents = (
  tx: Tx,
  streams: readonly { businessId: string; lastPosition: bigint }[],
  options: { now: Date; perBusiness: number },
) => tx<{ placed: number; queued: number }[]>`
  with fresh as materialized (
    select stream.business_id, event.id,
      stream.last_position + row_number() over (partition by stream.business_id order by event.seq) as position
    from unnest(${streams.map(one => one.businessId)}::text[], ${streams.map(one => String(one.lastPosition))}::int8[])
      as stream (business_id, last_position)
    cross join lateral (
      select id, seq from event where business_id = stream.business_id and position is null
      order by seq limit ${options.perBusiness}) event
  ), placed as (
    update event set position = fresh.position from fresh
    where event.business_id = fresh.business_id and event.id = fresh.id
    returning event.business_id, event.id, event.type, event.object_id, event.position
  ), followed as (
    insert into event_reaction (business_id, position, event_id)
    select placed.business_id, placed.position, placed.id from placed join event_reaction_type using (type)
  ), moved as (
    update event_stream set last_position = top.position
    from (select business_id, max(position) as position from fresh group by business_id) top
    where event_stream.business_id = top.business_id
  ), queued as (
    insert into account_webhook_delivery
      (business_id, endpoint_id, event_id, event_type, position, object_id, next_attempt_at, created_at)
    select placed.business_id, endpoint.id, placed.id, placed.type, placed.position, placed.object_id, ${options.now}, ${options.now}
    from placed join account_webhook endpoint on endpoint.business_id = placed.business_id and endpoint.state = 'enabled'
      and (placed.type = any(endpoint.types) or '*' = any(endpoint.types))
    returning business_id, endpoint_id
  ), woken as (
    update account_webhook_work work
    set due_at = least(work.due_at, greatest(${options.now}::timestamptz, work.paused_until))
    from (select business_id, endpoint_id from account_webhook_work
          where (business_id, endpoint_id) in (select business_id, endpoint_id from queued)
          order by business_id, endpoint_id for update) as found
    where work.business_id = found.business_id and work.endpoint_id = found.endpoint_id
  )
  select (select count(*)::int from fresh) as placed, (select count(*)::int from queued) as queued`

export const eventsAfter = (db: Db, businessId: string, options: { after: bigint; limit: number }) => db<EventRow[]>`
  select ${eventColumns(db)} from event where business_id = ${businessId} and position > ${options.after}
  order by position limit ${options.limit}`

/** Each type is read along its own index, so that a rare one is found without reading past all others. */
export const eventsOfTypesAfter = (
  db: Db,
  businessId: string,
  options: { after: bigint; limit: number; types: readonly string[] },
) => db<EventRow[]>`
  select found.* from unnest(${options.types}::text[]) wanted (type)
  cross join lateral (
    select ${eventColumns(db)} from event
    where business_id = ${businessId} and type = wanted.type and position > ${options.after}
    order by position limit ${options.limit}) found
  order by found.position limit ${options.limit}`

export const lastPositions = (db: Db, businessIds: readonly string[]) => db<
  { businessId: string; lastPosition: bigint }[]
>`
  select business_id as "businessId", last_position as "lastPosition" from event_stream
  where business_id = any(${businessIds}::text[])`

/** Events older than the id, which begins with the time it was made; but none that an endpoint still waits for. */
export const deleteOldEvents = (db: Db, businessId: string, options: { before: string; limit: number }) => db`
  delete from event where business_id = ${businessId} and id in (
    select id from event where business_id = ${businessId} and id < ${options.before} and position is not null
      and id not in (
        select event_id from account_webhook_delivery
        where business_id = ${businessId} and state = 'waiting' and event_id < ${options.before})
    limit ${options.limit})`

export const allBusinessIds = (db: Db) => db<{ id: string }[]>`select id from account_business order by id`
