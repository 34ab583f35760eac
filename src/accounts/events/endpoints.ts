import { Type } from 'typebox'
import { endpoint, Raw } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { invalidField } from '../../platform/problem.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { hashKey } from '../keys.ts'
import type { Catalogue } from './catalogue.ts'
import { readFeed, readTypes } from './feed.ts'
import { Cursor, EventPageSchema, EventTypeSchema, TypesInQuery } from './schema.ts'
import { createEventStreams } from './stream.ts'

export const listEvents = (catalogue: Catalogue) =>
  endpoint({
    summary: 'Events after a cursor, oldest first',
    description:
      'Keep nextCursor and give it as after: nothing is missed, nothing comes twice. Events are kept for 30 days.',
    query: Type.Object({
      after: Type.Optional(Cursor),
      types: Type.Optional(TypesInQuery),
      limit: PageQuery.limit,
    }),
    answer: envelope(EventPageSchema),
    run: async ({ db, business, query }) =>
      ok(
        'Events',
        await readFeed(db, business.id, {
          after: BigInt(query.after ?? 0),
          limit: pageRequest(query, 100).limit,
          types: readTypes(catalogue, query.types),
        }),
      ),
  })

export const listEventTypes = (catalogue: Catalogue) =>
  endpoint({
    summary: 'The catalogue: every type of event, with the schema of its data and an example',
    answer: envelope(Type.Object({ types: Type.Array(EventTypeSchema) })),
    run: async () =>
      ok('Event types', {
        types: catalogue().map(({ type, service, summary, data, example }) => ({
          type,
          service,
          summary,
          schema: data as unknown as Record<string, unknown>,
          example: example as Record<string, unknown>,
        })),
      }),
  })

export const streamEvents = (catalogue: Catalogue) => {
  const streams = createEventStreams()
  return endpoint({
    summary: 'Live stream of events (server-sent events)',
    description:
      'Begins after Last-Event-ID or after, else with what happens from now on. Reconnect with Last-Event-ID to go on without a gap.',
    query: Type.Object({ after: Type.Optional(Cursor), types: Type.Optional(TypesInQuery) }),
    run: async ({ platform, business, query, headers }) => {
      const resumed = headers['last-event-id']
      if (resumed !== undefined && !/^[0-9]{1,18}$/.test(String(resumed)))
        throw invalidField('Last-Event-ID', 'must be the id of an event of this stream')
      const after = resumed ?? query.after
      const body = await streams.open(platform, {
        businessId: business.id,
        keyHash: hashKey(String(headers.authorization).split(/ +/)[1] ?? ''),
        after: after === undefined ? undefined : BigInt(String(after)),
        types: readTypes(catalogue, query.types),
      })
      return new Raw('text/event-stream', body, {
        headers: { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' },
      })
    },
  })
}
