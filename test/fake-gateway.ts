import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A card gateway of our own with the shape of Stripe's API: it keeps state, honours idempotency keys as a real one
 * does, and writes a journal of what it took and gave back, which is the judge of "no double, no lost charge".
 */
export interface FakeGateway {
  url: string
  /** what really happened, in order */
  journal: { kind: 'charge' | 'refund'; id: string; amount: number; key: string; invoice: string }[]
  intents: Map<string, Intent>
  webhookSecret: string
  /** signed webhook bodies for everything that happened so far */
  webhooks(): { body: string; signature: string }[]
  confirm(intentId: string): void
  /** a customer gives a card on the gateway's own page; answers where they are sent back to */
  giveCard(pageUrl: string, token: string): string
  close(): Promise<void>
}

interface Intent {
  id: string
  object: 'payment_intent'
  amount: number
  amount_received: number
  currency: string
  status: string
  payment_method: string
  metadata: Record<string, string>
  next_action: null | { type: string; redirect_to_url: { url: string } }
  last_payment_error: null | { code: string; decline_code: string; message: string }
}

interface Refund {
  id: string
  object: 'refund'
  amount: number
  currency: string
  payment_intent: string
  status: string
}

/** `cut`: the work is done and remembered, but the connection breaks before the answer. */
type Reply = { status: number; body: object; cut?: boolean } | 'reset'

