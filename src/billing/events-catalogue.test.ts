import { Value } from 'typebox/value'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import { fillCatalogue } from './demo-catalogue.ts'
import { catalogueEventTypes } from './events-catalogue.ts'
import { updateProduct } from './products/products.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

test('every example has the shape that is promised', () => {
  for (const { type, data, example } of catalogueEventTypes)
    expect([type, [...Value.Errors(data, example)]]).toEqual([type, []])
})

test('every event that is told has the shape that is promised', async () => {
  const shop = await w.business()
  const { plans } = await fillCatalogue(w.platform, shop)
  await updateProduct(w.db, shop, plans.family.productId, { product_name: 'Renamed' })
  const told = await w.db<{ type: string; data: unknown }[]>`
    select type, data from event where business_id = ${shop.id}`
  expect(new Set(told.map(event => event.type)).size).toBeGreaterThan(8)
  for (const { type, data } of told) {
    const promised = catalogueEventTypes.find(known => known.type === type)
    expect(promised, type).toBeDefined()
    expect([type, [...Value.Errors(promised!.data, data)]]).toEqual([type, []])
  }
})
