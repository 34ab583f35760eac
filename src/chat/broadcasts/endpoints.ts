import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { IdInPath } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import * as rules from './broadcasts.ts'
import { shownBroadcast, shownBroadcasts } from './report.ts'
import { BroadcastFilter, BroadcastSchema, NewBroadcastSchema } from './schema.ts'
import * as store from './store.ts'

const BroadcastInPath = Type.Object({ id: IdInPath })

export const createBroadcast = endpoint({
  summary: 'Send a template to everyone in lists or with tags',
  description:
    'The parameters of the template come as in POST /messages. In their texts {{name}}, {{mobile}} and {{attributes.city}} take the values of each contact; {{name|friend}} gives a text for where there is none. With scheduledAt it waits until then; its audience is who is a contact when it begins.',
  body: NewBroadcastSchema,
  answer: envelope(BroadcastSchema),
  run: async ({ db, business, body }) => {
    const now = await nowFor(db, business)
    const broadcast = await rules.createBroadcast(db, business, { body: body as rules.NewBroadcast, now })
    return ok('Broadcast created', await shownBroadcast(db, business.id, broadcast))
  },
})

export const listBroadcasts = endpoint({
  summary: 'List broadcasts with their reports',
  query: BroadcastFilter,
  answer: envelope(
    Type.Object({
      broadcasts: Type.Array(BroadcastSchema),
      total: Type.Integer(),
      page: Type.Integer(),
      limit: Type.Integer(),
    }),
  ),
  run: async ({ db, business, query }) => {
    const { page, limit, offset } = pageRequest(query, 25)
    const { rows, total } = await store.broadcasts(db, business.id, { status: query.status, offset, limit })
    return ok('Broadcasts fetched', { broadcasts: await shownBroadcasts(db, business.id, rows), total, page, limit })
  },
})

export const getBroadcast = endpoint({
  summary: 'A broadcast with its exact report',
  params: BroadcastInPath,
  answer: envelope(BroadcastSchema),
  run: async ({ db, business, params }) =>
    ok(
      'Broadcast fetched',
      await shownBroadcast(db, business.id, await rules.getBroadcast(db, business.id, params.id)),
    ),
})

export const pauseBroadcast = endpoint({
  summary: 'Pause a broadcast; messages under way still end',
  params: BroadcastInPath,
  answer: envelope(BroadcastSchema),
  run: async ({ db, business, params }) => {
    const now = await nowFor(db, business)
    const paused = await rules.pauseBroadcast(db, business.id, params.id, { reason: 'Paused by request.', now })
    return ok('Broadcast paused', await shownBroadcast(db, business.id, paused))
  },
})

export const resumeBroadcast = endpoint({
  summary: 'Go on with a paused broadcast',
  params: BroadcastInPath,
  answer: envelope(BroadcastSchema),
  run: async ({ db, business, params }) => {
    const resumed = await rules.resumeBroadcast(db, business.id, params.id, await nowFor(db, business))
    return ok('Broadcast resumed', await shownBroadcast(db, business.id, resumed))
  },
})

export const cancelBroadcast = endpoint({
  summary: 'Cancel a broadcast; what is out stays out',
  params: BroadcastInPath,
  answer: envelope(BroadcastSchema),
  run: async ({ db, business, params }) => {
    const cancelled = await rules.cancelBroadcast(db, business.id, params.id, await nowFor(db, business))
    return ok('Broadcast cancelled', await shownBroadcast(db, business.id, cancelled))
  },
})
