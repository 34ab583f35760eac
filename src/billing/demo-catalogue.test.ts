import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import { fillCatalogue } from './demo-catalogue.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

test('the demo shop sells in any currency', async () => {
  for (const currency of ['USD', 'JPY', 'KWD']) {
    const shop = await w.business({ currency })
    const { plans, multiplan, customers } = await fillCatalogue(w.platform, shop)
    const totals = async (path: string) => (await shop.billing.get(path)).body.pagination.totalCount
    expect(await totals('/products')).toBe(2)
    expect(await totals('/plans')).toBe(Object.keys(plans).length)
    expect(await totals('/customers')).toBe(customers.length)
    expect(await totals('/taxes')).toBe(8)
    expect(await totals(`/addons/${plans.family.productId}`)).toBe(3)
    expect(await totals(`/products/${plans.course.productId}/licenses`)).toBe(2)
    const shown = (await shop.billing.get(`/multiplans/${multiplan.id}`)).body.data
    expect(shown.plans.map((plan: { price: number }) => plan.price)).toEqual([19, 16, 990])
    expect(shown.plans[0].currency_code).toBe(currency)
  }
})
