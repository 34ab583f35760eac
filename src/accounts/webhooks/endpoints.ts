import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { Choice, IdInPath, PageQuery } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import type { Catalogue } from '../events/catalogue.ts'
import { listDeliveries, replay, testEndpoint } from './deliveries.ts'
import {
  DeliveryPageSchema,
  DeliverySchema,
  deliveryStates,
  EndpointChanges,
  EndpointSchema,
  EndpointWithSecretSchema,
  NewEndpoint,
  Replay,
  Rotation,
} from './schema.ts'
import * as webhooks from './webhooks.ts'

const params = Type.Object({ id: IdInPath })

export const list = endpoint({
  summary: 'Webhook endpoints',
  answer: envelope(Type.Object({ webhooks: Type.Array(EndpointSchema) })),
  run: async ({ db, business }) => ok('Webhooks', { webhooks: await webhooks.listEndpoints(db, business.id) }),
})

export const create = (catalogue: Catalogue) =>
  endpoint({
    summary: 'Add a webhook endpoint; its secret is shown only in this answer',
    body: NewEndpoint,
    answer: envelope(EndpointWithSecretSchema),
    run: async ({ db, business, body, platform }) =>
      ok('Webhook created', await webhooks.createEndpoint(db, business.id, body, { tools: platform, catalogue })),
  })

export const get = endpoint({
  summary: 'One webhook endpoint',
  params,
  answer: envelope(EndpointSchema),
  run: async ({ db, business, params }) =>
    ok('Webhook', webhooks.view(await webhooks.getEndpoint(db, business.id, params.id))),
})

export const update = (catalogue: Catalogue) =>
  endpoint({
    summary: 'Change a webhook endpoint; what is omitted stays, credentials null removes them',
    params,
    body: EndpointChanges,
    answer: envelope(EndpointSchema),
    run: async ({ db, business, params, body, platform }) =>
      ok(
        'Webhook updated',
        await webhooks.updateEndpoint(db, business.id, params.id, { changes: body, tools: platform, catalogue }),
      ),
  })

export const remove = endpoint({
  summary: 'Delete a webhook endpoint; what waits for it is not sent',
  params,
  answer: envelope(EndpointSchema),
  run: async ({ db, business, params }) =>
    ok('Webhook deleted', await webhooks.deleteEndpoint(db, business.id, params.id)),
})

export const rotateSecret = endpoint({
  summary: 'Make a new secret; the old one signs too until the overlap ends',
  params,
  body: Type.Optional(Rotation),
  answer: envelope(EndpointWithSecretSchema),
  run: async ({ db, business, params, body, platform }) =>
    ok(
      'Secret rotated',
      await webhooks.rotateSecret(db, business.id, params.id, { ...body, tools: platform, now: new Date() }),
    ),
})

export const enable = endpoint({
  summary: 'Enable a webhook endpoint; deliveries that wait go on at once',
  params,
  answer: envelope(EndpointSchema),
  run: async ({ db, business, params }) =>
    ok('Webhook enabled', await webhooks.enableEndpoint(db, business.id, params.id, new Date())),
})

export const disable = endpoint({
  summary: 'Disable a webhook endpoint; nothing is sent to it until it is enabled',
  params,
  answer: envelope(EndpointSchema),
  run: async ({ db, business, params }) =>
    ok('Webhook disabled', await webhooks.disableEndpoint(db, business.id, params.id, new Date())),
})

export const test = (catalogue: Catalogue) =>
  endpoint({
    summary: 'Send an example event now and see what the receiver answers',
    params,
    body: Type.Optional(
      Type.Object({
        type: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 100,
            description: 'webhook_test when omitted; any type of the catalogue',
          }),
        ),
      }),
    ),
    answer: envelope(DeliverySchema),
    effects: 'outside',
    run: async ({ db, business, params, body, platform }) =>
      ok(
        'Test sent',
        await testEndpoint(db, business.id, params.id, {
          type: body?.type ?? 'webhook_test',
          tools: platform,
          catalogue,
          now: new Date(),
        }),
      ),
  })

export const deliveries = endpoint({
  summary: 'What was sent to an endpoint and what it answered, newest event first',
  params,
  query: Type.Object({
    after: Type.Optional(Type.String({ maxLength: 100, description: 'nextCursor of the page before' })),
    state: Type.Optional(Choice(deliveryStates)),
    limit: PageQuery.limit,
  }),
  answer: envelope(DeliveryPageSchema),
  run: async ({ db, business, params, query }) =>
    ok(
      'Deliveries',
      await listDeliveries(db, business.id, params.id, {
        after: query.after,
        state: query.state,
        limit: pageRequest(query, 25).limit,
      }),
    ),
})

export const replayEvents = endpoint({
  summary: 'Send one event again, or all since a time',
  params,
  body: Replay,
  answer: envelope(Type.Object({ queued: Type.Integer() })),
  run: async ({ db, business, params, body }) =>
    ok(
      'Events queued',
      await replay(db, business.id, params.id, {
        ...(body.eventId !== undefined && { eventId: body.eventId }),
        ...(body.since !== undefined && { since: new Date(body.since) }),
        testMode: business.testMode,
        now: new Date(),
      }),
    ),
})
