import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openShop, type Shop } from '../billing-shop.ts'
import { type FakeGateway, startFakeGateway } from '../fake-gateway.ts'
import { type World, world } from '../world.ts'

let w: World
let fake: FakeGateway
let shop: Shop
beforeAll(async () => {
  fake = await startFakeGateway()
  w = await world({ stripeUrl: fake.url })
})
afterAll(async () => {
  await w.close()
  await fake.close()
})
beforeEach(async () => {
  fake.journal.length = 0
  shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
  const connected = await shop.billing.put('/gateways/stripe', {
    secret_key: 'sk_test_1',
    webhook_secret: fake.webhookSecret,
  })
  expect(connected.body.data).toMatchObject({ connected: true })
  expect(connected.text).not.toContain('sk_test_1')
})

async function sell(token: string, price = 30) {
  const plan = await shop.plan({ price })
  const { id: customerId } = await shop.customer()
  const answer = await shop.billing.post(`/subscription/${customerId}`, {
    plan_id: plan.id,
    gateway_type: 'stripe',
    token,
  })
  return { planId: plan.id, customerId, answer, id: answer.body.data?.id }
}

const deliver = async (webhook: { body: string; signature: string }) =>
  w.app.inject({
    method: 'POST',
    url: `/billing/api/v1/webhooks/stripe/${shop.id}`,
    headers: { 'content-type': 'application/json', 'stripe-signature': webhook.signature },
    payload: webhook.body,
  })

const charges = () => fake.journal.filter(entry => entry.kind === 'charge')

describe('cards at stripe', () => {
  test('a good one pays, a bad one is refused with its code', async () => {
    const good = await sell('pm_ok')
    expect(good.answer.body.data).toMatchObject({ status: 'live', gateway_type: 'stripe' })
    expect(charges()).toMatchObject([{ amount: 3000 }])
    const bad = await sell('pm_declined')
    expect(bad.answer.status).toBe(402)
    expect(bad.answer.body.code).toBe('insufficient_funds')
    expect(charges().length).toBe(1)
    await shop.sound()
  })

  test('a connection that breaks after the charge is asked again under the same key: one charge', async () => {
    const sold = await sell('pm_reset_after')
    expect(sold.answer.status).toBe(200)
    expect(charges().length).toBe(1)
    const before = await sell('pm_reset_before')
    expect(before.answer.status).toBe(200)
    expect(charges().length).toBe(2)
    await shop.sound()
  })

  test('a confirmation comes by webhook, late, twice and with a forged one between', async () => {
    const sold = await sell('pm_asks')
    expect(sold.answer.body.data).toMatchObject({
      status: 'pending',
      next_action: { url: 'https://bank.example/confirm' },
    })
    const [intent] = [...fake.intents.values()].filter(one => one.status === 'requires_action')
    fake.confirm(intent!.id)
    const webhook = fake.webhooks().at(-1)!
    expect((await deliver({ ...webhook, signature: 't=1,v1=00' })).statusCode).toBe(400)
    expect((await deliver({ ...webhook, body: webhook.body.replace('succeeded', 'succeeded ') })).statusCode).toBe(400)
    expect((await shop.billing.get(`/subscription/${sold.id}`)).body.data.status).toBe('pending')
    expect((await deliver(webhook)).statusCode).toBe(200)
    expect((await deliver(webhook)).statusCode).toBe(200)
    await w.drain()
    expect((await shop.billing.get(`/subscription/${sold.id}`)).body.data.status).toBe('live')
    await deliver(webhook)
    await w.drain()
    const payments = (await shop.billing.get(`/transactions/${sold.customerId}`)).body.data
    expect(payments.length).toBe(1)
    await shop.sound()
  })

  test('refunds: ours and one made at the gateway by hand, each counted once', async () => {
    const sold = await sell('pm_ok')
    const [payment] = (await shop.billing.get(`/transactions/${sold.customerId}`)).body.data
    const refund = await shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 10 })
    expect(refund.status, refund.text).toBe(200)
    for (const webhook of fake.webhooks().reverse()) await deliver(webhook)
    await w.drain()
    expect((await shop.billing.get(`/refund/${sold.customerId}`)).body.data.length).toBe(1)
    // Somebody refunds 5.00 in the gateway's own dashboard.
    const intent = fake.intents.get(payment.reference_id)!
    await fetch(`${fake.url}/v1/refunds`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `payment_intent=${intent.id}&amount=500`,
    })
    for (const webhook of fake.webhooks()) await deliver(webhook)
    for (const webhook of fake.webhooks()) await deliver(webhook)
    await w.drain()
    const refunds = (await shop.billing.get(`/refund/${sold.customerId}`)).body.data
    expect(refunds.map((one: { amount: number; refund_type: string }) => [one.amount, one.refund_type])).toEqual([
      [5, 'record_refund'],
      [10, 'refund'],
    ])
    const tooMuch = await shop.billing.post(`/transaction/refund/${payment.id}`, { amount: 15.01 })
    expect(tooMuch.body.code).toBe('refund_exceeds_payment')
    await shop.sound()
  })

  test('renewals charge through it, a month of retries included', async () => {
    await sell('pm_ok')
    await shop.at('2026-06-02')
    expect(charges().map(entry => entry.amount)).toEqual([3000, 3000, 3000])
    await shop.sound()
  })
})

test('a business that did not connect stripe is told so', async () => {
  const other = await openShop(w)
  const plan = await other.plan({ price: 30 })
  const { id } = await other.customer()
  const answer = await other.billing.post(`/subscription/${id}`, {
    plan_id: plan.id,
    gateway_type: 'stripe',
    token: 'pm_ok',
  })
  expect(answer.body.code).toBe('gateway_not_connected')
})