/** Cards by the name of their token: pm_ok, pm_declined, pm_asks, pm_reset_before, pm_reset_after (once each key). */
export async function startFakeGateway({ port = 0, delayMs = 0 } = {}): Promise<FakeGateway> {
  const intents = new Map<string, Intent>()
  const refunds = new Map<string, Refund>()
  const answers = new Map<string, Reply>()
  const resetKeys = new Set<string>()
  const journal: FakeGateway['journal'] = []
  const happened: object[] = []
  const webhookSecret = 'whsec_fake'
  const id = (prefix: string) => `${prefix}_${randomBytes(10).toString('hex')}`
  const tell = (type: string, object: object) =>
    happened.push({ id: id('evt'), object: 'event', type, data: { object: structuredClone(object) } })

  const take = (intent: Intent, key: string): void => {
    intent.status = 'succeeded'
    intent.amount_received = intent.amount
    intent.next_action = null
    journal.push({ kind: 'charge', id: intent.id, amount: intent.amount, key, invoice: intent.metadata.invoice ?? '' })
    tell('payment_intent.succeeded', intent)
  }

  const createIntent = (form: URLSearchParams): Reply => {
    const metadata = Object.fromEntries(
      [...form].flatMap(([name, value]) => {
        const inner = /^metadata\[(.+)\]$/.exec(name)?.[1]
        return inner ? [[inner, value]] : []
      }),
    )
    const intent: Intent = {
      id: id('pi'),
      object: 'payment_intent',
      amount: Number(form.get('amount')),
      amount_received: 0,
      currency: form.get('currency') ?? 'usd',
      status: 'requires_confirmation',
      payment_method: form.get('payment_method') ?? '',
      metadata,
      next_action: null,
      last_payment_error: null,
    }
    intents.set(intent.id, intent)
    return { status: 200, body: intent }
  }

  const confirmIntent = (intent: Intent, key: string): Reply => {
    const card = intent.payment_method.split('-')[0]
    if (card === 'pm_declined') {
      intent.status = 'requires_payment_method'
      intent.last_payment_error = { code: 'card_declined', decline_code: 'insufficient_funds', message: 'No.' }
      tell('payment_intent.payment_failed', intent)
      const error = { type: 'card_error', ...intent.last_payment_error, payment_intent: intent }
      return { status: 402, body: { error } }
    }
    if (card === 'pm_asks') {
      intent.status = 'requires_action'
      intent.next_action = { type: 'redirect_to_url', redirect_to_url: { url: 'https://bank.example/confirm' } }
      return { status: 200, body: intent }
    }
    if (card === 'pm_reset_before' && !resetKeys.has(key)) return 'reset'
    take(intent, key)
    return { status: 200, body: intent, cut: card === 'pm_reset_after' }
  }

  const createRefund = (form: URLSearchParams, key: string): Reply => {
    const intent = intents.get(form.get('payment_intent') ?? '')
    const amount = Number(form.get('amount'))
    const given = [...refunds.values()].filter(refund => refund.payment_intent === intent?.id)
    const left = (intent?.amount_received ?? 0) - given.reduce((sum, refund) => sum + refund.amount, 0)
    if (!intent || amount > left)
      return {
        status: 400,
        body: { error: { type: 'invalid_request_error', code: 'charge_already_refunded', message: 'Too much.' } },
      }
    const refund: Refund = {
      id: id('re'),
      object: 'refund',
      amount,
      currency: intent.currency,
      payment_intent: intent.id,
      status: 'succeeded',
    }
    refunds.set(refund.id, refund)
    journal.push({ kind: 'refund', id: refund.id, amount, key, invoice: intent.metadata.invoice ?? '' })
    tell('refund.created', refund)
    return { status: 200, body: refund }
  }

  const pages = new Map<string, { reference: string; success: string; token: string | null }>()
  const cardPage = (method: string, name: string, form: URLSearchParams): Reply => {
    if (method === 'POST') {
      const made = id('cs')
      pages.set(made, {
        reference: form.get('client_reference_id') ?? '',
        success: (form.get('success_url') ?? '').replace('{CHECKOUT_SESSION_ID}', made),
        token: null,
      })
      return { status: 200, body: { id: made, object: 'checkout.session', url: `https://pay.example/${made}` } }
    }
    const page = pages.get(name)
    if (!page) return { status: 404, body: { error: { type: 'invalid_request_error', message: 'No such session.' } } }
    const setup_intent = page.token === null ? null : { id: id('seti'), payment_method: page.token }
    return { status: 200, body: { id: name, client_reference_id: page.reference, setup_intent } }
  }

  const route = (method: string, path: string, form: URLSearchParams, key: string): Reply => {
    const [, , resource = '', name = '', verb] = path.split('/')
    if (resource === 'customers') return { status: 200, body: { id: id('cus'), object: 'customer' } }
    if (resource === 'checkout') return cardPage(method, verb ?? '', form)
    if (resource === 'payment_methods')
      return {
        status: 200,
        body: {
          id: name,
          object: 'payment_method',
          type: 'card',
          card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2060 },
        },
      }
    if (resource === 'refunds') {
      const known = refunds.get(name)
      return known ? { status: 200, body: known } : createRefund(form, key)
    }
    if (method === 'POST' && name === '') return createIntent(form)
    const intent = intents.get(name)
    if (!intent)
      return {
        status: 404,
        body: { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such intent.' } },
      }
    if (verb === 'confirm') return confirmIntent(intent, key)
    if (verb === 'cancel') {
      if (intent.status !== 'succeeded') intent.status = 'canceled'
      return { status: 200, body: intent }
    }
    return { status: 200, body: intent }
  }

  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (delayMs > 0) await new Promise(resolve => setTimeout(resolve, delayMs))
    const key = String(request.headers['idempotency-key'] ?? '')
    const place = `${request.url} ${key}`
    // The same key answers the same, and nothing happens again.
    const known = request.method === 'POST' && key ? answers.get(place) : undefined
    const reply =
      known ?? route(request.method ?? '', (request.url ?? '').split('?')[0] ?? '', new URLSearchParams(text), key)
    if (reply === 'reset') {
      resetKeys.add(key)
      request.socket.destroy()
      return
    }
    if (request.method === 'POST' && key) answers.set(place, { ...reply, cut: false })
    if (reply.cut) {
      request.socket.destroy()
      return
    }
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body))
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    journal,
    intents,
    webhookSecret,
    webhooks: () =>
      happened.map(event => {
        const body = JSON.stringify(event)
        const at = Math.floor(Date.now() / 1000)
        const digest = createHmac('sha256', webhookSecret).update(`${at}.${body}`).digest('hex')
        return { body, signature: `t=${at},v1=${digest}` }
      }),
    confirm(intentId) {
      const intent = intents.get(intentId)
      if (intent) take(intent, 'customer')
    },
    giveCard(pageUrl, token) {
      const page = pages.get(pageUrl.split('/').at(-1) ?? '')
      if (!page) throw new Error(`There is no page ${pageUrl}.`)
      page.token = token
      return page.success
    },
    close: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}
