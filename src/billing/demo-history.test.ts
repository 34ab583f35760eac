import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import { audit } from './audit.ts'
import { billingService } from './service.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

test('the demo shop has a past in which every kind of thing happened, and its books balance', async () => {
  const shop = await w.business()
  const lines = await billingService.demo(w.platform, shop)
  expect(lines.length).toBeGreaterThan(0)
  const all = async (path: string) => (await shop.billing.get(`${path}?limit=100`)).body.data
  const subscriptions: { status: string; update_type: string }[] = await all('/subscriptions')
  const statuses = new Set(subscriptions.map(one => one.status))
  for (const status of ['live', 'trial', 'canceled', 'unpaid']) expect(statuses).toContain(status)
  expect(subscriptions.map(one => one.update_type)).toContain('upgrade')
  const invoices: { status: string; createdAt: string; refunded_amount?: number }[] = await all('/invoices')
  expect(invoices.length).toBeGreaterThan(15)
  expect(new Set(invoices.map(one => one.status))).toEqual(new Set(['paid', 'overdue']))
  for (const { createdAt } of invoices) expect(createdAt < new Date().toISOString()).toBe(true)
  expect(await audit(w.db, shop.id)).toEqual([])
})
