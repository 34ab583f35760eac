import type { Db, Tx } from '../../platform/database.ts'
import type { EndpointRow } from './store.ts'
import type { Attempt } from './store-deliveries.ts'

/** What the deliverer reads and writes, always for many endpoints at once. */

export interface EndpointKey {
  businessId: string
  endpointId: string
}

export interface ClaimedRow extends EndpointKey {
  failures: number
  failingSince: Date | null
}

export interface DueRow extends EndpointKey {
  eventId: string
  position: bigint
  objectId: string
  attempts: number
  firstAttemptAt: Date | null
  type: string
  source: string | null
  dataText: string | null
  createdAt: Date | null
  /** the waiting delivery just before it of the same object, if there is one: until it is done, this one must wait */
  previousId: string | null
  previousAt: Date | null
}

export interface ResultRow extends EndpointKey {
  eventId: string
  state: 'waiting' | 'delivered' | 'failed'
  nextAttemptAt: Date | null
  at: Date
  status: number | null
  answer: string | null
  error: string | null
  durationMs: number
}

export interface HealthRow extends EndpointKey {
  failures: number
  failingSince: Date | null
  pausedUntil: Date | null
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
}

const keyColumns = (keys: readonly EndpointKey[]) =>
  [keys.map(key => key.businessId), keys.map(key => key.endpointId)] as const

/**
 * Takes endpoints with something due; `failing` chooses between those that fail and those that don't, so that the
 * former never use up the room of the latter. Leases go by the database's clock, which all processes share.
 */
export const claimDue = (
  db: Db,
  options: { leaseId: string; leaseSeconds: number; now: Date; limit: number; failing: boolean },
) => db<ClaimedRow[]>`
  with due as (
    select business_id, endpoint_id from account_webhook_work
    where due_at <= ${options.now} and (leased_until is null or leased_until < now())
      and ${options.failing ? db`failures > 0` : db`failures = 0`}
    order by due_at limit ${options.limit} for update skip locked)
  update account_webhook_work work
  set lease_id = ${options.leaseId}, leased_until = now() + ${options.leaseSeconds} * interval '1 second'
  from due where work.business_id = due.business_id and work.endpoint_id = due.endpoint_id
  returning work.business_id as "businessId", work.endpoint_id as "endpointId", work.failures,
    work.failing_since as "failingSince"`

/** Answers those that are still ours. */
export const extendLeases = (db: Db, options: { leaseId: string; leaseSeconds: number }) => db<EndpointKey[]>`
  with held as (
    select business_id, endpoint_id from account_webhook_work where lease_id = ${options.leaseId}
    order by business_id, endpoint_id for update)
  update account_webhook_work work set leased_until = now() + ${options.leaseSeconds} * interval '1 second'
  from held where work.business_id = held.business_id and work.endpoint_id = held.endpoint_id
  returning work.business_id as "businessId", work.endpoint_id as "endpointId"`

export const enabledEndpoints = (db: Db, keys: readonly EndpointKey[]) => {
  const [businessIds, endpointIds] = keyColumns(keys)
  return db<EndpointRow[]>`
    select endpoint.business_id as "businessId", endpoint.id, endpoint.url, endpoint.secret,
      endpoint.previous_secret as "previousSecret", endpoint.previous_secret_until as "previousSecretUntil",
      endpoint.username, endpoint.password
    from unnest(${businessIds}::text[], ${endpointIds}::text[]) as asked (business_id, id)
    join account_webhook endpoint on endpoint.business_id = asked.business_id and endpoint.id = asked.id
    where endpoint.state = 'enabled'`
}

/** Deliveries that are due, for each endpoint as many as it has room for, without those it already holds. */
export const dueDeliveries = (
  db: Db,
  asked: readonly (EndpointKey & { room: number })[],
  options: { now: Date; held: readonly string[] },
) => {
  const [businessIds, endpointIds] = keyColumns(asked)
  return db<DueRow[]>`
    select due.business_id as "businessId", due.endpoint_id as "endpointId", due.event_id as "eventId", due.position,
      due.object_id as "objectId", due.attempts, due.first_attempt_at as "firstAttemptAt", due.event_type as type,
      event.source, event.data::text as "dataText", event.created_at as "createdAt",
      previous.event_id as "previousId", previous.next_attempt_at as "previousAt"
    from unnest(${businessIds}::text[], ${endpointIds}::text[], ${asked.map(one => one.room)}::int[])
      as asked (business_id, endpoint_id, room)
    cross join lateral (
      select * from account_webhook_delivery delivery
      where delivery.business_id = asked.business_id and delivery.endpoint_id = asked.endpoint_id
        and delivery.state = 'waiting' and delivery.next_attempt_at <= ${options.now}
        and delivery.event_id <> all(${options.held}::text[])
      order by delivery.next_attempt_at, delivery.position limit asked.room) due
    left join lateral (
      select event_id, next_attempt_at from account_webhook_delivery earlier
      where earlier.business_id = due.business_id and earlier.endpoint_id = due.endpoint_id
        and earlier.object_id = due.object_id and earlier.state = 'waiting' and earlier.position < due.position
      order by earlier.position desc limit 1) previous on true
    left join event on event.business_id = due.business_id and event.id = due.event_id
    order by due.position`
}

