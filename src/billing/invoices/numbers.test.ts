import { afterAll, beforeAll, expect, test } from 'vitest'
import { openShop, type Shop } from '../../../test/billing-shop.ts'
import { type World, world } from '../../../test/world.ts'
import { audit } from '../audit.ts'
import type { Context } from '../context.ts'
import { renewDue } from '../subscriptions/renew.ts'
import { numbersForBatch } from './numbers.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const contextOf = (shop: Shop, now: string): Context => ({
  platform: w.platform,
  db: w.platform.db,
  business: shop,
  now: new Date(now),
  source: 'scheduler',
})

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => BigInt(first + i))

test('a batch that fails leaves its numbers to the next, and batches at the same time get different ones', async () => {
  const context = contextOf(await openShop(w), '2026-01-01T12:00:00Z')
  const { db } = context
  const failed = db.begin(async tx => {
    expect(await numbersForBatch(tx, context, 150)).toEqual(range(1, 150))
    throw new Error('crash')
  })
  await expect(failed).rejects.toThrow('crash')
  await db.begin(async one => {
    expect(await numbersForBatch(one, context, 100)).toEqual(range(1, 100))
    await db.begin(async other => {
      expect(await numbersForBatch(other, context, 200)).toEqual(range(151, 350))
    })
  })
  await db.begin(async tx => {
    expect(await numbersForBatch(tx, context, 60)).toEqual([...range(101, 150), ...range(351, 360)])
  })
})

test('a request that is one transaction takes its numbers in it', async () => {
  const context = contextOf(await openShop(w), '2026-01-01T12:00:00Z')
  await context.db.begin(async tx => {
    const inside = { ...context, db: tx as unknown as Context['db'] }
    expect(await numbersForBatch(tx, inside, 3)).toEqual(range(1, 3))
    expect(await numbersForBatch(tx, inside, 500)).toEqual(range(4, 503))
  })
  const reserved = await w.db`select from billing_number_reserve where business_id = ${context.business.id}`
  expect(reserved).toHaveLength(0)
})

test('one renewal that can’t be written is put aside; the others are billed once, without a gap', async () => {
  const shop = await openShop(w)
  const plan = await shop.plan({ price: 30 })
  const { id: customerId } = await shop.customer()
  await w.db`
    insert into billing_subscription (business_id, id, customer_id, product_id, plan_id, status, currency, quantity,
      plan_type, unit_price_minor, period_unit, period_count, anchor_date, next_billing_at, starts_at, gateway, created_at, updated_at)
    select ${shop.id}, lpad(n::text, 24, '0'), ${customerId}, ${shop.productId}, ${plan.id}, 'live', 'USD', 1, 'flat_fee',
      3000, 'm', 1, '2026-02-01', '2026-02-01', '2026-02-01', 'offline', now(), now() from generate_series(1, 120) n`
  await w.db`
    insert into billing_mrr_movement (business_id, subscription_id, no, customer_id, currency, type, amount_minor, mrr_minor, created_at)
    select business_id, id, 1, customer_id, currency, 'new', 3000, 3000, created_at
    from billing_subscription where business_id = ${shop.id}`
  await w.db`
    insert into billing_mrr_day (business_id, day, currency, type, amount_minor, movements)
    values (${shop.id}, '2026-02-01', 'USD', 'new', 360000, 120)`
  const poisoned = '7'.padStart(24, '0')
  // Its period is in the books already.
  await w.db`
    insert into billing_ledger (business_id, source_key, at, customer_id, subscription_id, currency)
    values (${shop.id}, ${`renewal:${poisoned}:1`}, now(), ${customerId}, ${poisoned}, 'USD')`
  const context = contextOf(shop, '2026-02-01T00:00:00Z')
  expect(await renewDue(context)).toBe(120)
  const findings = await audit(w.db, shop.id)
  expect(findings).toHaveLength(1)
  expect(findings[0]).toContain(`no renewal stays behind: ${poisoned}`)
  await w.db`delete from billing_ledger where business_id = ${shop.id} and source_key = ${`renewal:${poisoned}:1`}`
  await renewDue({ ...context, now: new Date('2026-02-01T02:00:00Z') })
  const [numbers] = await w.db`
    select count(*)::int as count, max(number)::int as last from billing_invoice where business_id = ${shop.id}`
  expect(numbers).toEqual({ count: 120, last: 120 })
  expect(await audit(w.db, shop.id)).toEqual([])
})

test('what is told of an invoice names its number, also when many are issued at once', async () => {
  const shop = await openShop(w)
  const [low, high] = [await shop.plan({ price: 30 }), await shop.plan({ price: 50 })]
  const sold = await Promise.all(Array.from({ length: 5 }, () => shop.subscribe(low.id)))
  const answers = await Promise.all(
    sold.map(({ id }) => shop.change(id, { plan_id: high.id, payment_mode: 'credit_card' })),
  )
  const told = (await shop.events('invoice_create')).map(({ data }) => [data.id, data.invoice_id])
  const stored = await w.db<{ id: string; number: bigint }[]>`
    select id, number from billing_invoice where business_id = ${shop.id}`
  expect(new Map(told as [string, string][])).toEqual(new Map(stored.map(({ id, number }) => [id, `INV-${number}`])))
  expect(stored.map(row => row.number).sort((a, b) => Number(a - b))).toEqual(range(1, 10))
  for (const { body } of answers) expect(told).toContainEqual([body.data.invoice.id, body.data.invoice.invoice_id])
  await shop.sound()
})
