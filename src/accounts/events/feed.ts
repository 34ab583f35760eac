import type { Database } from '../../platform/database.ts'
import { type Catalogue, checkTypes } from './catalogue.ts'
import { publish } from './publish.ts'
import * as store from './store.ts'

/** An event as consumers see it, in the feed and in the stream. */
export interface FeedEvent {
  id: string
  cursor: string
  event_type: string
  event_source: string
  data: Record<string, unknown>
  create_time: string
}

export interface FeedPage {
  events: FeedEvent[]
  nextCursor: string
  hasMore: boolean
}

/** Offset instead of Z, as the reference has it. */
export const createTime = (at: Date) => at.toISOString().replace('Z', '+00:00')

export const toFeedEvent = (row: store.EventRow): FeedEvent => ({
  id: row.id,
  cursor: String(row.position),
  event_type: row.type,
  event_source: row.source,
  data: row.data,
  create_time: createTime(row.createdAt),
})

/** What happened after the cursor, in order; a consumer that follows `nextCursor` misses nothing. */
export async function readFeed(
  db: Database,
  businessId: string,
  options: { after: bigint; limit: number; types: readonly string[] | undefined },
): Promise<FeedPage> {
  await publish(db, [businessId], new Date())
  const { after, limit, types } = options
  const wanted = { after, limit: limit + 1 }
  const found = types
    ? await store.eventsOfTypesAfter(db, businessId, { ...wanted, types })
    : await store.eventsAfter(db, businessId, wanted)
  const events = found.slice(0, limit).map(toFeedEvent)
  return { events, nextCursor: events.at(-1)?.cursor ?? String(after), hasMore: found.length > limit }
}

/** `a,b` and `a`, `b` as one list; undefined for all. */
export function readTypes(catalogue: Catalogue, given: string[] | undefined): readonly string[] | undefined {
  if (given === undefined) return undefined
  const types = given
    .flatMap(text => text.split(','))
    .map(type => type.trim())
    .filter(type => type !== '')
  checkTypes(catalogue, types, 'types')
  return types.length === 0 || types.includes('*') ? undefined : [...new Set(types)]
}
