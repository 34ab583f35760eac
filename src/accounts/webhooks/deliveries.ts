import type { Database, Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { badRequest, fail, notFound, unprocessable } from '../../platform/problem.ts'
import { type Catalogue, checkTypes } from '../events/catalogue.ts'
import { publish } from '../events/publish.ts'
import type { Delivery } from './schema.ts'
import { send } from './send.ts'
import { bodyOf } from './sign.ts'
import type { EndpointRow } from './store.ts'
import * as store from './store-deliveries.ts'
import { getEndpoint, type Tools, targetOf } from './webhooks.ts'

/** What became of each event at one endpoint, newest event first. */
export async function listDeliveries(
  db: Db,
  businessId: string,
  endpointId: string,
  options: { after: string | undefined; limit: number; state: string | undefined },
): Promise<{ deliveries: Delivery[]; nextCursor: string | null }> {
  const endpoint = await getEndpoint(db, businessId, endpointId)
  const { after, limit, state } = options
  const rows = await store.deliveriesOf(db, businessId, endpointId, { before: after, limit: limit + 1, state })
  const shown = rows.slice(0, limit)
  return {
    deliveries: shown.map(row => toDelivery(endpoint, row)),
    nextCursor: rows.length > limit ? (shown.at(-1)?.eventId ?? null) : null,
  }
}

/** The signature is left out: it can be made again by whoever has the secret, and by no one else. */
function toDelivery(endpoint: EndpointRow, row: store.DeliveryRow): Delivery {
  return {
    eventId: row.eventId,
    eventType: row.eventType,
    state: row.state,
    test: row.testBody !== null,
    attempts: row.attempts,
    createdAt: row.createdAt,
    lastAttemptAt: row.lastAttemptAt,
    nextAttemptAt: row.state === 'waiting' && endpoint.state === 'enabled' ? row.nextAttemptAt : null,
    request: {
      url: endpoint.url,
      headers: {
        'content-type': 'application/json',
        'webhook-id': row.eventId,
        ...(row.lastAttemptAt && { 'webhook-timestamp': String(Math.floor(row.lastAttemptAt.getTime() / 1000)) }),
      },
      body: row.testBody ?? eventBody(row),
    },
    answer: {
      status: row.lastStatus,
      body: row.lastAnswer,
      error: row.lastError,
      durationMs: row.lastDurationMs,
    },
    history: row.history,
  }
}

function eventBody({ eventType, source, dataText, eventCreatedAt }: store.DeliveryRow): string | null {
  if (source === null || dataText === null || eventCreatedAt === null) return null
  return bodyOf({ type: eventType, source, dataText, createdAt: eventCreatedAt })
}

/** Sends events again: one, or all since a time. They go out in the order of the feed, with the ids they had. */
export async function replay(
  db: Database,
  businessId: string,
  endpointId: string,
  options: { eventId?: string; since?: Date; testMode: boolean; now: Date },
): Promise<{ queued: number }> {
  const { eventId, since, testMode, now } = options
  if ((eventId === undefined) === (since === undefined))
    throw badRequest('validation_failed', 'Give either eventId or since.', [
      { field: 'eventId', message: 'or since is required, not both' },
    ])
  const endpoint = await getEndpoint(db, businessId, endpointId)
  if (endpoint.state === 'disabled')
    throw unprocessable('webhook_disabled', 'This endpoint is disabled; enable it before you replay events.')
  await publish(db, [businessId], now)
  if (eventId !== undefined && !(await store.findEvent(db, businessId, eventId))) throw notFound('Event')
  return db.begin(async tx => {
    const queued = await store.queueAgain(tx, businessId, endpoint, {
      ...(eventId !== undefined && { eventId }),
      ...(since && { since, ...(!testMode && { fromId: idBefore(since) }) }),
      now,
    })
    await store.wakeEndpoint(tx, businessId, endpointId, now)
    return { queued: queued.count }
  })
}

const hour = 3_600_000
/** An id that is smaller than all made after the time, an hour allowed for clocks that differ. */
export const idBefore = (time: Date) =>
  Math.max(0, Math.floor((time.getTime() - hour) / 1_000))
    .toString(16)
    .padStart(8, '0')

/** Sends an example at once and tells what the receiver answered. It is tried once, and kept among the deliveries. */
export async function testEndpoint(
  db: Db,
  businessId: string,
  endpointId: string,
  { type, tools, catalogue, now }: { type: string; tools: Tools; catalogue: Catalogue; now: Date },
): Promise<Delivery> {
  checkTypes(catalogue, [type], 'type')
  const endpoint = await getEndpoint(db, businessId, endpointId)
  const entry = catalogue().find(one => one.type === type) ?? fail(notFound('Event type'))
  const eventId = newId()
  const body = bodyOf({ type, source: 'api', dataText: JSON.stringify(entry.example), createdAt: now })
  const outcome = await send(tools.outbound, targetOf(tools.secrets, endpoint, now), { id: eventId, body }, { at: now })
  const { status, answer, error, durationMs, succeeded } = outcome
  await store.insertTestDelivery(db, businessId, endpointId, {
    eventId,
    eventType: type,
    body,
    state: succeeded ? 'delivered' : 'failed',
    status,
    answer,
    error,
    durationMs,
    at: now,
    attempt: { at: now.toISOString(), status, error, durationMs },
  })
  const [row] = await store.deliveriesOf(db, businessId, endpointId, {
    before: `${eventId}~`,
    limit: 1,
    state: undefined,
  })
  return toDelivery(endpoint, row ?? fail(notFound('Webhook')))
}
