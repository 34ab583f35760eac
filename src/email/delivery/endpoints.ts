import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { fail, invalidField, notFound } from '../../platform/problem.ts'
import { Choice, IdInPath, Nullable, PageQuery, Timestamp } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { pagination } from '../lists/endpoints.ts'
import { PaginationSchema } from '../lists/schema.ts'
import { inOneSnapshot } from '../subscribers/pages.ts'
import { type Act, changeSending, resendToFailures } from './control.ts'
import { sendIdOf } from './send-id.ts'
import * as store from './store-report.ts'

const InPath = Type.Object({ id: IdInPath })

const totals = {
  total: Type.Integer(),
  queued: Type.Integer({ description: 'of them may be mailed' }),
  sent: Type.Integer(),
  delivered: Type.Integer(),
  bounced: Type.Integer(),
  suppressed: Type.Integer({ description: 'opted out, deleted or suppressed since it was queued' }),
  failed: Type.Integer({ description: 'refused for our fault, or never reachable' }),
  unknown: Type.Integer({ description: 'handed over, but no answer came' }),
  cancelled: Type.Integer(),
  hardBounces: Type.Integer(),
  complaints: Type.Integer(),
  unsubscribes: Type.Integer(),
  opens: Type.Integer({ description: 'all, machines included' }),
  uniqueOpens: Type.Integer({ description: 'people' }),
  machineOpens: Type.Integer(),
  clicks: Type.Integer(),
  uniqueClicks: Type.Integer(),
  machineClicks: Type.Integer(),
}
const SendSchema = Type.Object({
  sendId: Type.String(),
  state: Type.String(),
  pauseReason: Type.String(),
  subject: Type.String(),
  ...totals,
  createdAt: Timestamp,
  completedAt: Nullable(Timestamp),
})

export const report = endpoint({
  summary: 'What became of a campaign: totals, its newest sends, and its links',
  params: InPath,
  answer: envelope(
    Type.Object({
      campaignId: Type.String(),
      campaignName: Type.String(),
      totals: Type.Object(totals),
      sends: Type.Array(SendSchema),
      links: Type.Array(
        Type.Object({
          url: Type.String(),
          clicks: Type.Integer(),
          humanClicks: Type.Integer(),
          people: Type.Integer(),
        }),
      ),
    }),
  ),
  run: ({ db, business, params }) =>
    inOneSnapshot(db, async tx => {
      const campaign = (await store.campaignExists(tx, business.id, params.id)) ?? fail(notFound('Campaign'))
      return ok('Campaign report', {
        campaignId: params.id,
        campaignName: campaign.name,
        totals: await store.totalsOf(tx, business.id, params.id),
        sends: await store.sendsOf(tx, business.id, params.id, 100),
        links: await store.linksOf(tx, business.id, params.id),
      })
    }),
})

const control = (act: Act, summary: string, message: string) =>
  endpoint({
    summary,
    params: InPath,
    answer: envelope(Type.Object({ campaignId: Type.String(), sends: Type.Integer() })),
    run: async ({ db, business, params }) =>
      ok(message, { campaignId: params.id, sends: await changeSending(db, business, params.id, act) }),
  })

export const pause = control('pause', 'Pause all sends of a campaign', 'Campaign paused')
export const resume = control('resume', 'Resume what was paused', 'Campaign resumed')
export const cancel = control('cancel', 'Cancel: who was not mailed yet is not mailed', 'Campaign cancelled')

export const resend = endpoint({
  summary: 'Send again only to whom it did not reach',
  params: InPath,
  body: Type.Optional(Type.Object({ sendId: Type.Optional(Type.String({ description: 'default: the newest send' })) })),
  answer: envelope(Type.Object({ sendId: Type.String(), totalEmails: Type.Integer(), queued: Type.Integer() })),
  run: async ({ db, platform, business, params, body }) =>
    ok(
      'Queued again',
      await resendToFailures(db, platform, business, {
        campaignId: params.id,
        ...(body?.sendId !== undefined && { sendId: body.sendId }),
      }),
    ),
})

const statuses = ['queued', 'deferred', 'sent', 'bounced', 'suppressed', 'failed', 'unknown', 'cancelled'] as const
const delivery = {
  _id: Type.String(),
  sendId: Type.String(),
  campaignId: Type.String(),
  email: Type.String(),
  subscriberId: Nullable(Type.String()),
  status: Choice(statuses),
  class: Type.String({ description: 'hard, soft, block, policy, content, rate, network; empty when all is well' }),
  code: Type.Integer(),
  reply: Type.String(),
  deliveryServerId: Nullable(Type.String()),
  at: Nullable(Timestamp),
  nextTryAt: Nullable(Timestamp),
  openedAt: Nullable(Timestamp),
  clickedAt: Nullable(Timestamp),
}

export const list = endpoint({
  summary: 'What became of each message of a campaign or a send',
  query: Type.Object({
    ...PageQuery,
    campaignId: Type.Optional(Type.String()),
    sendId: Type.Optional(Type.String()),
    status: Type.Optional(Choice(statuses)),
    email: Type.Optional(Type.String({ maxLength: 254 })),
  }),
  answer: envelope(Type.Object({ deliveries: Type.Array(Type.Object(delivery)), pagination: PaginationSchema })),
  run: ({ db, business, query }) => {
    if (!query.campaignId && !query.sendId) throw invalidField('campaignId', 'or sendId is required')
    return inOneSnapshot(db, async tx => {
      const page = pageRequest(query)
      const total = await store.countDeliveries(tx, business.id, query)
      const deliveries = page.offset >= total ? [] : await store.deliveries(tx, business.id, query, page)
      return ok('Deliveries', { deliveries, pagination: pagination(page, total) })
    })
  },
})

export const get = endpoint({
  summary: 'One message: its state, every try, and everything that came back',
  params: InPath,
  answer: envelope(
    Type.Object({
      ...delivery,
      attempts: Type.Array(
        Type.Object({
          attempt: Type.Integer(),
          at: Timestamp,
          class: Type.String(),
          code: Type.Integer(),
          reply: Type.String(),
        }),
      ),
      events: Type.Array(
        Type.Object({
          kind: Type.String(),
          at: Timestamp,
          link: Nullable(Type.Integer()),
          isMachine: Type.Boolean(),
          reason: Type.String(),
        }),
      ),
    }),
  ),
  run: async ({ db, business, params }) => {
    const found = await store.deliveryById(db, business.id, { sendId: sendIdOf(params.id), deliveryId: params.id })
    if (!found) throw notFound('Delivery')
    const [attempts, events] = await Promise.all([
      store.attemptsOf(db, business.id, params.id),
      store.eventsOf(db, business.id, params.id),
    ])
    return ok('Delivery', { ...found, attempts: [...attempts], events: [...events] })
  },
})
