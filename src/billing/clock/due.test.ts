import { afterAll, beforeAll, expect, test } from 'vitest'
import { openShop } from '../../../test/billing-shop.ts'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { dueLoop } from './due.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

/** Sells something on account whose term of payment is over by the world's clock. */
async function owe({ id, billing }: TestBusiness, productId: string) {
  const plan = { plan_name: 'M', plan_code: 'm', price: 10, billing_period: 'm', billing_period_num: 1 }
  const { data } = (await billing.post('/plan/create', { product_id: productId, ...plan })).body
  const order = { email_id: 'ann@example.com', plan_id: data.id, gateway_type: 'offline' }
  expect((await billing.post('/subscription', order)).status).toBe(200)
  await w.db`update billing_invoice set due_at = now() - interval '1 minute' where business_id = ${id}`
  await w.db`update billing_due set due_at = now() where business_id = ${id}`
  return async () => (await billing.get('/invoices')).body.data[0].status
}

test('workers bill who lives in the world’s time, also in test mode, until a test clock is set', async () => {
  const standing = await openShop(w, { now: new Date().toISOString() })
  const stands = await owe(standing, standing.productId)
  const running = await w.business({ testMode: true })
  const product = await running.billing.post('/product/create', { product_name: 'Box' })
  const runs = await owe(running, product.body.data.id)
  const stop = new AbortController()
  const looping = dueLoop(w.platform).run(stop.signal)
  await expect.poll(runs).toBe('overdue')
  const looked = () => w.db`select 1 from billing_due where business_id = ${standing.id} and due_at > now()`
  await expect.poll(async () => (await looked()).length).toBe(1)
  expect(await stands()).toBe('sent')
  stop.abort()
  await looping
})
