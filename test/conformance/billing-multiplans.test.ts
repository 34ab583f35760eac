import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type World, world } from '../world.ts'
import { expectOk, expectPages, expectRefused, fresh, id, makePlan, makeProduct, timestamp } from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world({ publicUrl: 'https://pay.example.com' })
})
afterAll(() => w.close())

async function setUp() {
  const shop = await w.business()
  const productId = await makeProduct(shop)
  const plans = [await makePlan(shop, productId), await makePlan(shop, productId), await makePlan(shop, productId)]
  const make = async (fields: object = {}) => {
    const body = { product_id: productId, page_title: fresh('Pricing'), plans, ...fields }
    const answer = await shop.billing.post('/multiplans', body)
    expectOk(answer, 'Multiplan created')
    return answer.body.data
  }
  return { shop, productId, plans, make }
}

const plan = {
  id,
  product_id: id,
  plan_name: expect.any(String),
  plan_code: expect.any(String),
  plan_type: 'flat_fee',
  plan_active: 'true',
  price: 10,
  currency_code: 'USD',
  currency_symbol: '$',
  billing_period: 'm',
  billing_period_num: '1',
  billing_cycle: 'lifetime',
  billing_cycle_num: '',
  trial_period: 0,
  trial_type: 'day',
  setup_fee: 0,
  setup_fee_type: '',
  custom_payment_term: 0,
  failed_payment_gateway: '',
  failed_payment_gateway_array: [],
  funnel: [],
  is_metered: false,
  plan_description: '',
  meta_data: {},
  createdAt: timestamp,
  updatedAt: timestamp,
}

