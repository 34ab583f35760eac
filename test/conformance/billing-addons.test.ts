import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'
import { expectOk, expectPages, expectRefused, fresh, id, makePlan, makeProduct, timestamp } from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const required = () => ({
  billing_period: 'm',
  billing_cycle: 'lifetime',
  status: 'true',
  associate_plans: 'all_plans',
  billing_period_num: 1,
  code: fresh('addon'),
  name: 'Extra seat',
  price: 5,
})

async function setUp() {
  const shop = await w.business()
  return { shop, productId: await makeProduct(shop) }
}

async function make(shop: TestBusiness, productId: string, fields: object = {}) {
  const answer = await shop.billing.post(`/addon/${productId}`, { ...required(), ...fields })
  expectOk(answer, 'Add-on created')
  return answer.body.data
}

describe('POST /addon/{product_id}', () => {
  test('answers the add-on with every field; all_plans is echoed as all', async () => {
    const { shop, productId } = await setUp()
    const answer = await shop.billing.post(`/addon/${productId}`, {
      billing_period: 'y',
      billing_cycle: 'onetime',
      status: 'true',
      associate_plans: 'all_plans',
      billing_period_num: 2,
      category_array: ['Support', 'Extras'],
      code: 'priority',
      name: 'Priority support',
      price: 25,
      description: 'for the merchant only',
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Add-on created',
      data: {
        id,
        product_id: productId,
        user_id: shop.userId,
        name: 'Priority support',
        code: 'priority',
        price: 25,
        currency_code: 'USD',
        currency_symbol: '$',
        billing_period: 'y',
        billing_period_num: 2,
        billing_cycle: 'onetime',
        status: true,
        associate_plans: 'all',
        plans_array: null,
        category_array: ['Support', 'Extras'],
        description: 'for the merchant only',
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    })
  })

  test('selected plans must be plans of the product', async () => {
    const { shop, productId } = await setUp()
    const [one, two] = [await makePlan(shop, productId), await makePlan(shop, productId)]
    const addon = await make(shop, productId, { associate_plans: 'selected_plans', plans_array: [two, one, two] })
    expect(addon).toMatchObject({ associate_plans: 'selected_plans', plans_array: [two, one] })

    const create = (plans_array: unknown) =>
      shop.billing.post(`/addon/${productId}`, { ...required(), associate_plans: 'selected_plans', plans_array })
    expectRefused(await create(undefined), 422, 'plans_required', 'plans_array')
    expectRefused(await create([]), 422, 'plans_required', 'plans_array')
    expectRefused(await create(null), 422, 'plans_required', 'plans_array')
    const elsewhere = await makePlan(shop, await makeProduct(shop))
    expectRefused(await create([one, elsewhere]), 422, 'plan_not_of_product', 'plans_array[1]')
    const other = await w.business()
    const theirs = await makePlan(other, await makeProduct(other))
    expectRefused(await create([theirs]), 422, 'plan_not_of_product', 'plans_array[0]')
    expectRefused(await create(['f'.repeat(24)]), 422, 'plan_not_of_product', 'plans_array[0]')
    expectRefused(await create([5]), 400, 'validation_failed', 'plans_array[0]')
    expectRefused(await create({}), 400, 'validation_failed', 'plans_array')
  })

  test('every required field is required, every value checked', async () => {
    const { shop, productId } = await setUp()
    const create = (fields: object) => shop.billing.post(`/addon/${productId}`, fields)
    for (const field of Object.keys(required())) {
      const { [field as 'code']: _, ...rest } = required()
      expectRefused(await create(rest), 400, 'validation_failed', field)
    }
    const wrong: [string, unknown][] = [
      ['billing_period', 'd'],
      ['billing_period', ''],
      ['billing_cycle', 'specific'],
      ['status', 'maybe'],
      ['status', 1],
      ['associate_plans', 'some'],
      ['billing_period_num', 0],
      ['billing_period_num', 1.5],
      ['billing_period_num', '1'],
      ['billing_period_num', 121],
      ['category_array', 'Support'],
      ['category_array', Array.from({ length: 101 }, (_, i) => `c${i}`)],
      ['code', ''],
      ['code', 'x'.repeat(256)],
      ['name', ''],
      ['name', 'x'.repeat(256)],
      ['price', -1],
      ['price', '5'],
      ['price', 1e300],
      ['price', 10_000_000_000],
      ['price', 1.234],
      ['description', 5],
    ]
    for (const [field, value] of wrong)
      expectRefused(await create({ ...required(), [field]: value }), 400, 'validation_failed', field)
    for (const [field, value] of [
      ['billing_period_num', 120],
      ['price', 0],
      ['price', 1.23],
      ['price', 9_999_999_999.99],
      ['name', 'x'.repeat(255)],
      ['status', false],
      ['status', 'false'],
      ['associate_plans', 'all'],
    ])
      expectOk(await create({ ...required(), [field as string]: value }))
  })

  test('the code is unique in the product', async () => {
    const { shop, productId } = await setUp()
    await make(shop, productId, { code: 'seat' })
    const again = await shop.billing.post(`/addon/${productId}`, { ...required(), code: 'seat' })
    expectRefused(again, 409, 'addon_code_taken', 'code')
    await make(shop, await makeProduct(shop), { code: 'seat' })
    const racers = await Promise.all(
      Array.from({ length: 10 }, () => shop.billing.post(`/addon/${productId}`, { ...required(), code: 'race' })),
    )
    expect(racers.map(answer => answer.status).sort()).toEqual([200, ...Array(9).fill(409)])
  })

  test('a missing and another business’s product answer 404', async () => {
    const [{ shop }, other] = [await setUp(), await setUp()]
    for (const productId of [other.productId, 'f'.repeat(24), 'x'])
      expectRefused(await shop.billing.post(`/addon/${productId}`, required()), 404, 'product_not_found')
  })

  test('its currency is that of its plans, with that currency’s decimals', async () => {
    const { shop, productId } = await setUp()
    const yen = await makePlan(shop, productId, { currency_code: 'JPY', price: 1000 })
    const selected = { associate_plans: 'selected_plans', plans_array: [yen] }
    expect(await make(shop, productId, { ...selected, price: 300 })).toMatchObject({ currency_code: 'JPY', price: 300 })
    expectRefused(
      await shop.billing.post(`/addon/${productId}`, { ...required(), ...selected, price: 3.5 }),
      400,
      'validation_failed',
      'price',
    )
    expectRefused(
      await shop.billing.post(`/addon/${productId}`, { ...required(), ...selected, currency_code: 'USD' }),
      422,
      'addon_currency',
      'plans_array',
    )
    expect(await make(shop, productId, { currency_code: 'KWD', price: 1.234 })).toMatchObject({ price: 1.234 })
    expectRefused(
      await shop.billing.post(`/addon/${productId}`, { ...required(), currency_code: 'XXX' }),
      400,
      'validation_failed',
      'currency_code',
    )
  })

  test('with an Idempotency-Key it is made once', async () => {
    const { shop, productId } = await setUp()
    const body = required()
    const call = () => shop.billing.post(`/addon/${productId}`, body, { 'idempotency-key': 'a' })
    const [one, two] = [await call(), await call()]
    expectOk(one)
    expect(two.text).toBe(one.text)
  })
})

describe('PUT /addon/{addon_id}', () => {
  test('changes each field alone and keeps the rest', async () => {
    const { shop, productId } = await setUp()
    const planId = await makePlan(shop, productId)
    let addon = await make(shop, productId)
    const changes: [object, object?][] = [
      [{ name: 'Seat' }],
      [{ code: fresh('code') }],
      [{ price: 7.5 }],
      [{ category_array: ['Seats'] }],
      [{ status: false }],
      [{ status: 'true' }, { status: true }],
      [{ billing_cycle: 'onetime' }],
      [{ billing_period: 'w' }],
      [{ billing_period_num: 4 }],
      [{ description: 'note' }],
      [{ associate_plans: 'selected_plans', plans_array: [planId] }],
      [{ plans_array: JSON.stringify([planId]) }, { plans_array: [planId] }],
      [{ plans_array: planId }, { plans_array: [planId] }],
      [{ associate_plans: 'all_plans' }, { associate_plans: 'all', plans_array: null }],
      [{ plans_array: null }, { plans_array: null }],
      [{ product_id: productId }],
      [{}],
    ]
    for (const [change, shown = change] of changes) {
      const answer = await shop.billing.put(`/addon/${addon.id}`, change)
      expectOk(answer, 'Add-on updated')
      expect(answer.body.data).toEqual({ ...addon, ...shown, updatedAt: timestamp })
      addon = answer.body.data
    }
    expect((await shop.billing.get(`/addon/${addon.id}`)).body.data).toEqual(addon)
  })

  test('refuses what create refuses', async () => {
    const { shop, productId } = await setUp()
    await make(shop, productId, { code: 'taken' })
    const addon = await make(shop, productId)
    const put = (change: object) => shop.billing.put(`/addon/${addon.id}`, change)
    expectRefused(await put({ code: 'taken' }), 409, 'addon_code_taken', 'code')
    expectRefused(await put({ associate_plans: 'selected_plans' }), 422, 'plans_required', 'plans_array')
    expectRefused(
      await put({ associate_plans: 'selected_plans', plans_array: '[1]' }),
      400,
      'validation_failed',
      'plans_array',
    )
    expectRefused(
      await put({ associate_plans: 'selected_plans', plans_array: '[' }),
      400,
      'validation_failed',
      'plans_array',
    )
    expectRefused(
      await put({ billing_period: 'y', billing_period_num: 11 }),
      400,
      'validation_failed',
      'billing_period_num',
    )
    expectRefused(await put({ price: 1.001 }), 400, 'validation_failed', 'price')
    expectRefused(await put({ name: '' }), 400, 'validation_failed', 'name')
    expectRefused(await put({ category_array: ['f'.repeat(24)] }), 422, 'category_unknown', 'category_array[0]')
    expectRefused(await put({ product_id: 'f'.repeat(24) }), 404, 'product_not_found')
    expect((await shop.billing.get(`/addon/${addon.id}`)).body.data).toEqual(addon)
  })

  test('moves to another product of the business', async () => {
    const { shop, productId } = await setUp()
    const addon = await make(shop, productId)
    const target = await makeProduct(shop)
    const answer = await shop.billing.put(`/addon/${addon.id}`, { product_id: target })
    expect(answer.body.data).toMatchObject({ id: addon.id, product_id: target })
    expect((await shop.billing.get(`/addons/${productId}`)).body.data).toEqual([])
  })

  test('a missing and another business’s add-on answer alike', async () => {
    const { shop, productId } = await setUp()
    const addon = await make(shop, productId)
    const other = await w.business()
    expectRefused(await other.billing.put(`/addon/${addon.id}`, { name: 'x' }), 404, 'add_on_not_found')
    expectRefused(await other.billing.put(`/addon/${'f'.repeat(24)}`, { name: 'x' }), 404, 'add_on_not_found')
  })
})

describe('GET /addon/{addon_id}', () => {
  test('answers the add-on; missing and another’s alike', async () => {
    const { shop, productId } = await setUp()
    const addon = await make(shop, productId)
    expect((await shop.billing.get(`/addon/${addon.id}`)).body).toEqual({
      status: 'success',
      message: 'Add-on',
      data: addon,
    })
    const other = await w.business()
    expectRefused(await other.billing.get(`/addon/${addon.id}`), 404, 'add_on_not_found')
    expectRefused(await shop.billing.get('/addon/nonsense'), 404, 'add_on_not_found')
  })
})

describe('GET /addons/{product_id}', () => {
  test('pages through the add-ons of the product, newest first', async () => {
    const { shop, productId } = await setUp()
    await make(shop, await makeProduct(shop))
    await expectPages(shop, `/addons/${productId}`, async () => (await make(shop, productId)).id)
  })

  test('an empty product, a missing one and another’s', async () => {
    const { shop, productId } = await setUp()
    expect((await shop.billing.get(`/addons/${productId}`)).body.data).toEqual([])
    expectRefused(await shop.billing.get(`/addons/${'f'.repeat(24)}`), 404, 'product_not_found')
    expectRefused(await (await w.business()).billing.get(`/addons/${productId}`), 404, 'product_not_found')
  })
})

describe('DELETE /addon/{addon_id}', () => {
  test('answers the deleted add-on; its code is free again', async () => {
    const { shop, productId } = await setUp()
    const addon = await make(shop, productId, { code: 'again' })
    const answer = await shop.billing.delete(`/addon/${addon.id}`)
    expectOk(answer, 'Add-on deleted')
    expect(answer.body.data).toEqual(addon)
    expectRefused(await shop.billing.get(`/addon/${addon.id}`), 404, 'add_on_not_found')
    expectRefused(await shop.billing.delete(`/addon/${addon.id}`), 404, 'add_on_not_found')
    await make(shop, productId, { code: 'again' })
  })

  test('another business’s add-on is not found', async () => {
    const { shop, productId } = await setUp()
    const addon = await make(shop, productId)
    expectRefused(await (await w.business()).billing.delete(`/addon/${addon.id}`), 404, 'add_on_not_found')
  })
})

describe('add-on categories', () => {
  test('POST /addoncategory/{product_id} makes one, GET /addonlistcategory/{product_id} lists them', async () => {
    const { shop, productId } = await setUp()
    const answer = await shop.billing.post(`/addoncategory/${productId}`, { name: 'Support' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Add-on category created',
      data: { id, product_id: productId, name: 'Support', createdAt: timestamp, updatedAt: timestamp },
    })
    const list = await shop.billing.get(`/addonlistcategory/${productId}`)
    expectOk(list)
    expect(list.body.data).toEqual([answer.body.data])
    expectRefused(
      await shop.billing.post(`/addoncategory/${productId}`, { name: 'SUPPORT' }),
      409,
      'category_name_taken',
      'name',
    )
    expectRefused(await shop.billing.post(`/addoncategory/${productId}`, {}), 400, 'validation_failed', 'name')
    const other = await w.business()
    expectRefused(await other.billing.post(`/addoncategory/${productId}`, { name: 'x' }), 404, 'product_not_found')
    expectRefused(await other.billing.get(`/addonlistcategory/${productId}`), 404, 'product_not_found')
  })

  test('pages', async () => {
    const { shop, productId } = await setUp()
    await expectPages(
      shop,
      `/addonlistcategory/${productId}`,
      async i => (await shop.billing.post(`/addoncategory/${productId}`, { name: `Category ${i}` })).body.data.id,
    )
  })

  test('category_array holds ids or names; a new name makes a category', async () => {
    const { shop, productId } = await setUp()
    const support = (await shop.billing.post(`/addoncategory/${productId}`, { name: 'Support' })).body.data
    const addon = await make(shop, productId, { category_array: [support.id, 'Extras', 'support'] })
    expect(addon.category_array).toEqual([support.id, 'Extras', 'support'])
    const names = (await shop.billing.get(`/addonlistcategory/${productId}`)).body.data.map(
      (c: { name: string }) => c.name,
    )
    expect(names.sort()).toEqual(['Extras', 'Support'])

    const gone = await shop.billing.delete(`/addoncategory/${support.id}`)
    expectOk(gone, 'Add-on category deleted')
    expect(gone.body.data).toEqual(support)
    expect((await shop.billing.get(`/addon/${addon.id}`)).body.data.category_array).toEqual(['Extras'])
    expectRefused(await shop.billing.delete(`/addoncategory/${support.id}`), 404, 'category_not_found')
  })

  test('another business’s category can’t be used or deleted', async () => {
    const [mine, theirs] = [await setUp(), await setUp()]
    const category = (await theirs.shop.billing.post(`/addoncategory/${theirs.productId}`, { name: 'x' })).body.data
    expectRefused(await mine.shop.billing.delete(`/addoncategory/${category.id}`), 404, 'category_not_found')
    expectRefused(
      await mine.shop.billing.post(`/addon/${mine.productId}`, { ...required(), category_array: [category.id] }),
      422,
      'category_unknown',
    )
  })
})
