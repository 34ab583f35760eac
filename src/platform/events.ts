import type { TSchema } from 'typebox'
import { type Fragment, sendAlong, type Tx } from './database.ts'
import { newIds } from './ids.ts'

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
  /** `data` in JSON, where the caller has it: who tells thousands at once puts them together from parts */
  json?: string
  /** a word in `data` for what only the database knows yet, such as a number that this transaction takes, and what answers it there */
  fill?: { word: string; by: Fragment }
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

/** An event that a part of the program itself acts on. */
export interface ToldEvent {
  businessId: string
  id: string
  type: string
  data: Record<string, unknown>
  createdAt: Date
}

/**
 * What a service does when another has told something, by type of event. Each event is acted on once, in a transaction of
 * its own that also strikes it off the list; one that fails is logged and left out, so that it holds up no other.
 */
export type Reactions = Record<string, (tx: Tx, event: ToldEvent) => Promise<void>>

/**
 * Writes to the outbox in the caller's transaction: an event exists exactly when the change it tells is committed.
 * One insert, whatever the number of events and of endpoints; who gets them is found out later, by `publish`.
 *
 * Emit after the change of the row the event is about: its lock then orders `seq` as the changes were made.
 */
export async function emit(tx: Tx, ...events: NewEvent[]): Promise<void> {
  if (events.length === 0) return
  const ids = newIds(events.length)
  const now = new Date()
  const jsonOf = (event: NewEvent) => event.json ?? JSON.stringify(event.data)
  const fills = events.flatMap(event => event.fill ?? [])
  const filled = (json: string) =>
    fills.reduce((text, { word, by }) => tx`replace(${text}, ${word}, (${by}))`, tx`${json}::text`)
  if (events.length === 1) {
    const { businessId, type, source, objectId, at = now } = events[0]!
    return sendAlong(
      tx,
      tx`
      insert into event (business_id, id, type, source, object_id, data, created_at)
      values (${businessId}, ${ids[0]!}, ${type}, ${source}, ${objectId}, ${filled(jsonOf(events[0]!))}::json, ${at})`,
    )
  }
  const column = (of: (event: NewEvent) => string) => events.map(of)
  await sendAlong(
    tx,
    tx`
    insert into event (business_id, id, type, source, object_id, data, created_at)
    select * from unnest(${column(event => event.businessId)}::text[], ${ids}::text[], ${column(event => event.type)}::text[],
      ${column(event => event.source)}::text[], ${column(event => event.objectId)}::text[],
      string_to_array(${filled(column(jsonOf).join('\n'))}, E'\n')::json[],
      ${column(event => (event.at ?? now).toISOString())}::text[]::timestamptz[])`,
  )
}
