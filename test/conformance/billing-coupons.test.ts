import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findUsableCoupon, redeemCoupon } from '../../src/billing/coupons/redeem.ts'
import { getPlan } from '../../src/billing/plans/plans.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import { expectOk, expectPages, expectRefused, fresh, id, makePlan, makeProduct, timestamp } from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

async function setUp(currency = 'USD', timeZone = 'UTC') {
  const shop = await w.business({ currency, timeZone })
  const productId = await makeProduct(shop)
  return { shop, productId, planId: await makePlan(shop, productId) }
}

async function make(shop: TestBusiness, productId: string, fields: object = {}) {
  const body = { coupon_name: 'Spring', coupon_code: fresh('SPRING').replace(' ', ''), discount: 20, ...fields }
  const answer = await shop.billing.post(`/coupon/${productId}`, body)
  expectOk(answer, 'Coupon created')
  return answer.body.data
}

describe('POST /coupon/{product_id}', () => {
  test('answers the coupon with every field', async () => {
    const { shop, productId, planId } = await setUp()
    const answer = await shop.billing.post(`/coupon/${productId}`, {
      coupon_name: 'Spring sale',
      coupon_code: 'SPRING',
      status: 'active',
      apply_to: 'subscription_amount',
      discount: 12.5,
      discount_type: 'percent',
      redemption_type: 'number_time',
      redemption_cycle: 3,
      maximum_redemption: 100,
      associate_plans: 'selected_plans',
      plans_array: [planId],
      valid_upto: '2027-03-31',
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Coupon created',
      data: {
        id,
        product_id: productId,
        coupon_name: 'Spring sale',
        coupon_code: 'SPRING',
        status: 'active',
        apply_to: 'subscription_amount',
        discount: 12.5,
        discount_type: 'percent',
        currency_code: 'USD',
        redemption_type: 'number_time',
        redemption_cycle: 3,
        maximum_redemption: 100,
        used_redemption: 0,
        associate_plans: 'selected_plans',
        plans_array: [planId],
        valid_upto: '2027-03-31',
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    })
  })

  test('defaults: active, on the total, percent, once, for all plans, without limit or end', async () => {
    const { shop, productId } = await setUp()
    expect(await make(shop, productId)).toMatchObject({
      status: 'active',
      apply_to: 'total_amount',
      discount: 20,
      discount_type: 'percent',
      redemption_type: 'onetime',
      redemption_cycle: 1,
      maximum_redemption: 0,
      associate_plans: 'all',
      plans_array: null,
      valid_upto: '',
    })
    expect(await make(shop, productId, { redemption_type: 'forever' })).toMatchObject({ redemption_cycle: 0 })
  })

  test('every value of every choice is taken', async () => {
    const { shop, productId } = await setUp()
    for (const apply_to of ['total_amount', 'subscription_amount', 'addon_amount'])
      for (const discount_type of ['percent', 'flat'])
        expect(await make(shop, productId, { apply_to, discount_type })).toMatchObject({ apply_to, discount_type })
    expect(await make(shop, productId, { status: 'inactive' })).toMatchObject({ status: 'inactive' })
  })

  test('refuses what has the wrong form', async () => {
    const { shop, productId } = await setUp()
    const create = (fields: object) =>
      shop.billing.post(`/coupon/${productId}`, { coupon_name: 'x', coupon_code: fresh('x'), discount: 10, ...fields })
    const wrong: [string, unknown, object?][] = [
      ['coupon_name', undefined],
      ['coupon_name', ''],
      ['coupon_code', undefined],
      ['coupon_code', 'x'.repeat(256)],
      ['discount', undefined],
      ['discount', 0],
      ['discount', -5],
      ['discount', 100.0001],
      ['discount', 10.12345],
      ['discount', '10'],
      ['discount', 1e-7],
      ['discount', 10.001, { discount_type: 'flat' }],
      ['discount', 1e12, { discount_type: 'flat' }],
      ['discount_type', 'fixed'],
      ['status', 'on'],
      ['apply_to', 'everything'],
      ['redemption_type', 'twice'],
      ['redemption_cycle', 0, { redemption_type: 'number_time' }],
      ['redemption_cycle', undefined, { redemption_type: 'number_time' }],
      ['redemption_cycle', 1_001, { redemption_type: 'number_time' }],
      ['maximum_redemption', -1],
      ['maximum_redemption', 3_000_000_000],
      ['maximum_redemption', 1.5],
      ['associate_plans', 'none'],
      ['valid_upto', '31.12.2027'],
      ['valid_upto', '2027-02-30'],
      ['valid_upto', '2027-13-01'],
      ['currency_code', 'XXX'],
    ]
    for (const [field, value, more] of wrong)
      expectRefused(await create({ ...more, [field]: value }), 400, 'validation_failed', field)
    for (const fields of [
      { discount: 100 },
      { discount: 0.0001 },
      { discount: 10.01, discount_type: 'flat' },
      { redemption_type: 'number_time', redemption_cycle: 1_000 },
      { maximum_redemption: 2_000_000_000 },
      { valid_upto: null },
      { valid_upto: '' },
      { valid_upto: '2028-02-29' },
    ])
      expectOk(await create(fields))
  })

  test('selected plans must be plans of the product; a flat discount is in their currency', async () => {
    const { shop, productId, planId } = await setUp()
    const create = (fields: object) =>
      shop.billing.post(`/coupon/${productId}`, { coupon_name: 'x', coupon_code: fresh('x'), discount: 10, ...fields })
    const selected = (...plans_array: string[]) => ({ associate_plans: 'selected_plans', plans_array })
    expectRefused(await create({ associate_plans: 'selected_plans' }), 422, 'plans_required', 'plans_array')
    expectRefused(await create(selected('f'.repeat(24))), 422, 'plan_not_of_product', 'plans_array[0]')
    const yen = await makePlan(shop, productId, { currency_code: 'JPY' })
    expectOk(await create(selected(planId, yen)))
    expectRefused(
      await create({ discount_type: 'flat', ...selected(planId, yen) }),
      422,
      'coupon_currency',
      'plans_array',
    )
    const flat = await create({ discount_type: 'flat', discount: 500, ...selected(yen) })
    expect(flat.body.data).toMatchObject({ discount: 500, currency_code: 'JPY' })
  })

  test('the code is unique in the product without regard to case', async () => {
    const { shop, productId } = await setUp()
    await make(shop, productId, { coupon_code: 'Hello' })
    const again = { coupon_name: 'x', coupon_code: 'HELLO', discount: 1 }
    expectRefused(await shop.billing.post(`/coupon/${productId}`, again), 409, 'coupon_code_taken', 'coupon_code')
    await make(shop, await makeProduct(shop), { coupon_code: 'hello' })
  })

  test('a missing and another business’s product answer 404', async () => {
    const [{ shop }, other] = [await setUp(), await setUp()]
    const body = { coupon_name: 'x', coupon_code: 'x', discount: 1 }
    for (const productId of [other.productId, 'f'.repeat(24)])
      expectRefused(await shop.billing.post(`/coupon/${productId}`, body), 404, 'product_not_found')
  })
})

describe('GET /coupon/{product_id}', () => {
  test('pages through the coupons of the product, newest first', async () => {
    const { shop, productId } = await setUp()
    await make(shop, await makeProduct(shop))
    await expectPages(shop, `/coupon/${productId}`, async () => (await make(shop, productId)).id)
    expectRefused(await (await w.business()).billing.get(`/coupon/${productId}`), 404, 'product_not_found')
  })
})

describe('PUT /coupon/{id}', () => {
  test('changes what is given and keeps the rest', async () => {
    const { shop, productId, planId } = await setUp()
    let coupon = await make(shop, productId)
    const put = async (change: object, shown: object = change) => {
      const answer = await shop.billing.put(`/coupon/${coupon.id}`, change)
      expectOk(answer, 'Coupon updated')
      expect(answer.body.data).toEqual({ ...coupon, ...shown, updatedAt: timestamp })
      coupon = answer.body.data
    }
    await put({ coupon_name: 'Autumn' })
    await put({ coupon_code: 'AUTUMN' })
    await put({ discount: 33.3333 })
    await put({ discount_type: 'flat', discount: 5 })
    await put({ redemption_type: 'number_time', redemption_cycle: 6 })
    await put({ maximum_redemption: 5 })
    await put({ apply_to: 'addon_amount' })
    await put({ associate_plans: 'selected_plans', plans_array: [planId] })
    await put({ associate_plans: 'all_plans' }, { associate_plans: 'all', plans_array: null })
    await put({ valid_upto: '2030-01-01' })
    await put({ valid_upto: null }, { valid_upto: '' })
    await put({ redemption_type: 'forever' }, { redemption_type: 'forever', redemption_cycle: 0 })
    await put({ status: 'inactive' })
  })

  test('refuses what breaks a rule', async () => {
    const { shop, productId } = await setUp()
    await make(shop, productId, { coupon_code: 'taken' })
    const coupon = await make(shop, productId)
    const put = (change: object) => shop.billing.put(`/coupon/${coupon.id}`, change)
    expectRefused(await put({ coupon_code: 'TAKEN' }), 409, 'coupon_code_taken', 'coupon_code')
    expectRefused(await put({ discount_type: 'flat' }), 400, 'validation_failed', 'discount')
    expectRefused(await put({ discount: 101 }), 400, 'validation_failed', 'discount')
    expectRefused(await put({ product_id: await makeProduct(shop) }), 422, 'product_fixed')
    for (let i = 0; i < 3; i++) await w.db.begin(tx => redeemCoupon(tx, shop.id, coupon.id))
    expectRefused(await put({ maximum_redemption: 2 }), 422, 'maximum_below_used', 'maximum_redemption')
    expectOk(await put({ maximum_redemption: 3 }))
    expectOk(await put({ maximum_redemption: 0 }))
    expectRefused(await (await w.business()).billing.put(`/coupon/${coupon.id}`, {}), 404, 'coupon_not_found')
    expectRefused(await shop.billing.put(`/coupon/${'f'.repeat(24)}`, {}), 404, 'coupon_not_found')
  })
})

describe('DELETE /coupons/{id}', () => {
  test('answers the deleted coupon; its code is free again', async () => {
    const { shop, productId } = await setUp()
    const coupon = await make(shop, productId, { coupon_code: 'BYE' })
    expectRefused(await (await w.business()).billing.delete(`/coupons/${coupon.id}`), 404, 'coupon_not_found')
    const answer = await shop.billing.delete(`/coupons/${coupon.id}`)
    expectOk(answer, 'Coupon deleted')
    expect(answer.body.data).toEqual(coupon)
    expectRefused(await shop.billing.delete(`/coupons/${coupon.id}`), 404, 'coupon_not_found')
    await make(shop, productId, { coupon_code: 'BYE' })
  })
})

describe('using a coupon', () => {
  const at = (text: string) => new Date(text)
  const find = async (shop: TestBusiness, planId: string, code: string, now = at('2026-11-15T12:00:00Z')) =>
    findUsableCoupon(w.db, shop, { plan: await getPlan(w.db, shop.id, planId), code, now })

  test('is found by its code, however it is typed', async () => {
    const { shop, productId, planId } = await setUp()
    const coupon = await make(shop, productId, { coupon_code: 'Save20' })
    expect(await find(shop, planId, ' sAVE20 ')).toMatchObject({ id: coupon.id, discountPpm: 200_000 })
  })

  test('says why it can’t be used', async () => {
    const { shop, productId, planId } = await setUp()
    const [second, yen] = [await makePlan(shop, productId), await makePlan(shop, productId, { currency_code: 'JPY' })]
    await expect(find(shop, planId, 'nothing')).rejects.toMatchObject({ status: 422, code: 'coupon_unknown' })
    await make(shop, productId, { coupon_code: 'off', status: 'inactive' })
    await expect(find(shop, planId, 'off')).rejects.toMatchObject({ status: 422, code: 'coupon_inactive' })
    await make(shop, productId, { coupon_code: 'one', associate_plans: 'selected_plans', plans_array: [planId] })
    await expect(find(shop, second, 'one')).rejects.toMatchObject({ status: 422, code: 'coupon_not_for_plan' })
    await make(shop, productId, { coupon_code: 'flat', discount_type: 'flat', currency_code: 'USD' })
    await expect(find(shop, yen, 'flat')).rejects.toMatchObject({ status: 422, code: 'coupon_not_for_plan' })
    expect(await find(shop, planId, 'flat')).toMatchObject({ discountMinor: 2_000n })
    const elsewhere = await makePlan(shop, await makeProduct(shop))
    await expect(find(shop, elsewhere, 'one')).rejects.toMatchObject({ status: 422, code: 'coupon_unknown' })
    await expect(find(await w.business(), planId, 'one')).rejects.toMatchObject({ status: 404 })
  })

  test('is valid through its last day in the business’s time zone', async () => {
    const { shop, productId, planId } = await setUp('USD', 'America/New_York')
    await make(shop, productId, { coupon_code: 'day', valid_upto: '2026-11-15' })
    expect(await find(shop, planId, 'day', at('2026-11-16T04:59:59.999Z'))).toBeDefined()
    await expect(find(shop, planId, 'day', at('2026-11-16T05:00:00Z'))).rejects.toMatchObject({
      code: 'coupon_expired',
    })
  })

  test('many at once never use it more often than allowed, and a failed sale gives its use back', async () => {
    const { shop, productId, planId } = await setUp()
    const coupon = await make(shop, productId, { coupon_code: 'few', maximum_redemption: 7 })
    const sale = (fails: boolean) =>
      w.db.begin(async tx => {
        await redeemCoupon(tx, shop.id, coupon.id)
        if (fails) throw new Error('card declined')
      })
    const results = await Promise.allSettled(Array.from({ length: 60 }, (_, i) => sale(i % 5 === 0)))
    const sold = results.filter(result => result.status === 'fulfilled').length
    expect(sold).toBe(7)
    for (const result of results)
      if (result.status === 'rejected' && result.reason.message !== 'card declined')
        expect(result.reason).toMatchObject({ status: 422, code: 'coupon_used_up' })
    await expect(find(shop, planId, 'few')).rejects.toMatchObject({ status: 422, code: 'coupon_used_up' })
    const { data } = (await shop.billing.get(`/coupon/${productId}`)).body
    expect(data[0]).toMatchObject({ maximum_redemption: 7, used_redemption: 7 })
  })
})
