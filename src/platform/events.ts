import type { TSchema } from 'typebox'
import type { Tx } from './database.ts'
import { newId } from './ids.ts'

/** Who caused it: a person on a page, the passing of time, a call of the API, the dashboard, or the outside world telling us. */
export type EventSource = 'checkout' | 'scheduler' | 'api' | 'dashboard' | 'channel'

export interface NewEvent {
  businessId: string
  /** snake case, for example subscriber_create; the catalogue in docs lists them all */
  type: string
  source: EventSource
  /** the object the event is about: deliveries of one object keep their order */
  objectId: string
  /** the resource as its API shows it */
  data: object
  at?: Date
}

/** A line of the catalogue that the reference page and the webhook endpoints show. */
export interface EventType {
  type: string
  summary: string
  /** shape of `data` */
  data: TSchema
  example: object
}

/** Writes to the outbox in the caller's transaction: an event exists exactly when the change it tells is committed. */
export async function emit(tx: Tx, ...events: NewEvent[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(event => ({
    business_id: event.businessId,
    id: newId(),
    type: event.type,
    source: event.source,
    object_id: event.objectId,
    data: tx.json(event.data as never),
    created_at: event.at ?? new Date(),
  }))
  await tx`insert into event ${tx(rows)}`
}
