import { Type } from 'typebox'
import { businessById } from '../../accounts/store.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { IdInPath } from '../../platform/schema.ts'
import { contextOf } from '../context.ts'
import { envelope, ok } from '../envelope.ts'
import { confirmTestPayment } from './confirm.ts'
import { gatewayEvents } from './jobs.ts'
import { connectStripe, gatewayFor } from './registry.ts'
import * as store from './store.ts'

const StripeSchema = Type.Object({ gateway_type: Type.String(), connected: Type.Boolean(), webhook_url: Type.String() })

const webhookUrl = (publicUrl: string, businessId: string) =>
  `${publicUrl}/billing/api/v1/webhooks/stripe/${businessId}`

export const getStripe = endpoint({
  summary: 'How Stripe is connected',
  answer: envelope(StripeSchema),
  run: async ({ db, business, platform }) =>
    ok('Stripe', {
      gateway_type: 'stripe',
      connected: (await store.findGatewayAccount(db, business.id, 'stripe')) !== undefined,
      webhook_url: webhookUrl(platform.config.publicUrl, business.id),
    }),
})

export const putStripe = endpoint({
  summary: 'Connect Stripe; the keys are kept sealed and never shown',
  body: Type.Object({
    secret_key: Type.String({ minLength: 1, maxLength: 255 }),
    webhook_secret: Type.Optional(Type.String({ maxLength: 255 })),
  }),
  answer: envelope(StripeSchema),
  run: async call => {
    const { body, business, platform } = call
    await connectStripe(call, { secretKey: body.secret_key, webhookSecret: body.webhook_secret ?? '' })
    return ok('Stripe connected', {
      gateway_type: 'stripe',
      connected: true,
      webhook_url: webhookUrl(platform.config.publicUrl, business.id),
    })
  },
})

/** Proves itself by its signature over the raw body. Kept first, answered, then worked on from the table. */
export const stripeWebhook = endpoint({
  summary: 'Webhooks of Stripe',
  params: Type.Object({ business_id: IdInPath }),
  accepts: 'bytes',
  answer: Type.Object({ received: Type.Boolean() }),
  run: async ({ platform, params, body, headers }) => {
    const business = (await businessById(platform.db, params.business_id)) ?? fail(notFound('Business'))
    const account = await store.findGatewayAccount(platform.db, business.id, 'stripe')
    if (!account) throw notFound('Business')
    const gateway = await gatewayFor({ platform, business }, 'stripe')
    const events = gateway.readWebhook(body as Buffer, headers)
    if (events.length > 0)
      await platform.db.begin(async tx => {
        const kept = events.map(event => ({ id: event.id, type: event.type, data: event }))
        await store.keepGatewayEvents(tx, business.id, 'stripe', kept)
        await platform.jobs.enqueue(tx, gatewayEvents, { businessId: business.id })
      })
    return { received: true }
  },
})

export const confirm = endpoint({
  summary: 'Answer for the customer of a test card that asks for confirmation',
  params: Type.Object({ transaction_id: IdInPath }),
  body: Type.Optional(Type.Object({ accept: Type.Optional(Type.Boolean()) })),
  answer: envelope(Type.Object({ id: Type.String(), status: Type.String() })),
  effects: 'outside',
  run: async call => {
    const context = await contextOf(call)
    const payment = await confirmTestPayment(context, call.params.transaction_id, call.body?.accept ?? true)
    return ok('Payment answered', { id: payment.id, status: payment.state === 'succeeded' ? 'success' : 'failure' })
  },
})