describe('POST /multiplans', () => {
  test('answers the multiplan with plans expanded in their order, and its page', async () => {
    const { shop, productId, plans } = await setUp()
    const [a, b, c] = plans
    const answer = await shop.billing.post('/multiplans', {
      product_id: productId,
      page_title: 'Choose your plan',
      plans: [b, a, c, a],
      multiplan_list: 'select',
      preferred_plan_id: a,
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Multiplan created',
      data: {
        id,
        product_id: productId,
        page_title: 'Choose your plan',
        multiplan_list: 'select',
        preferred_plan_id: a,
        plans: [b, a, c].map(planId => ({ ...plan, id: planId, product_id: productId })),
        checkout_page: `https://pay.example.com/checkout/${answer.body.data.id}`,
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    })
  })

  test('multiplan_list is radio by default, preferred_plan_id empty', async () => {
    const { make } = await setUp()
    expect(await make()).toMatchObject({ multiplan_list: 'radio', preferred_plan_id: '' })
  })

  test('page_title is unique within the product only', async () => {
    const { shop, make, productId, plans } = await setUp()
    await make({ page_title: 'Pricing' })
    const again = await shop.billing.post('/multiplans', { product_id: productId, page_title: 'Pricing', plans })
    expectRefused(again, 409, 'page_title_taken', 'page_title')
    const second = await makeProduct(shop)
    await make({ product_id: second, page_title: 'Pricing', plans: [await makePlan(shop, second)] })
    const body = { product_id: productId, page_title: 'Race', plans }
    const racers = await Promise.all(Array.from({ length: 10 }, () => shop.billing.post('/multiplans', body)))
    expect(racers.map(answer => answer.status).sort()).toEqual([200, ...Array(9).fill(409)])
  })

  test('plans must all belong to the product and the business', async () => {
    const { shop, productId, plans } = await setUp()
    const create = (others: string[]) =>
      shop.billing.post('/multiplans', { product_id: productId, page_title: fresh('x'), plans: [...plans, ...others] })
    const elsewhere = await makePlan(shop, await makeProduct(shop))
    expectRefused(await create([elsewhere]), 422, 'plan_not_of_product', 'plans[3]')
    const other = await setUp()
    expectRefused(await create([other.plans[0]!]), 422, 'plan_not_of_product', 'plans[3]')
    expectRefused(await create(['f'.repeat(24), 'nonsense']), 422, 'plan_not_of_product', 'plans[4]')
  })

  test('preferred_plan_id must be one of plans', async () => {
    const { shop, productId, plans } = await setUp()
    const answer = await shop.billing.post('/multiplans', {
      product_id: productId,
      page_title: 'x',
      plans: plans.slice(0, 2),
      preferred_plan_id: plans[2],
    })
    expectRefused(answer, 422, 'preferred_plan_not_offered', 'preferred_plan_id')
  })

  test('the product must exist and belong to the business', async () => {
    const [{ shop, plans }, other] = [await setUp(), await setUp()]
    for (const product_id of [other.productId, 'f'.repeat(24), 'x'])
      expectRefused(
        await shop.billing.post('/multiplans', { product_id, page_title: 'x', plans }),
        404,
        'product_not_found',
      )
  })

  test('refuses what has the wrong form', async () => {
    const { shop, productId, plans } = await setUp()
    const create = (fields: object) =>
      shop.billing.post('/multiplans', { product_id: productId, page_title: 'x', plans, ...fields })
    const wrong: [string, unknown][] = [
      ['product_id', undefined],
      ['product_id', 5],
      ['page_title', undefined],
      ['page_title', ''],
      ['page_title', 'x'.repeat(256)],
      ['plans', undefined],
      ['plans', []],
      ['plans', plans[0]],
      ['plans', Array(101).fill(plans[0])],
      ['multiplan_list', 'buttons'],
      ['preferred_plan_id', 5],
    ]
    for (const [field, value] of wrong) expectRefused(await create({ [field]: value }), 400, 'validation_failed', field)
    expectRefused(await create({ plans: [5] }), 400, 'validation_failed', 'plans[0]')
    expectOk(await create({ page_title: 'x'.repeat(255) }))
    expectOk(await create({ plans: Array(100).fill(plans[0]) }))
  })

  test('with an Idempotency-Key it is made once, with another body refused', async () => {
    const { shop, productId, plans } = await setUp()
    const body = { product_id: productId, page_title: 'Once', plans }
    const call = (more: object = {}) =>
      shop.billing.post('/multiplans', { ...body, ...more }, { 'idempotency-key': 'm' })
    const [one, two] = [await call(), await call()]
    expectOk(one)
    expect(two.text).toBe(one.text)
    expectRefused(await call({ page_title: 'Other' }), 422, 'idempotency_key_reused')
  })
})

describe('GET /multiplans/{multiplan_id}', () => {
  test('answers the multiplan; missing and another’s alike', async () => {
    const { shop, make } = await setUp()
    const multiplan = await make()
    expect((await shop.billing.get(`/multiplans/${multiplan.id}`)).body).toEqual({
      status: 'success',
      message: 'Multiplan',
      data: multiplan,
    })
    const missing = await shop.billing.get(`/multiplans/${'f'.repeat(24)}`)
    expectRefused(missing, 404, 'multiplan_not_found')
    const other = await (await w.business()).billing.get(`/multiplans/${multiplan.id}`)
    expect({ ...other.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' })
  })

  test('shows plans as they are now, and not those that were deleted', async () => {
    const { shop, plans, make } = await setUp()
    const multiplan = await make({ preferred_plan_id: plans[1] })
    expectOk(await shop.billing.put(`/plan/update/${plans[0]}`, { price: 99.5 }))
    expectOk(await shop.billing.delete(`/plans/${plans[1]}`))
    const { data } = (await shop.billing.get(`/multiplans/${multiplan.id}`)).body
    expect(data.plans.map((one: { id: string }) => one.id)).toEqual([plans[0], plans[2]])
    expect(data).toMatchObject({ preferred_plan_id: '', plans: [{ price: 99.5 }, {}] })
  })
})

describe('GET /multiplans', () => {
  test('pages, newest first', async () => {
    const { shop, make } = await setUp()
    await expectPages(shop, '/multiplans', async () => (await make()).id)
  })

  test('product_id picks those of one product', async () => {
    const { shop, productId, make } = await setUp()
    const mine = await make()
    const second = await makeProduct(shop)
    await make({ product_id: second, plans: [await makePlan(shop, second)] })
    expect((await shop.billing.get(`/multiplans?product_id=${productId}`)).body).toMatchObject({
      data: [mine],
      pagination: { totalCount: 1 },
    })
    expect((await shop.billing.get('/multiplans?product_id=nonsense')).body.data).toEqual([])
    expect((await (await w.business()).billing.get('/multiplans')).body.data).toEqual([])
  })
})

describe('PUT /multiplans/{id}', () => {
  test('changes what is given and keeps the rest', async () => {
    const { shop, plans, make } = await setUp()
    let multiplan = await make({ preferred_plan_id: plans[0] })
    const put = async (change: object, shown: object) => {
      const answer = await shop.billing.put(`/multiplans/${multiplan.id}`, change)
      expectOk(answer, 'Multiplan updated')
      expect(answer.body.data).toEqual({ ...multiplan, ...shown, updatedAt: timestamp })
      multiplan = answer.body.data
    }
    await put({ page_title: 'New title' }, { page_title: 'New title' })
    await put({ multiplan_list: 'select' }, { multiplan_list: 'select' })
    await put({ preferred_plan_id: plans[1] }, { preferred_plan_id: plans[1] })
    await put({ plans: [plans[2], plans[1]] }, { plans: [multiplan.plans[2], multiplan.plans[1]] })
    await put({ preferred_plan_id: null }, { preferred_plan_id: '' })
    await put({ preferred_plan_id: plans[2] }, { preferred_plan_id: plans[2] })
    await put({ preferred_plan_id: '' }, { preferred_plan_id: '' })
    await put({ product_id: multiplan.product_id }, {})
    await put({}, {})
  })

  test('product_id can’t change; the other rules hold', async () => {
    const { shop, plans, make } = await setUp()
    await make({ page_title: 'Taken' })
    const multiplan = await make({ preferred_plan_id: plans[0] })
    const put = (change: object) => shop.billing.put(`/multiplans/${multiplan.id}`, change)
    expectRefused(await put({ product_id: await makeProduct(shop) }), 422, 'product_fixed')
    expectRefused(await put({ page_title: 'Taken' }), 409, 'page_title_taken', 'page_title')
    expectRefused(await put({ plans: [] }), 400, 'validation_failed', 'plans')
    expectRefused(await put({ plans: ['f'.repeat(24)] }), 422, 'plan_not_of_product', 'plans[0]')
    expectRefused(await put({ plans: [plans[1]] }), 422, 'preferred_plan_not_offered', 'preferred_plan_id')
    expectRefused(await put({ preferred_plan_id: 'x' }), 422, 'preferred_plan_not_offered', 'preferred_plan_id')
    expect((await shop.billing.get(`/multiplans/${multiplan.id}`)).body.data).toEqual(multiplan)
  })

  test('a missing and another business’s multiplan answer alike', async () => {
    const { shop, make } = await setUp()
    const multiplan = await make()
    expectRefused(await shop.billing.put(`/multiplans/${'f'.repeat(24)}`, {}), 404, 'multiplan_not_found')
    const other = await w.business()
    expectRefused(await other.billing.put(`/multiplans/${multiplan.id}`, {}), 404, 'multiplan_not_found')
  })
})

describe('DELETE /multiplans/{id}', () => {
  test('answers the deleted multiplan; its title is free again', async () => {
    const { shop, make } = await setUp()
    const multiplan = await make({ page_title: 'Gone' })
    const other = await w.business()
    expectRefused(await other.billing.delete(`/multiplans/${multiplan.id}`), 404, 'multiplan_not_found')
    const answer = await shop.billing.delete(`/multiplans/${multiplan.id}`)
    expectOk(answer, 'Multiplan deleted')
    expect(answer.body.data).toEqual(multiplan)
    expectRefused(await shop.billing.get(`/multiplans/${multiplan.id}`), 404, 'multiplan_not_found')
    expectRefused(await shop.billing.delete(`/multiplans/${multiplan.id}`), 404, 'multiplan_not_found')
    expect((await shop.billing.get('/multiplans')).body.data).toEqual([])
    await make({ page_title: 'Gone' })
  })
})
