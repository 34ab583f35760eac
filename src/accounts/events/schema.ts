import { Type } from 'typebox'
import { AnyObject, Id } from '../../platform/schema.ts'

export const Cursor = Type.String({
  pattern: '^[0-9]{1,18}$',
  patternMessage: 'must be a cursor that an answer gave',
  description: 'place in the feed',
})

/** Comma-separated or repeated, as arrays in a query are. */
export const TypesInQuery = Type.Array(Type.String({ minLength: 1, maxLength: 4_000 }), {
  maxItems: 200,
  description: 'event types, comma-separated; all when omitted',
})

export const EventSchema = Type.Object({
  id: Id,
  cursor: Type.String({ description: 'place in the feed; ask for what comes after it' }),
  event_type: Type.String(),
  event_source: Type.String(),
  data: AnyObject,
  create_time: Type.String({ description: 'ISO 8601 with the offset +00:00' }),
})

export const EventPageSchema = Type.Object({
  events: Type.Array(EventSchema),
  nextCursor: Type.String({ description: 'give it as after to go on; it stays the same while nothing new happened' }),
  hasMore: Type.Boolean(),
})

export const EventTypeSchema = Type.Object({
  type: Type.String(),
  service: Type.String(),
  summary: Type.String(),
  schema: AnyObject,
  example: AnyObject,
})
