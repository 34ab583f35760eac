import { type Db, first } from '../../platform/database.ts'

export interface DeliveryRow {
  eventId: string
  eventType: string
  state: 'waiting' | 'delivered' | 'failed'
  attempts: number
  nextAttemptAt: Date | null
  lastAttemptAt: Date | null
  lastStatus: number | null
  lastAnswer: string | null
  lastError: string | null
  lastDurationMs: number | null
  history: Attempt[]
  testBody: string | null
  createdAt: Date
  /** of the event; null when it is no longer kept */
  source: string | null
  dataText: string | null
  eventCreatedAt: Date | null
}

export interface Attempt {
  at: string
  status: number | null
  error: string | null
  durationMs: number
}

/** Newest event first; event ids begin with the time they were made. */
export const deliveriesOf = (
  db: Db,
  businessId: string,
  endpointId: string,
  options: { before: string | undefined; limit: number; state: string | undefined },
) => db<DeliveryRow[]>`
  select delivery.event_id as "eventId", delivery.event_type as "eventType", delivery.state, delivery.attempts,
    delivery.next_attempt_at as "nextAttemptAt", delivery.last_attempt_at as "lastAttemptAt",
    delivery.last_status as "lastStatus", delivery.last_answer as "lastAnswer", delivery.last_error as "lastError",
    delivery.last_duration_ms as "lastDurationMs", delivery.history, delivery.test_body as "testBody",
    delivery.created_at as "createdAt", event.source, event.data::text as "dataText", event.created_at as "eventCreatedAt"
  from account_webhook_delivery delivery
  left join event on event.business_id = delivery.business_id and event.id = delivery.event_id
  where delivery.business_id = ${businessId} and delivery.endpoint_id = ${endpointId}
    ${options.before ? db`and delivery.event_id < ${options.before}` : db``}
    ${options.state ? db`and delivery.state = ${options.state}` : db``}
  order by delivery.event_id desc limit ${options.limit}`

export const findEvent = (db: Db, businessId: string, eventId: string) =>
  db<{ id: string }[]>`
  select id from event where business_id = ${businessId} and id = ${eventId} and position is not null`.then(first)

/**
 * Queues events again for one endpoint, delivered before or not; answers how many. `since` is the time the event
 * tells; `fromId`, where given, is an id older than every event of that time, and spares reading older ones.
 */
export const queueAgain = (
  db: Db,
  businessId: string,
  endpoint: { id: string; types: readonly string[] },
  options: { eventId?: string; since?: Date; fromId?: string; now: Date },
) => db`
  insert into account_webhook_delivery
    (business_id, endpoint_id, event_id, event_type, position, object_id, next_attempt_at, created_at)
  select business_id, ${endpoint.id}, id, type, position, object_id, ${options.now}, ${options.now}
  from event where business_id = ${businessId} and position is not null
    ${options.eventId === undefined ? db`and (type = any(${endpoint.types}::text[]) or '*' = any(${endpoint.types}::text[]))` : db`and id = ${options.eventId}`}
    ${options.since ? db`and created_at >= ${options.since}` : db``}
    ${options.fromId ? db`and id >= ${options.fromId}` : db``}
  order by position
  on conflict (business_id, endpoint_id, event_id) do update
    set state = 'waiting', next_attempt_at = ${options.now}, first_attempt_at = null`

export const wakeEndpoint = (db: Db, businessId: string, endpointId: string, now: Date) => db`
  update account_webhook_work set due_at = least(due_at, greatest(${now}::timestamptz, paused_until))
  where business_id = ${businessId} and endpoint_id = ${endpointId}`

export const insertTestDelivery = (
  db: Db,
  businessId: string,
  endpointId: string,
  test: {
    eventId: string
    eventType: string
    body: string
    state: 'delivered' | 'failed'
    status: number | null
    answer: string | null
    error: string | null
    durationMs: number
    at: Date
    attempt: Attempt
  },
) => db`
  insert into account_webhook_delivery
    (business_id, endpoint_id, event_id, event_type, position, object_id, state, attempts, first_attempt_at,
     last_attempt_at, last_status, last_answer, last_error, last_duration_ms, history, test_body, created_at)
  values (${businessId}, ${endpointId}, ${test.eventId}, ${test.eventType}, 0, ${test.eventId}, ${test.state}, 1, ${test.at},
    ${test.at}, ${test.status}, ${test.answer}, ${test.error}, ${test.durationMs},
    ${JSON.stringify([test.attempt])}::text::jsonb, ${test.body}, ${test.at})`

/** History older than the id; what still waits for an enabled endpoint is kept. */
export const deleteOldDeliveries = (db: Db, businessId: string, options: { before: string; limit: number }) => db`
  delete from account_webhook_delivery delivery using (
    select business_id, endpoint_id, event_id from account_webhook_delivery old
    where business_id = ${businessId} and event_id < ${options.before}
      and not (state = 'waiting' and exists (
        select 1 from account_webhook endpoint
        where endpoint.business_id = old.business_id and endpoint.id = old.endpoint_id and endpoint.state = 'enabled'))
    limit ${options.limit}) gone
  where delivery.business_id = gone.business_id and delivery.endpoint_id = gone.endpoint_id and delivery.event_id = gone.event_id`
