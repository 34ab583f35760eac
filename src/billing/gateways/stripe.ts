import type Stripe from 'stripe'
import { onFirstUse } from '../../platform/first-use.ts'
import { fail, Problem, unprocessable } from '../../platform/problem.ts'
import { exponentOf } from '../currencies.ts'
import type { Gateway, GatewayEvent, MethodRequest, Outcome } from './gateway.ts'

/** Stripe through its own SDK, which is imported nowhere else. */

export interface StripeAccount {
  secretKey: string
  webhookSecret: string
  /** a stand-in for tests; the real API when undefined */
  apiUrl: string | undefined
}

const sdk = onFirstUse<typeof Stripe>('stripe')
const timeoutMs = 20_000
const webhookToleranceSeconds = 300

export function stripeGateway(account: StripeAccount): Gateway {
  const stripe = client(account)
  return {
    id: 'stripe',
    caps: { refund: true, webhooks: true, minCharge: stripeMinCharge },
    saveMethod: input => saveMethod(stripe, input),
    askForMethod: input => askForMethod(stripe, input),
    givenMethod: (session, reference) => givenMethod(stripe, session, reference),
    charge: input =>
      outcomeOf(async () => {
        const { key, amountMinor, currency, method, customerPresent, returnUrl, meta, onRef } = input
        const intent = await stripe.paymentIntents.create(
          {
            amount: toStripe(amountMinor, currency),
            currency: currency.toLowerCase(),
            customer: method.customer,
            payment_method: method.ref,
            metadata: { ...meta, key },
          },
          { idempotencyKey: key },
        )
        // Kept before it is confirmed: a fast webhook must find it.
        await onRef?.(intent.id)
        if (intent.status !== 'requires_confirmation' && intent.status !== 'requires_payment_method')
          return intentOutcome(intent, currency)
        const confirmed = await stripe.paymentIntents.confirm(
          intent.id,
          { off_session: !customerPresent, return_url: returnUrl },
          { idempotencyKey: `${key}:confirm` },
        )
        return intentOutcome(confirmed, currency)
      }),
    cancel: ({ key, ref }) =>
      outcomeOf(async () => {
        const intent = await stripe.paymentIntents.cancel(ref, {}, { idempotencyKey: `${key}:cancel` })
        return intentOutcome(intent, intent.currency.toUpperCase())
      }),
    refund: ({ key, ref, amountMinor, currency }) =>
      outcomeOf(async () => {
        const refund = await stripe.refunds.create(
          { payment_intent: ref, amount: toStripe(amountMinor, currency), metadata: { key } },
          { idempotencyKey: key },
        )
        return refundOutcome(refund)
      }),
    fetchState: input => fetchState(stripe, input),
    readWebhook: (raw, headers) => readWebhook(stripe, account.webhookSecret, raw, headers),
  }
}

function client({ secretKey, apiUrl }: StripeAccount): Stripe {
  const settings = { timeout: timeoutMs, maxNetworkRetries: 2, telemetry: false }
  if (!apiUrl) return new (sdk())(secretKey, settings)
  const url = new URL(apiUrl)
  const protocol = url.protocol === 'http:' ? 'http' : 'https'
  const port = url.port || (protocol === 'http' ? 80 : 443)
  return new (sdk())(secretKey, { ...settings, host: url.hostname, port, protocol })
}

async function saveMethod(stripe: Stripe, { token, key, email }: { token?: string; key: string; email: string }) {
  if (!token)
    throw unprocessable('token_missing', 'Give the token of the payment method that Stripe made in the browser (pm_…).')
  try {
    const customer = await stripe.customers.create(
      { email, payment_method: token, invoice_settings: { default_payment_method: token } },
      { idempotencyKey: `${key}:customer` },
    )
    const method = await stripe.paymentMethods.retrieve(token)
    return {
      ref: method.id,
      customer: customer.id,
      brand: method.card?.brand ?? method.type,
      last4: method.card?.last4 ?? '',
      expMonth: method.card?.exp_month ?? 0,
      expYear: method.card?.exp_year ?? 0,
    }
  } catch (error) {
    if (error instanceof sdk().errors.StripeConnectionError || error instanceof sdk().errors.StripeAPIError)
      throw new Problem(502, 'gateway_failed', 'Stripe does not answer. Nothing was saved; try again.')
    if (error instanceof sdk().errors.StripeError)
      throw unprocessable('payment_method_refused', `Stripe refused the payment method: ${error.message}`)
    throw error
  }
}

/** Stripe's own page collects the card; we get a name for it. */
async function askForMethod(stripe: Stripe, input: MethodRequest): Promise<string> {
  const session = await orAway(() =>
    stripe.checkout.sessions.create({
      mode: 'setup',
      currency: input.currency.toLowerCase(),
      client_reference_id: input.reference,
      customer_email: input.email,
      success_url: input.returnUrl.replace('{session}', '{CHECKOUT_SESSION_ID}'),
      cancel_url: input.cancelUrl,
    }),
  )
  return session?.url ?? fail(new Problem(502, 'gateway_failed', 'Stripe has no page for this card. Try again later.'))
}

async function givenMethod(stripe: Stripe, name: string, reference: string): Promise<string | undefined> {
  if (!/^cs_\w{1,250}$/.test(name)) return undefined
  const session = await orAway(() => stripe.checkout.sessions.retrieve(name, { expand: ['setup_intent'] }))
  const intent = session?.setup_intent
  if (session?.client_reference_id !== reference || !intent || typeof intent === 'string') return undefined
  return typeof intent.payment_method === 'string' ? intent.payment_method : intent.payment_method?.id
}

