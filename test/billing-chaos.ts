import { expect } from 'vitest'
import { type FakeGateway, startFakeGateway } from './fake-gateway.ts'
import { makeDataFolder, type Program, removeDataFolder, startProgram } from './program.ts'
import { type TestBusiness, type World, world } from './world.ts'

/** The real program, to be killed while it charges cards at a gateway that answers slowly and loses some connections. */
export interface Ground {
  w: World
  fake: FakeGateway
  start(): Promise<Program>
  /** what the killed program held is free again, and everything that waits is due */
  lapse(shop: TestBusiness): Promise<void>
  close(): Promise<void>
}

export async function openGround({ delayMs }: { delayMs: number }): Promise<Ground> {
  const fake = await startFakeGateway({ delayMs })
  const w = await world({ stripeUrl: fake.url })
  const data = await makeDataFolder()
  const env = {
    DATABASE_URL: w.databaseUrl,
    PENNYPOST_SECRET_KEY: Buffer.alloc(32, 7).toString('hex'),
    PENNYPOST_STRIPE_URL: fake.url,
    PENNYPOST_DEMO: 'false',
    PENNYPOST_SERVICES: 'billing',
  }
  return {
    w,
    fake,
    start: () => startProgram({ data, env }),
    async lapse({ id }) {
      await w.db`update idempotency_key set running_until = now() - interval '1 second' where business_id = ${id}`
      await w.db`
        update billing_transaction set check_at = now() - interval '1 second'
        where business_id = ${id} and check_at is not null`
      await w.db`update billing_due set due_at = now() - interval '1 second' where business_id = ${id}`
    },
    async close() {
      await w.close()
      await fake.close()
      await removeDataFolder(data)
    },
  }
}

/** Some connections break after the gateway took the money, some before. */
const tokens = ['pm_ok', 'pm_reset_after', 'pm_ok', 'pm_reset_before']

/** A shop with plans at these prices, a few to be sold at a time. */
export async function openChaosShop(
  { w }: Ground,
  { prices, period = 'm' }: { prices: readonly number[]; period?: 'w' | 'm' },
): Promise<{ shop: TestBusiness; plans: string[]; sell(planId: string, count: number): Promise<string[]> }> {
  const shop = await w.business()
  await shop.billing.put('/gateways/stripe', { secret_key: 'sk_test_1', webhook_secret: 'whsec_1' })
  const product = (await shop.billing.post('/product/create', { product_name: 'Box' })).body.data
  const plans: string[] = []
  for (const price of prices) {
    const fields = {
      product_id: product.id,
      plan_name: `P${price}`,
      plan_code: `p${price}`,
      price,
      billing_period: period,
    }
    plans.push((await shop.billing.post('/plan/create', fields)).body.data.id)
  }
  const sell = async (planId: string, count: number) => {
    const ids: string[] = []
    const lanes = Array.from({ length: 6 }, async (_, lane) => {
      for (let n = lane; n < count; n += 6) {
        const order = { email_id: `c${n}@example.com`, plan_id: planId, gateway_type: 'stripe', token: tokens[n % 4] }
        const answer = await shop.billing.post('/subscription', order)
        expect(answer.status, answer.text).toBe(200)
        ids[n] = answer.body.data.id
      }
    })
    await Promise.all(lanes)
    return ids
  }
  return { shop, plans, sell }
}
