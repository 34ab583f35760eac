import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../../src/billing/audit.ts'
import { type FakeGateway, startFakeGateway } from '../fake-gateway.ts'
import { makeDataFolder, type Program, removeDataFolder, startProgram } from '../program.ts'
import { type TestBusiness, type World, world } from '../world.ts'

/** kill -9 of the real program in the middle of a renewal run: nobody is charged twice, nobody is forgotten. */

let w: World
let fake: FakeGateway
let data: string
beforeAll(async () => {
  fake = await startFakeGateway({ delayMs: 15 })
  w = await world({ stripeUrl: fake.url })
  data = await makeDataFolder()
})
afterAll(async () => {
  await w.close()
  await fake.close()
  await removeDataFolder(data)
})

const start = () =>
  startProgram({
    data,
    env: {
      DATABASE_URL: w.databaseUrl,
      PENNYPOST_SECRET_KEY: Buffer.alloc(32, 7).toString('hex'),
      PENNYPOST_STRIPE_URL: fake.url,
      PENNYPOST_DEMO: 'false',
      PENNYPOST_SERVICES: 'billing',
    },
  })

async function sell(shop: TestBusiness, count: number): Promise<void> {
  await shop.billing.put('/gateways/stripe', { secret_key: 'sk_test_1', webhook_secret: 'whsec_1' })
  const product = (await shop.billing.post('/product/create', { product_name: 'Box' })).body.data
  const plan = (
    await shop.billing.post('/plan/create', {
      product_id: product.id,
      plan_name: 'P',
      plan_code: 'p',
      price: 30,
      billing_period: 'w',
    })
  ).body.data
  // Some connections break after the gateway took the money, some before.
  const tokens = ['pm_ok', 'pm_ok', 'pm_reset_after', 'pm_reset_before']
  const lanes = Array.from({ length: 6 }, async (_, lane) => {
    for (let n = lane; n < count; n += 6) {
      const order = { email_id: `c${n}@example.com`, plan_id: plan.id, gateway_type: 'stripe', token: tokens[n % 4] }
      const answer = await shop.billing.post('/subscription', order)
      expect(answer.status, answer.text).toBe(200)
    }
  })
  await Promise.all(lanes)
}

/** A week passes for everything that was sold, so that one renewal is due. */
async function age(shop: TestBusiness): Promise<void> {
  const { db } = w
  await db`update billing_subscription set anchor_date = anchor_date - 7, period_start = period_start - 7,
    period_end = period_end - 7, next_billing_at = next_billing_at - interval '7 days', remind_at = null where business_id = ${shop.id}`
  await db`update billing_invoice set period_start = period_start - 7, period_end = period_end - 7 where business_id = ${shop.id}`
  await db`update billing_invoice_line set start_date = start_date - 7, end_date = end_date - 7 where business_id = ${shop.id}`
}

/** The five minutes after which open payments are asked about are over, and the business is due. */
async function wake(shop: TestBusiness): Promise<void> {
  await w.db`update billing_transaction set check_at = now() - interval '1 second' where business_id = ${shop.id} and check_at is not null`
  await w.db`update billing_due set due_at = now() - interval '1 second' where business_id = ${shop.id}`
}

test('killed twice while it renews and charges, the run ends as an undisturbed one', { timeout: 240_000 }, async () => {
  const count = 90
  const shop = await w.business()
  await sell(shop, count)
  await age(shop)
  const charged = () => fake.journal.filter(entry => entry.kind === 'charge').length
  expect(charged()).toBe(count)

  let program: Program | undefined
  for (const killAt of [count + 15, count + 45]) {
    await wake(shop)
    program = await start()
    await expect.poll(charged, { timeout: 60_000, interval: 5 }).toBeGreaterThanOrEqual(killAt)
    await program.kill()
  }
  await wake(shop)
  program = await start()
  const unpaid = async () =>
    (
      await w.db`select 1 from billing_subscription subscription where business_id = ${shop.id} and not exists (
        select 1 from billing_invoice invoice where invoice.business_id = ${shop.id}
          and invoice.subscription_id = subscription.id and invoice.kind = 'renewal' and invoice.status = 'paid')`
    ).length
  await expect
    .poll(
      async () => {
        await wake(shop)
        return unpaid()
      },
      { timeout: 90_000, interval: 500 },
    )
    .toBe(0)
  await program.stop()

  // The gateway's own journal is the judge: every invoice was paid by one charge, and every charge is in our books.
  const charges = fake.journal.filter(entry => entry.kind === 'charge')
  expect(charges.length).toBe(2 * count)
  expect(new Set(charges.map(entry => entry.invoice)).size).toBe(2 * count)
  const booked = await w.db<{ ref: string }[]>`
    select gateway_ref as ref from billing_transaction where business_id = ${shop.id} and type = 'payment' and state = 'succeeded'`
  expect(booked.map(row => row.ref).sort()).toEqual(charges.map(entry => entry.id).sort())
  const renewals = await w.db`select 1 from billing_invoice where business_id = ${shop.id} and kind = 'renewal'`
  expect(renewals.length).toBe(count)
  expect(await audit(w.db, shop.id)).toEqual([])
})