/** Undefined for what Stripe does not know or take. */
async function orAway<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof sdk().errors.StripeInvalidRequestError) return undefined
    if (error instanceof sdk().errors.StripeError)
      throw new Problem(502, 'gateway_failed', `Stripe does not do this now: ${error.message}`)
    throw error
  }
}

/** Stripe counts some currencies in other units than ISO: no decimals for these, and three-decimal amounts in steps of ten. */
const wholeAtStripe = new Set(['MGA', 'UGX'])
const toStripe = (minor: bigint, currency: string): number =>
  Number(wholeAtStripe.has(currency) && exponentOf(currency) === 2 ? minor / 100n : minor)
const fromStripe = (amount: number, currency: string): bigint =>
  BigInt(amount) * (wholeAtStripe.has(currency) && exponentOf(currency) === 2 ? 100n : 1n)

const minimums: Record<string, bigint> = { GBP: 30n, DKK: 250n, NOK: 300n, SEK: 300n, MXN: 1_000n, HKD: 400n, JPY: 50n }
export const stripeMinCharge = (currency: string): bigint => {
  const exponent = exponentOf(currency)
  return minimums[currency] ?? (exponent === 0 ? 50n : 5n * 10n ** BigInt(exponent - 1))
}

function intentOutcome(intent: Stripe.PaymentIntent, currency: string): Outcome {
  const ref = intent.id
  switch (intent.status) {
    case 'succeeded':
      return { kind: 'succeeded', ref, amountMinor: fromStripe(intent.amount_received, currency) }
    case 'processing':
      return { kind: 'pending', ref }
    case 'requires_action':
      return { kind: 'action_required', ref, url: intent.next_action?.redirect_to_url?.url ?? '' }
    case 'canceled':
      return { kind: 'declined', ref, code: 'canceled', retryable: true }
    case 'requires_payment_method':
      return declined(ref, intent.last_payment_error ?? {})
    default:
      return { kind: 'unknown', ref, reason: `Stripe answers ${intent.status}` }
  }
}

const declined = (
  ref: string | undefined,
  error: { decline_code?: string; code?: string; message?: string },
): Outcome => ({
  kind: 'declined',
  ref,
  code: error.decline_code ?? error.code ?? 'card_declined',
  message: error.message,
  retryable: true,
})

function refundOutcome(refund: Stripe.Refund): Outcome {
  const ref = refund.id
  if (refund.status === 'succeeded')
    return { kind: 'succeeded', ref, amountMinor: fromStripe(refund.amount, refund.currency.toUpperCase()) }
  if (refund.status === 'failed' || refund.status === 'canceled')
    return { kind: 'declined', ref, code: refund.failure_reason ?? 'refund_failed', retryable: false }
  return { kind: 'pending', ref }
}

/** A card error is an answer; everything that leaves room for doubt is `unknown`. */
async function outcomeOf(ask: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await ask()
  } catch (error) {
    const { errors } = sdk()
    if (error instanceof errors.StripeCardError) {
      const intent = error.payment_intent
      if (intent?.status === 'requires_action')
        return { kind: 'action_required', ref: intent.id, url: intent.next_action?.redirect_to_url?.url ?? '' }
      return declined(intent?.id, error)
    }
    if (error instanceof errors.StripeAuthenticationError || error instanceof errors.StripePermissionError)
      return { kind: 'not_sent', reason: 'Stripe refuses the secret key.' }
    if (error instanceof errors.StripeInvalidRequestError) return declined(undefined, error)
    if (error instanceof errors.StripeRateLimitError) return { kind: 'not_sent', reason: 'Stripe asks to slow down.' }
    if (error instanceof errors.StripeError) return { kind: 'unknown', reason: error.message }
    throw error
  }
}

async function fetchState(
  stripe: Stripe,
  { kind, key, ref }: { kind: 'payment' | 'refund'; key: string; ref: string | null },
): Promise<Outcome | { kind: 'absent' }> {
  try {
    if (kind === 'refund') {
      if (ref) return refundOutcome(await stripe.refunds.retrieve(ref))
      // Refunds can't be searched by key; sending the same key again answers what became of it.
      return { kind: 'absent' }
    }
    if (!ref) return { kind: 'absent' }
    const intent = await stripe.paymentIntents.retrieve(ref)
    // Made but never confirmed: sending the same keys again goes on where it stopped.
    if (intent.status === 'requires_confirmation') return { kind: 'absent' }
    return intentOutcome(intent, intent.currency.toUpperCase())
  } catch (error) {
    if (error instanceof sdk().errors.StripeError) return { kind: 'unknown', reason: `${key}: ${error.message}` }
    throw error
  }
}

function readWebhook(
  stripe: Stripe,
  secret: string,
  raw: Buffer,
  headers: Record<string, string | string[] | undefined>,
): GatewayEvent[] {
  const signature = headers['stripe-signature']
  let event: Stripe.Event
  try {
    event = stripe.webhooks.constructEvent(raw, String(signature ?? ''), secret, webhookToleranceSeconds)
  } catch {
    throw new Problem(400, 'signature_invalid', 'The signature of this webhook is not right.')
  }
  const { object } = event.data
  if (object.object === 'payment_intent') {
    const outcome = intentOutcome(object, object.currency.toUpperCase())
    return [{ id: event.id, type: event.type, about: 'payment', ref: object.id, outcome }]
  }
  if (object.object === 'refund') {
    const paymentRef = typeof object.payment_intent === 'string' ? object.payment_intent : object.payment_intent?.id
    return [
      { id: event.id, type: event.type, about: 'refund', ref: object.id, paymentRef, outcome: refundOutcome(object) },
    ]
  }
  return []
}
