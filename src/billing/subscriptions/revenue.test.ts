import { afterAll, beforeAll, expect, test } from 'vitest'
import { openShop, type Shop } from '../../../test/billing-shop.ts'
import { type World, world } from '../../../test/world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

/** In cents: earned so far, and billed but not earned yet. */
async function books(shop: Shop): Promise<{ earned: number; deferred: number }> {
  const [sums] = await w.db<{ earned: number; deferred: number }[]>`
    select -sum(revenue)::int as earned, -sum(deferred)::int as deferred from billing_ledger where business_id = ${shop.id}`
  return sums!
}

async function sell(period: { billing_period: string; billing_period_num?: number; price: number }) {
  const shop = await openShop(w, { now: '2026-01-01T12:00:00Z' })
  const plan = await shop.plan({ price: 30 })
  const made = await shop.billing.post(`/addon/${shop.productId}`, {
    ...{ name: 'Support', code: 'support', status: 'true', associate_plans: 'all_plans', billing_cycle: 'lifetime' },
    ...{ billing_period_num: 1, ...period },
  })
  expect(made.status, made.text).toBe(200)
  const addon: string = made.body.data.id
  const { id } = await shop.subscribe(plan.id, { body: { addons: [{ addon_id: addon, quantity: 1 }] } })
  return { shop, plan, addon, id }
}

test('an add-on that is paid for a year is earned by day, month by month, and to the cent', async () => {
  const { shop } = await sell({ billing_period: 'y', price: 100 })
  expect(await books(shop)).toEqual({ earned: 0, deferred: 13_000 })
  let days = 0
  for (const [month, length] of [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30].entries()) {
    await shop.at(`2026-${String(month + 2).padStart(2, '0')}-01`)
    days += length
    const left = Math.round((10_000 * (365 - days)) / 365)
    expect(await books(shop)).toEqual({ earned: 3_000 * (month + 1) + 10_000 - left, deferred: 3_000 + left })
  }
  await shop.sound()
  // The second year of the add-on is billed with the thirteenth month of the plan.
  await shop.at('2027-01-01')
  expect(await books(shop)).toEqual({ earned: 36_000 + 10_000, deferred: 3_000 + 10_000 })
  await shop.sound()
})

test('periods of an add-on that reach a little beyond the term: only that part waits', async () => {
  const { shop } = await sell({ billing_period: 'w', billing_period_num: 3, price: 21 })
  // Two periods cover January: 42 days, of which 11 lie in February.
  expect(await books(shop)).toEqual({ earned: 0, deferred: 3_000 + 4_200 })
  await shop.at('2026-02-01')
  // Another one covers February, until 5 March.
  expect(await books(shop)).toEqual({ earned: 3_000 + 3_100, deferred: 3_000 + 1_100 + 2_100 })
  await shop.at('2026-03-01')
  expect(await books(shop)).toEqual({ earned: 6_000 + 3_100 + 2_800, deferred: 3_000 + 400 + 4_200 })
  await shop.sound()
})

test('what is given back or ends is earned no later', async () => {
  const { shop, plan, id } = await sell({ billing_period: 'y', price: 365 })
  await shop.at('2026-02-01')
  expect(await books(shop)).toEqual({ earned: 3_000 + 3_100, deferred: 3_000 + 33_400 })
  // Without the add-on: 334 days of it are credited, and nothing of it is left to be earned but what was used.
  expect((await shop.change(id, { plan_id: plan.id, addons: [] })).status).toBe(200)
  await shop.sound()
  await shop.at('2026-03-01')
  expect(await books(shop)).toEqual({ earned: 6_000 + 3_100, deferred: 3_000 })
  await shop.sound()

  const other = await sell({ billing_period: 'y', price: 365 })
  await other.shop.billing.post(`/subscription/${other.id}/cancel`, { cancel_at_end: true })
  await other.shop.at('2026-02-01')
  expect(await books(other.shop)).toEqual({ earned: 39_500, deferred: 0 })
  await other.shop.sound()
})
