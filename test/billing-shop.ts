import { expect } from 'vitest'
import { audit } from '../src/billing/audit.ts'
import type { Answer, TestBusiness, World } from './world.ts'

/** A business that sells, with short words for what its tests do again and again. */
export interface Shop extends TestBusiness {
  productId: string
  plan(fields: Record<string, unknown>): Promise<{ id: string }>
  customer(fields?: Record<string, unknown>): Promise<{ id: string }>
  card(customerId: string, number?: string): Promise<string>
  /** a customer with a card and a subscription */
  subscribe(planId: string, options?: SubscribeOptions): Promise<Subscribed>
  change(subscriptionId: string, body: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>
  /** sets the clock, or advances it */
  at(moment: string): Promise<void>
  /** the twelve invariants */
  sound(): Promise<void>
  events(type?: string): Promise<{ type: string; data: Record<string, unknown> }[]>
}

export interface SubscribeOptions {
  number?: string
  customer?: Record<string, unknown>
  body?: Record<string, unknown>
}

export interface Subscribed {
  id: string
  customerId: string
  cardId: string
  answer: Answer
}

export const cards = {
  ok: '4242424242424242',
  declined: '4000000000000002',
  poor: '4000000000009995',
  asks: '4000002500003155',
  timesOut: '4000000000000119',
}

let count = 0

export async function openShop(
  w: World,
  options: { now?: string; timeZone?: string; currency?: string } = {},
): Promise<Shop> {
  const business = await w.business({ testMode: true, timeZone: options.timeZone, currency: options.currency })
  const { billing, account } = business
  const must = (answer: Answer) => {
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
    return answer.body.data
  }
  await account.put('/clock', { now: options.now ?? '2026-01-01T12:00:00Z' }).then(must)
  const product = must(await billing.post('/product/create', { product_name: 'Box' }))
  let set = options.now ?? '2026-01-01T12:00:00Z'
  const shop: Shop = {
    ...business,
    productId: product.id,
    async plan(fields) {
      const code = `plan-${++count}`
      return must(
        await billing.post('/plan/create', {
          product_id: product.id,
          plan_name: code,
          plan_code: code,
          billing_period: 'm',
          billing_period_num: 1,
          ...fields,
        }),
      )
    },
    customer: async (fields = {}) =>
      must(
        await billing.post('/customer', {
          first_name: 'Ada',
          last_name: 'Byron',
          email_id: `ada${++count}@example.com`,
          ...fields,
        }),
      ),
    card: async (customerId, number = cards.ok) =>
      must(
        await billing.post(`/paymentmethod/${customerId}`, {
          gateway_type: 'test',
          card: { number, exp_month: 12, exp_year: 2060, cvc: '123' },
        }),
      ).id,
    async subscribe(planId, { number, customer, body = {} } = {}) {
      const { id: customerId } = await shop.customer(customer)
      const cardId = body.gateway_type === 'offline' ? '' : await shop.card(customerId, number)
      const answer = await billing.post(`/subscription/${customerId}`, { plan_id: planId, ...body })
      return { id: answer.body.data?.id, customerId, cardId, answer }
    },
    change: (subscriptionId, body, headers) =>
      billing.put(
        `/subscription/${subscriptionId}/upgrade-downgrade`,
        { payment_mode: 'credit_card', ...body },
        headers,
      ),
    async at(moment) {
      const to = moment.length === 10 ? `${moment}T12:00:00Z` : moment
      if (to < set) throw new Error(`The clock stands at ${set}.`)
      must(await account.post('/clock/advance', { to }))
      set = to
    },
    sound: async () => expect(await audit(w.db, business.id)).toEqual([]),
    events: async type =>
      w.db`select type, data from event where business_id = ${business.id} ${type ? w.db`and type = ${type}` : w.db``} order by id` as never,
  }
  return shop
}
