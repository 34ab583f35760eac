import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../../src/billing/audit.ts'
import { type Ground, openChaosShop, openGround } from '../billing-chaos.ts'
import type { Program } from '../program.ts'
import type { TestBusiness, World } from '../world.ts'

/** kill -9 of the real program in the middle of a renewal run: nobody is charged twice, nobody is forgotten. */

let ground: Ground
let w: World
beforeAll(async () => {
  ground = await openGround({ delayMs: 15 })
  w = ground.w
})
afterAll(() => ground.close())

/** A week passes for everything that was sold, so that one renewal is due. */
async function age(shop: TestBusiness): Promise<void> {
  const { db } = w
  await db`update billing_subscription set anchor_date = anchor_date - 7, period_start = period_start - 7,
    period_end = period_end - 7, next_billing_at = next_billing_at - interval '7 days', remind_at = null where business_id = ${shop.id}`
  await db`update billing_invoice set period_start = period_start - 7, period_end = period_end - 7 where business_id = ${shop.id}`
  await db`update billing_invoice_line set start_date = start_date - 7, end_date = end_date - 7 where business_id = ${shop.id}`
}

test('killed twice while it renews and charges, the run ends as an undisturbed one', { timeout: 240_000 }, async () => {
  const count = 90
  const { shop, plans, sell } = await openChaosShop(ground, { prices: [30], period: 'w' })
  await sell(plans[0]!, count)
  await age(shop)
  const charged = () => ground.fake.journal.filter(entry => entry.kind === 'charge').length
  expect(charged()).toBe(count)

  let program: Program | undefined
  for (const killAt of [count + 15, count + 45]) {
    await ground.lapse(shop)
    program = await ground.start()
    await expect.poll(charged, { timeout: 60_000, interval: 5 }).toBeGreaterThanOrEqual(killAt)
    await program.kill()
  }
  await ground.lapse(shop)
  program = await ground.start()
  const unpaid = async () =>
    (
      await w.db`select 1 from billing_subscription subscription where business_id = ${shop.id} and not exists (
        select 1 from billing_invoice invoice where invoice.business_id = ${shop.id}
          and invoice.subscription_id = subscription.id and invoice.kind = 'renewal' and invoice.status = 'paid')`
    ).length
  await expect
    .poll(
      async () => {
        await ground.lapse(shop)
        return unpaid()
      },
      { timeout: 90_000, interval: 500 },
    )
    .toBe(0)
  await program.stop()

  // The gateway's own journal is the judge: every invoice was paid by one charge, and every charge is in our books.
  const charges = ground.fake.journal.filter(entry => entry.kind === 'charge')
  expect(charges.length).toBe(2 * count)
  expect(new Set(charges.map(entry => entry.invoice)).size).toBe(2 * count)
  const booked = await w.db<{ ref: string }[]>`
    select gateway_ref as ref from billing_transaction where business_id = ${shop.id} and type = 'payment' and state = 'succeeded'`
  expect(booked.map(row => row.ref).sort()).toEqual(charges.map(entry => entry.id).sort())
  const renewals = await w.db`select 1 from billing_invoice where business_id = ${shop.id} and kind = 'renewal'`
  expect(renewals.length).toBe(count)
  expect(await audit(w.db, shop.id)).toEqual([])
})
