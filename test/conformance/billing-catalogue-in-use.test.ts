import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type World, world } from '../world.ts'
import { expectOk, expectRefused, fresh, makePlan, makeProduct } from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

async function setUp(planFields: object = {}) {
  const shop = await w.business()
  const productId = await makeProduct(shop)
  const planId = await makePlan(shop, productId, planFields)
  const email_id = `${fresh('buyer').replace(' ', '')}@example.com`
  const customer = (await shop.billing.post('/customer', { email_id })).body.data
  const order = (fields: object = {}) =>
    shop.billing.post(`/subscription/${customer.id}`, { plan_id: planId, gateway_type: 'offline', ...fields })
  return { shop, productId, planId, customer, order }
}

const addonFields = () => ({
  billing_period: 'm',
  billing_cycle: 'lifetime',
  status: 'true',
  associate_plans: 'all_plans',
  billing_period_num: 1,
  code: fresh('addon'),
  name: 'Seat',
  price: 5,
})

describe('what a live subscription holds', () => {
  test('can’t be deleted; once it has ended, it can', async () => {
    const { shop, productId, planId, customer, order } = await setUp()
    const addon = (await shop.billing.post(`/addon/${productId}`, addonFields())).body.data
    const sold = await order({ addons: [{ addon_id: addon.id, quantity: 2 }] })
    expectOk(sold)
    const subscriptionId = sold.body.data.id ?? sold.body.data.subscription.id

    expectRefused(await shop.billing.delete(`/plans/${planId}`), 422, 'plan_in_use')
    expectRefused(await shop.billing.delete(`/products/${productId}`), 422, 'product_in_use')
    expectRefused(await shop.billing.delete(`/addon/${addon.id}`), 422, 'addon_in_use')
    const other = await makeProduct(shop)
    expectRefused(await shop.billing.put(`/addon/${addon.id}`, { product_id: other }), 422, 'addon_in_use')
    expectRefused(await shop.billing.delete(`/customers/${customer.id}`), 422, 'customer_in_use')
    expectOk(await shop.billing.put(`/addon/${addon.id}`, { status: false }))

    expectOk(await shop.billing.post(`/subscription/${subscriptionId}/cancel`, {}))
    expectOk(await shop.billing.delete(`/addon/${addon.id}`))
    expectOk(await shop.billing.delete(`/plans/${planId}`))
    expectOk(await shop.billing.delete(`/customers/${customer.id}`))
    expectOk(await shop.billing.delete(`/products/${productId}`))
    const shown = await shop.billing.get(`/subscription/${subscriptionId}`)
    expectOk(shown)
    expect(JSON.stringify(shown.body)).toContain(planId)
  })

  test('keeps its terms: only the price of its plan may change', async () => {
    const { shop, planId, order } = await setUp()
    expectOk(await order())
    const put = (change: object) => shop.billing.put(`/plan/update/${planId}`, change)
    for (const change of [
      { currency_code: 'EUR' },
      { plan_type: 'per_unit' },
      { billing_period: 'y' },
      { billing_period_num: 2 },
      { billing_cycle: 'onetime' },
    ])
      expectRefused(await put(change), 422, 'plan_in_use')
    expectOk(await put({ price: 99, plan_name: 'Dearer', plan_active: false }))
  })
})

describe('selling and deleting at once', () => {
  test('never leaves a live subscription of a deleted plan, product or customer', async () => {
    for (let round = 0; round < 6; round++) {
      const { shop, planId, productId, customer, order } = await setUp()
      const paths = [`/plans/${planId}`, `/products/${productId}`, `/customers/${customer.id}`]
      const path = paths[round % 3]!
      const answers = await Promise.all([order(), order(), shop.billing.delete(path), order(), order()])
      const deleted = answers[2]!.status === 200
      const sold = answers.filter((answer, i) => i !== 2 && answer.status === 200).length
      expect(answers.map(answer => answer.status).filter(status => ![200, 404, 422].includes(status))).toEqual([])
      expect(deleted ? sold : 0).toBe(0)
      expect(deleted || sold > 0).toBe(true)
    }
  })
})

describe('the last uses of a coupon', () => {
  test('go to as many sales as there are, however many come at once', async () => {
    const { shop, productId, order } = await setUp()
    const coupon = await shop.billing.post(`/coupon/${productId}`, {
      coupon_name: 'Few',
      coupon_code: 'FEW',
      discount: 10,
      maximum_redemption: 3,
    })
    expectOk(coupon)
    const answers = await Promise.all(Array.from({ length: 12 }, () => order({ coupon_code: 'few' })))
    expect(answers.filter(answer => answer.status === 200)).toHaveLength(3)
    for (const answer of answers.filter(one => one.status !== 200)) expectRefused(answer, 422, 'coupon_used_up')
    expect((await shop.billing.get(`/coupon/${productId}`)).body.data[0].used_redemption).toBe(3)
  })
})

describe('license codes', () => {
  test('are given at the first payment, one to each sale at once, and shown as used', async () => {
    const { shop, productId, planId } = await setUp()
    const path = `/products/${productId}/licenses`
    const codes = Array.from({ length: 8 }, (_, i) => `KEY-${i}`)
    const license = (await shop.billing.post(path, { name: 'Keys', license_codes: codes })).body.data
    const card = { number: '4242424242424242', exp_month: 12, exp_year: 2040, cvc: '123' }
    const buy = (i: number) =>
      shop.billing.post('/subscription', {
        email_id: `buyer${i}@example.com`,
        first_name: 'Buyer',
        plan_id: planId,
        gateway_type: 'test',
        card,
      })
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => buy(i)))
    for (const answer of answers) expectOk(answer)
    const used = (await shop.billing.get(`${path}/${license.id}/codes?is_used=yes&limit=100`)).body.data
    expect(new Set(used.map((row: { subscription_id: string }) => row.subscription_id)).size).toBe(8)
    expect((await shop.billing.get(`${path}/${license.id}`)).body.data).toMatchObject({
      total_license: 8,
      used_license: 8,
    })
  })

  test('are not given before anything is paid', async () => {
    const { shop, productId, order } = await setUp()
    const path = `/products/${productId}/licenses`
    const license = (await shop.billing.post(path, { name: 'Keys', license_codes: ['ONE'] })).body.data
    expectOk(await order())
    const invoice = (await shop.billing.get('/invoices')).body.data[0]
    expect((await shop.billing.get(`${path}/${license.id}`)).body.data.used_license).toBe(0)
    expectOk(await shop.billing.post(`/invoice/recordpayment/${invoice.id}`, { payment_mode: 'cash' }))
    expect((await shop.billing.get(`${path}/${license.id}`)).body.data.used_license).toBe(1)
  })
})