/** Writes what came of attempts. A delivery that was replayed or settled meanwhile by another process keeps its state. */
export const writeResults = (db: Db, results: readonly ResultRow[]) => db`
  update account_webhook_delivery delivery
  set state = result.state, next_attempt_at = result."nextAttemptAt", attempts = delivery.attempts + 1,
      first_attempt_at = coalesce(delivery.first_attempt_at, result.at), last_attempt_at = result.at,
      last_status = result.status, last_answer = result.answer, last_error = result.error,
      last_duration_ms = result."durationMs", history = delivery.history || result.attempt
  from json_to_recordset(${JSON.stringify(results.map(withAttempt))}::text::json) as result (
    "businessId" text, "endpointId" text, "eventId" text, state text, "nextAttemptAt" timestamptz, at timestamptz,
    status int, answer text, error text, "durationMs" int, attempt jsonb)
  where delivery.business_id = result."businessId" and delivery.endpoint_id = result."endpointId"
    and delivery.event_id = result."eventId" and delivery.state = 'waiting'`

const withAttempt = (result: ResultRow) => {
  const { at, status, error, durationMs } = result
  return { ...result, attempt: { at: at.toISOString(), status, error, durationMs } satisfies Attempt }
}

/** Later events of an object stand back until the earlier one is due again. */
export const standBack = (db: Db, rows: readonly (EndpointKey & { eventId: string; until: Date })[]) => db`
  update account_webhook_delivery delivery set next_attempt_at = row.until
  from json_to_recordset(${JSON.stringify(rows)}::text::json)
    as row ("businessId" text, "endpointId" text, "eventId" text, until timestamptz)
  where delivery.business_id = row."businessId" and delivery.endpoint_id = row."endpointId"
    and delivery.event_id = row."eventId" and delivery.state = 'waiting'`

/** An endpoint is back: whatever waits for it need not wait longer. */
export const hurryWaiting = (db: Db, key: EndpointKey, now: Date) => db`
  update account_webhook_delivery set next_attempt_at = ${now}
  where business_id = ${key.businessId} and endpoint_id = ${key.endpointId} and state = 'waiting'
    and next_attempt_at > ${now}`

export const lockWork = (tx: Tx, keys: readonly EndpointKey[], leaseId: string) => {
  const [businessIds, endpointIds] = keyColumns(keys)
  return tx`
    select 1 from account_webhook_work
    where (business_id, endpoint_id) in (select * from unnest(${businessIds}::text[], ${endpointIds}::text[]))
      and lease_id = ${leaseId}
    order by business_id, endpoint_id for update`
}

/**
 * Keeps what was seen of the endpoints; with `release`, gives them back and says when they are due next. That is read
 * after the lock was taken (`lockWork`, a statement of its own), so that an event queued meanwhile is not overlooked.
 */
export const writeHealth = (tx: Tx, rows: readonly HealthRow[], options: { leaseId: string; release: boolean }) => tx`
  update account_webhook_work work
  set failures = row.failures, failing_since = row."failingSince", paused_until = row."pausedUntil",
      last_success_at = coalesce(row."lastSuccessAt", work.last_success_at),
      last_failure_at = coalesce(row."lastFailureAt", work.last_failure_at)
      ${
        options.release
          ? tx`, lease_id = null, leased_until = null, due_at = (
              select greatest(delivery.next_attempt_at, row."pausedUntil") from account_webhook_delivery delivery
              join account_webhook endpoint on endpoint.business_id = delivery.business_id
                and endpoint.id = delivery.endpoint_id and endpoint.state = 'enabled'
              where delivery.business_id = work.business_id and delivery.endpoint_id = work.endpoint_id
                and delivery.state = 'waiting'
              order by delivery.next_attempt_at limit 1)`
          : tx``
      }
  from json_to_recordset(${JSON.stringify(rows)}::text::json) as row (
    "businessId" text, "endpointId" text, failures int, "failingSince" timestamptz, "pausedUntil" timestamptz,
    "lastSuccessAt" timestamptz, "lastFailureAt" timestamptz)
  where work.business_id = row."businessId" and work.endpoint_id = row."endpointId" and work.lease_id = ${options.leaseId}`
