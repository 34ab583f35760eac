import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type World, world } from '../world.ts'
import { expectOk, expectPages, expectRefused, fresh, id, makePlan, makeProduct, timestamp } from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

async function setUp(currency = 'USD') {
  const shop = await w.business({ currency })
  const productId = await makeProduct(shop)
  const create = (fields: object = {}) =>
    shop.billing.post('/plan/create', {
      product_id: productId,
      plan_name: 'Plan',
      plan_code: fresh('plan'),
      price: 10,
      ...fields,
    })
  const make = async (fields: object = {}) => {
    const answer = await create(fields)
    expectOk(answer, 'Plan created')
    return answer.body.data
  }
  return { shop, productId, create, make }
}

describe('POST /plan/create', () => {
  test('answers the plan with every field in its type', async () => {
    const { productId, create } = await setUp()
    const answer = await create({
      plan_name: 'Team',
      plan_code: 'team-monthly',
      price: 49.5,
      billing_period: 'm',
      billing_period_num: 3,
      billing_cycle: 'specific',
      billing_cycle_num: '12',
      plan_type: 'per_unit',
      currency_code: 'eur',
      setup_fee: 99,
      setup_fee_type: 'once',
      trial_period: 14,
      trial_type: 'day',
      custom_payment_term: 30,
      failed_payment_gateway: 'offline',
      failed_payment_gateway_array: ['offline', 'test'],
      funnel: [{ step: 'thanks' }],
      is_metered: true,
      plan_description: '<p>For teams</p>',
      plan_active: 'true',
      meta_data: { tier: 2, tags: ['a'] },
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Plan created',
      data: {
        id,
        product_id: productId,
        plan_name: 'Team',
        plan_code: 'team-monthly',
        plan_type: 'per_unit',
        plan_active: 'true',
        price: 49.5,
        currency_code: 'EUR',
        currency_symbol: '€',
        billing_period: 'm',
        billing_period_num: '3',
        billing_cycle: 'specific',
        billing_cycle_num: '12',
        trial_period: 14,
        trial_type: 'day',
        setup_fee: 99,
        setup_fee_type: 'once',
        custom_payment_term: 30,
        failed_payment_gateway: 'offline',
        failed_payment_gateway_array: ['offline', 'test'],
        funnel: [{ step: 'thanks' }],
        is_metered: true,
        plan_description: '<p>For teams</p>',
        meta_data: { tier: 2, tags: ['a'] },
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    })
  })

  test('only product, name, code and price are required', async () => {
    const { create, make } = await setUp('GBP')
    expect(await make()).toMatchObject({
      plan_type: 'flat_fee',
      plan_active: 'true',
      currency_code: 'GBP',
      currency_symbol: '£',
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
    })
    for (const field of ['product_id', 'plan_name', 'plan_code', 'price'])
      expectRefused(await create({ [field]: undefined }), 400, 'validation_failed', field)
  })

  test('every value of every choice is taken', async () => {
    const { make } = await setUp()
    for (const plan_type of ['flat_fee', 'per_unit', 'donation', 'variable'])
      expect(await make({ plan_type })).toMatchObject({ plan_type })
    for (const billing_period of ['d', 'w', 'm', 'y'])
      expect(await make({ billing_period })).toMatchObject({ billing_period })
    for (const trial_type of ['day', 'week', 'month']) expect(await make({ trial_type })).toMatchObject({ trial_type })
    expect(await make({ billing_cycle: 'onetime', billing_cycle_num: 5 })).toMatchObject({
      billing_cycle: 'onetime',
      billing_cycle_num: '',
    })
    for (const plan_active of [true, 'true', false, 'false'])
      expect(await make({ plan_active })).toMatchObject({ plan_active: String(plan_active) })
  })

  test('amounts have the decimals of their currency and no more', async () => {
    const { create, make } = await setUp()
    for (const [currency_code, price] of [
      ['USD', 0],
      ['USD', 0.01],
      ['USD', 19.99],
      ['USD', 9_999_999_999.99],
      ['JPY', 1_000],
      ['KWD', 1.234],
    ] as const)
      expect(await make({ currency_code, price, setup_fee: price })).toMatchObject({
        price,
        setup_fee: price,
        currency_code,
      })
    for (const [currency_code, price] of [
      ['USD', 0.001],
      ['USD', -1],
      ['USD', 10_000_000_000],
      ['USD', 1e300],
      ['USD', 1e-300],
      ['USD', '10'],
      ['USD', null],
      ['JPY', 10.5],
      ['KWD', 1.2345],
    ] as const) {
      expectRefused(await create({ currency_code, price }), 400, 'validation_failed', 'price')
      expectRefused(await create({ currency_code, setup_fee: price }), 400, 'validation_failed', 'setup_fee')
    }
  })

  test('limits at their bound and one past it', async () => {
    const { create } = await setUp()
    const good: object[] = [
      { billing_period: 'd', billing_period_num: 3_660 },
      { billing_period: 'w', billing_period_num: 520 },
      { billing_period: 'm', billing_period_num: 120 },
      { billing_period: 'y', billing_period_num: '10' },
      { billing_cycle: 'specific', billing_cycle_num: 1_000 },
      { billing_cycle: 'specific', billing_cycle_num: 100, billing_period: 'y', billing_period_num: 10 },
      { billing_cycle: 'specific', billing_cycle_num: 1 },
      { trial_period: 3_650 },
      { custom_payment_term: 3_650 },
      { plan_name: 'x'.repeat(255) },
      { plan_code: 'x'.repeat(255) },
      { plan_description: 'x'.repeat(20_000) },
      { funnel: Array(100).fill(1) },
    ]
    for (const fields of good) expectOk(await create(fields))
    const wrong: [string, unknown, object?][] = [
      ['billing_period_num', 3_661, { billing_period: 'd' }],
      ['billing_period_num', 521, { billing_period: 'w' }],
      ['billing_period_num', 121],
      ['billing_period_num', 11, { billing_period: 'y' }],
      ['billing_period_num', 0],
      ['billing_period_num', -1],
      ['billing_period_num', 1.5],
      ['billing_period_num', 'one'],
      ['billing_period_num', ''],
      ['billing_period_num', null],
      ['billing_cycle_num', 0, { billing_cycle: 'specific' }],
      ['billing_cycle_num', 1_001, { billing_cycle: 'specific' }],
      ['billing_cycle_num', 101, { billing_cycle: 'specific', billing_period: 'y', billing_period_num: 10 }],
      ['billing_cycle_num', '', { billing_cycle: 'specific' }],
      ['billing_cycle_num', undefined, { billing_cycle: 'specific' }],
      ['trial_period', 3_651],
      ['trial_period', -1],
      ['trial_period', 1.5],
      ['trial_period', '14'],
      ['custom_payment_term', 3_651],
      ['plan_name', ''],
      ['plan_name', ' '],
      ['plan_name', 'x'.repeat(256)],
      ['plan_code', 'x'.repeat(256)],
      ['plan_description', 'x'.repeat(20_001)],
      ['funnel', Array(101).fill(1)],
      ['funnel', {}],
      ['meta_data', []],
      ['meta_data', 'x'],
      ['failed_payment_gateway_array', 'offline'],
      ['plan_type', 'tiered'],
      ['billing_period', 'month'],
      ['billing_cycle', 'forever'],
      ['trial_type', 'year'],
      ['plan_active', 'yes'],
      ['is_metered', 'true'],
      ['currency_code', 'XXX'],
      ['currency_code', 'dollars'],
    ]
    for (const [field, value, more] of wrong)
      expectRefused(await create({ ...more, [field]: value }), 400, 'validation_failed', field)
  })

  test('the code is unique in the product', async () => {
    const { shop, create, make } = await setUp()
    await make({ plan_code: 'pro' })
    expectRefused(await create({ plan_code: 'pro' }), 409, 'plan_code_taken', 'plan_code')
    await makePlan(shop, await makeProduct(shop), { plan_code: 'pro' })
    const racers = await Promise.all(Array.from({ length: 10 }, () => create({ plan_code: 'race' })))
    expect(racers.map(answer => answer.status).sort()).toEqual([200, ...Array(9).fill(409)])
  })

  test('a missing and another business’s product answer 404', async () => {
    const [{ create }, other] = [await setUp(), await setUp()]
    for (const product_id of [other.productId, 'f'.repeat(24), 'x'])
      expectRefused(await create({ product_id }), 404, 'product_not_found')
  })
})

describe('PUT /plan/update/{plan_id}', () => {
  test('changes each field alone and keeps the rest', async () => {
    const { shop, productId, make } = await setUp()
    let plan = await make()
    const changes: [object, object?][] = [
      [{ plan_name: 'New' }],
      [{ plan_code: fresh('code') }],
      [{ price: 12.34 }],
      [{ setup_fee: 5 }],
      [{ setup_fee_type: 'x' }],
      [{ plan_type: 'per_unit' }],
      [{ plan_active: false }, { plan_active: 'false' }],
      [{ plan_active: 'true' }],
      [{ billing_period: 'y' }],
      [{ billing_period_num: 2 }, { billing_period_num: '2' }],
      [
        { billing_cycle: 'specific', billing_cycle_num: 4 },
        { billing_cycle: 'specific', billing_cycle_num: '4' },
      ],
      [{ billing_cycle_num: '6' }],
      [{ billing_cycle: 'lifetime' }, { billing_cycle: 'lifetime', billing_cycle_num: '' }],
      [{ trial_period: 7 }],
      [{ trial_type: 'week' }],
      [{ custom_payment_term: 15 }],
      [{ failed_payment_gateway: 'offline' }],
      [{ failed_payment_gateway_array: ['offline'] }],
      [{ funnel: ['a'] }],
      [{ is_metered: true }],
      [{ plan_description: 'text' }],
      [{ meta_data: { a: 1 } }],
      [{ product_id: productId }],
      [{ price: 20, setup_fee: 3 }],
      [{ currency_code: 'JPY' }, { currency_code: 'JPY', currency_symbol: '¥' }],
      [
        { currency_code: 'KWD', price: 1.234 },
        { currency_code: 'KWD', currency_symbol: 'KWD', price: 1.234 },
      ],
      [{}],
    ]
    for (const [change, shown = change] of changes) {
      const answer = await shop.billing.put(`/plan/update/${plan.id}`, change)
      expectOk(answer, 'Plan updated')
      expect(answer.body.data).toEqual({ ...plan, ...shown, updatedAt: timestamp })
      plan = answer.body.data
    }
    const whole = await shop.billing.put(`/plan/update/${plan.id}`, plan)
    expect(whole.body.data).toEqual({ ...plan, updatedAt: timestamp })
  })

  test('refuses what breaks a rule', async () => {
    const { shop, make } = await setUp()
    await make({ plan_code: 'taken' })
    const plan = await make({ price: 10.5 })
    const put = (change: object) => shop.billing.put(`/plan/update/${plan.id}`, change)
    expectRefused(await put({ plan_code: 'taken' }), 409, 'plan_code_taken', 'plan_code')
    expectRefused(await put({ product_id: await makeProduct(shop) }), 422, 'product_fixed')
    expectRefused(await put({ currency_code: 'JPY' }), 400, 'validation_failed', 'price')
    expectRefused(await put({ billing_cycle: 'specific' }), 400, 'validation_failed', 'billing_cycle_num')
    expectRefused(await put({ price: 1.001 }), 400, 'validation_failed', 'price')
    expect((await shop.billing.get(`/plan/${plan.id}`)).body.data).toEqual(plan)
  })

  test('a missing and another business’s plan answer alike', async () => {
    const { shop, make } = await setUp()
    const plan = await make()
    expectRefused(await shop.billing.put(`/plan/update/${'f'.repeat(24)}`, {}), 404, 'plan_not_found')
    expectRefused(await (await w.business()).billing.put(`/plan/update/${plan.id}`, {}), 404, 'plan_not_found')
  })
})

describe('GET /plans and GET /plans/{product_id}', () => {
  test('page, newest first', async () => {
    const { shop, make } = await setUp()
    await expectPages(shop, '/plans', async () => (await make()).id)
  })

  test('of one product', async () => {
    const { shop, productId, make } = await setUp()
    await makePlan(shop, await makeProduct(shop))
    await expectPages(shop, `/plans/${productId}`, async () => (await make()).id)
    expectRefused(await shop.billing.get(`/plans/${'f'.repeat(24)}`), 404, 'product_not_found')
    expectRefused(await (await w.business()).billing.get(`/plans/${productId}`), 404, 'product_not_found')
  })
})

describe('GET /plan/{plan_id}', () => {
  test('answers the plan; missing and another’s alike', async () => {
    const { shop, make } = await setUp()
    const plan = await make()
    expect((await shop.billing.get(`/plan/${plan.id}`)).body).toEqual({
      status: 'success',
      message: 'Plan',
      data: plan,
    })
    const missing = await shop.billing.get('/plan/nonsense')
    expectRefused(missing, 404, 'plan_not_found')
    const other = await (await w.business()).billing.get(`/plan/${plan.id}`)
    expect({ ...other.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' })
  })
})

describe('DELETE /plans/{plan_id}', () => {
  test('answers the deleted plan; nothing offers it any longer; its code is free', async () => {
    const { shop, productId, make } = await setUp()
    const [plan, kept] = [await make({ plan_code: 'gone' }), await make()]
    const selected = { associate_plans: 'selected_plans', plans_array: [plan.id, kept.id] }
    const addon = await shop.billing.post(`/addon/${productId}`, {
      ...selected,
      billing_period: 'm',
      billing_cycle: 'lifetime',
      status: true,
      billing_period_num: 1,
      code: 'x',
      name: 'x',
      price: 1,
    })
    const coupon = await shop.billing.post(`/coupon/${productId}`, {
      ...selected,
      coupon_name: 'x',
      coupon_code: 'x',
      discount: 1,
    })
    expectOk(addon)
    expectOk(coupon)
    expectRefused(await (await w.business()).billing.delete(`/plans/${plan.id}`), 404, 'plan_not_found')
    const answer = await shop.billing.delete(`/plans/${plan.id}`)
    expectOk(answer, 'Plan deleted')
    expect(answer.body.data).toEqual(plan)
    expectRefused(await shop.billing.get(`/plan/${plan.id}`), 404, 'plan_not_found')
    expectRefused(await shop.billing.delete(`/plans/${plan.id}`), 404, 'plan_not_found')
    expect((await shop.billing.get(`/addon/${addon.body.data.id}`)).body.data.plans_array).toEqual([kept.id])
    expect((await shop.billing.get(`/coupon/${productId}`)).body.data[0].plans_array).toEqual([kept.id])
    await make({ plan_code: 'gone' })
  })
})

describe('the test clock', () => {
  test('gives records their times', async () => {
    const shop = await w.business({ testMode: true })
    const set = await shop.account.put('/clock', { now: '2030-05-06T07:08:09.000Z' })
    expect(set.status).toBe(200)
    const product = (await shop.billing.post('/product/create', { product_name: 'Later' })).body.data
    expect(product).toMatchObject({ createdAt: '2030-05-06T07:08:09.000Z', updatedAt: '2030-05-06T07:08:09.000Z' })
  })
})
