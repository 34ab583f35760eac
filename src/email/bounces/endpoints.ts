import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { isId } from '../../platform/ids.ts'
import { invalidField, notFound, Problem } from '../../platform/problem.ts'
import { Choice, IdInPath } from '../../platform/schema.ts'
import { makeDkimKey } from '../delivery/dkim.ts'
import { envelope, ok } from '../envelope.ts'
import { recordEvents } from '../tracking/record.ts'
import { providers } from './notice.ts'
import * as store from './store.ts'
import { readNotice } from './webhooks.ts'

const InPath = Type.Object({ id: IdInPath })
const webhookContext = (businessId: string, serverId: string) => `email_webhook:${businessId}:${serverId}`
const dkimContext = (businessId: string, serverId: string) => `email_dkim:${businessId}:${serverId}`

/** Called by providers; each proves itself by its signature. */
export const takeWebhook = endpoint({
  summary: 'What a provider tells of bounces, complaints, deliveries, opens and clicks',
  params: Type.Object({ business_id: IdInPath, server_id: IdInPath }),
  accepts: 'bytes',
  rateLimited: false,
  answer: envelope(Type.Object({ events: Type.Integer() })),
  run: async ({ db, platform, params, body, headers }) => {
    const { business_id: businessId, server_id: serverId } = params
    const webhook = isId(businessId) && isId(serverId) ? await store.webhookOf(db, businessId, serverId) : undefined
    if (!webhook) throw notFound('Webhook')
    const secret = platform.secrets.decrypt(webhook.sealedSecret, webhookContext(businessId, serverId))
    const notice = { body: (body as Buffer | undefined) ?? Buffer.alloc(0), headers, secret }
    const events = await readNotice(webhook.provider, notice, platform)
    if (!events) throw new Problem(401, 'signature_invalid', 'The signature of this webhook does not fit.')
    if (events.length > 0) await recordEvents(db, businessId, events)
    return ok('Taken', { events: events.length })
  },
})

export const setWebhook = endpoint({
  summary: 'Take bounces, complaints and deliveries from the provider behind a delivery server',
  description:
    'secret: for ses the ARN of the SNS topic, for sendgrid the public key, for postmark user:password, for mailgun the signing key.',
  params: InPath,
  body: Type.Object({ provider: Choice(providers), secret: Type.String({ minLength: 1, maxLength: 2_000 }) }),
  answer: envelope(Type.Object({ provider: Type.String(), webhookUrl: Type.String() })),
  run: async ({ db, platform, business, params, body }) => {
    if (!(await store.serverExists(db, business.id, params.id))) throw notFound('Delivery server')
    const sealedSecret = platform.secrets.encrypt(body.secret, webhookContext(business.id, params.id))
    const now = await nowFor(db, business)
    await store.saveWebhook(db, business.id, { serverId: params.id, provider: body.provider, sealedSecret, now })
    const webhookUrl = `${platform.config.publicUrl}/email/api/v2/webhooks/${business.id}/${params.id}`
    return ok('Webhook set', { provider: body.provider, webhookUrl })
  },
})

export const removeWebhook = endpoint({
  summary: 'Take nothing more from the provider',
  params: InPath,
  answer: envelope(Type.Object({ removed: Type.Boolean() })),
  run: async ({ db, business, params }) => {
    const { count } = await store.deleteWebhook(db, business.id, params.id)
    if (count === 0) throw notFound('Webhook')
    return ok('Webhook removed', { removed: true })
  },
})

const domainPattern = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i

/** The private key is made here and never leaves. */
export const setDkim = endpoint({
  summary: 'Sign what goes through a delivery server; answers the DNS record to publish',
  params: InPath,
  body: Type.Object({
    domain: Type.String({ maxLength: 253 }),
    selector: Type.Optional(Type.String({ pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' })),
  }),
  answer: envelope(
    Type.Object({ domain: Type.String(), selector: Type.String(), dnsName: Type.String(), dnsValue: Type.String() }),
  ),
  run: async ({ db, platform, business, params, body }) => {
    if (!domainPattern.test(body.domain)) throw invalidField('domain', 'must be a domain name')
    if (!(await store.serverExists(db, business.id, params.id))) throw notFound('Delivery server')
    const { privateKey, publicKey } = await makeDkimKey()
    const sealedKey = platform.secrets.encrypt(privateKey, dkimContext(business.id, params.id))
    const now = await nowFor(db, business)
    const domain = body.domain.toLowerCase()
    const selector = body.selector ?? 'pennypost'
    await store.saveSigning(db, business.id, { serverId: params.id, domain, selector, sealedKey, publicKey, now })
    const dnsName = `${selector}._domainkey.${domain}`
    return ok('Signing set', { domain, selector, dnsName, dnsValue: `v=DKIM1; k=rsa; p=${publicKey}` })
  },
})

export const removeDkim = endpoint({
  summary: 'Stop signing what goes through a delivery server',
  params: InPath,
  answer: envelope(Type.Object({ removed: Type.Boolean() })),
  run: async ({ db, business, params }) => {
    const { count } = await store.deleteSigning(db, business.id, params.id)
    if (count === 0) throw notFound('DKIM key')
    return ok('Signing removed', { removed: true })
  },
})
