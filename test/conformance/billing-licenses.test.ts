import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { assignCode, codesOfSubscriptions } from '../../src/billing/licenses/assign.ts'
import { newId } from '../../src/platform/ids.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import {
  expectOk,
  expectPages,
  expectRefused,
  fresh,
  id,
  makePlan,
  makeProduct,
  page,
  timestamp,
} from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

async function setUp() {
  const shop = await w.business()
  const productId = await makeProduct(shop)
  const planId = await makePlan(shop, productId)
  const path = `/products/${productId}/licenses`
  const make = async (fields: object = {}) => {
    const answer = await shop.billing.post(path, { name: fresh('Keys'), ...fields })
    expectOk(answer, 'License created')
    return answer.body.data
  }
  const sell = (fields: object = {}) =>
    w.db.begin(tx =>
      assignCode(tx, shop.id, {
        productId,
        planId,
        subscriptionId: newId(),
        now: new Date(),
        source: 'api',
        ...fields,
      }),
    )
  return { shop, productId, planId, path, make, sell }
}
const free = (...codes: string[]) => codes.map(code => ({ code, is_used: 'no' }))

describe('POST /products/{product_id}/licenses', () => {
  test('answers the license with every field; codes one a line', async () => {
    const { shop, productId, planId, path } = await setUp()
    const answer = await shop.billing.post(path, {
      name: 'Desktop keys',
      method: 'list',
      license_codes: 'AAA-1\r\n  BBB-2  \n\nCCC-3\n',
      plan_id: planId,
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'License created',
      data: {
        id,
        product_id: productId,
        name: 'Desktop keys',
        method: 'list',
        pattern: '',
        status: 'active',
        total_license: 3,
        used_license: 0,
        license_codes: free('AAA-1', 'BBB-2', 'CCC-3'),
        plan_id: planId,
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    })
  })

  test('codes as an array; defaults', async () => {
    const { make } = await setUp()
    expect(await make({ license_codes: ['Z', 'A'] })).toMatchObject({
      method: 'list',
      status: 'active',
      plan_id: '',
      license_codes: free('Z', 'A'),
    })
    expect(await make()).toMatchObject({ total_license: 0, license_codes: [] })
  })

  test('auto makes codes by the pattern', async () => {
    const { make } = await setUp()
    const license = await make({ method: 'auto', quantity: 50 })
    expect(license).toMatchObject({ method: 'auto', pattern: 'XXXX-XXXX-XXXX', total_license: 50, used_license: 0 })
    const codes = license.license_codes.map((entry: { code: string }) => entry.code)
    expect(new Set(codes).size).toBe(50)
    for (const code of codes) expect(code).toMatch(/^([A-HJKMNP-Z2-9]{4}-){2}[A-HJKMNP-Z2-9]{4}$/)
    const own = await make({ method: 'auto', quantity: 1, pattern: 'PRO-XXXXXXXX' })
    expect(own.license_codes[0].code).toMatch(/^PRO-[A-HJKMNP-Z2-9]{8}$/)
  })

  test('a repeated code is refused, in the request and in the product', async () => {
    const { shop, path, make } = await setUp()
    await make({ license_codes: ['ONE', 'TWO'] })
    const create = (license_codes: unknown) => shop.billing.post(path, { name: 'x', license_codes })
    expectRefused(await create('A\nB\nA'), 409, 'license_code_taken', 'license_codes')
    expectRefused(await create(['NEW', 'TWO']), 409, 'license_code_taken', 'license_codes')
    expect((await shop.billing.get(path)).body.pagination.totalCount).toBe(1)
    const other = await setUp()
    await other.make({ license_codes: ['ONE'] })
  })

  test('refuses what has the wrong form', async () => {
    const { shop, path } = await setUp()
    const create = (fields: object) => shop.billing.post(path, { name: 'x', ...fields })
    const wrong: [string, unknown, object?][] = [
      ['name', undefined],
      ['name', ''],
      ['name', 'x'.repeat(256)],
      ['method', 'random'],
      ['status', 'on'],
      ['license_codes', 5],
      ['license_codes', {}],
      ['plan_id', 5],
      ['pattern', 'XXXXXXX', { method: 'auto' }],
      ['pattern', 'xxxxxxxx', { method: 'auto' }],
      ['pattern', 'X'.repeat(65), { method: 'auto' }],
      ['quantity', -1, { method: 'auto' }],
      ['quantity', 10_001, { method: 'auto' }],
    ]
    for (const [field, value, more] of wrong)
      expectRefused(await create({ ...more, [field]: value }), 400, 'validation_failed', field)
    expectRefused(await create({ license_codes: [5] }), 400, 'validation_failed', 'license_codes[0]')
    expectRefused(
      await create({ license_codes: ['ok', 'x'.repeat(256)] }),
      400,
      'validation_failed',
      'license_codes[1]',
    )
    expectRefused(
      await create({ license_codes: `ok\n${'x'.repeat(256)}` }),
      400,
      'validation_failed',
      'license_codes[1]',
    )
    expectRefused(await create({ license_codes: ['two\nlines'] }), 400, 'validation_failed', 'license_codes[0]')
    expectRefused(await create({ quantity: 1 }), 422, 'license_not_auto', 'quantity')
    expectOk(await create({ license_codes: ['x'.repeat(255)] }))
  })

  test('plan_id must be a plan of the product; the product must be the business’s', async () => {
    const [{ shop, path, productId }, other] = [await setUp(), await setUp()]
    const elsewhere = await makePlan(shop, await makeProduct(shop))
    for (const plan_id of [elsewhere, other.planId, 'x'])
      expectRefused(await shop.billing.post(path, { name: 'x', plan_id }), 422, 'plan_not_of_product')
    for (const product of [other.productId, 'f'.repeat(24)])
      expectRefused(await shop.billing.post(`/products/${product}/licenses`, { name: 'x' }), 404, 'product_not_found')
    expect(productId).not.toBe(other.productId)
  })
})

describe('GET /products/{product_id}/licenses', () => {
  test('limit is 10 by default, 1 to 100; first page by default', async () => {
    const { shop, path, make } = await setUp()
    await expectPages(shop, path, async () => (await make({ license_codes: [fresh('code')] })).id)
  })

  test('limit 100 is given whole', async () => {
    const { shop, path, make } = await setUp()
    for (let i = 0; i < 101; i++) await make()
    expect((await shop.billing.get(`${path}?limit=100`)).body.data).toHaveLength(100)
    const capped = await shop.billing.get(`${path}?limit=101`)
    expect(capped.body.data).toHaveLength(100)
    expect(capped.body.pagination).toEqual(page(1, 100, 101))
  })

  test('shows codes and counts of each; an empty product; another’s', async () => {
    const { shop, path, make, sell } = await setUp()
    expect((await shop.billing.get(path)).body).toMatchObject({ status: 'success', data: [] })
    const license = await make({ license_codes: ['A', 'B'] })
    await sell()
    const answer = await shop.billing.get(path)
    expect(answer.body.data).toEqual([
      {
        ...license,
        used_license: 1,
        license_codes: [
          { code: 'A', is_used: 'yes' },
          { code: 'B', is_used: 'no' },
        ],
      },
    ])
    expectRefused(await (await w.business()).billing.get(path), 404, 'product_not_found')
  })
})

describe('GET /products/{product_id}/licenses/{license_id}', () => {
  test('answers the license; missing, another product’s and another business’s alike', async () => {
    const { shop, path, make } = await setUp()
    const license = await make({ license_codes: ['A'] })
    expect((await shop.billing.get(`${path}/${license.id}`)).body).toEqual({
      status: 'success',
      message: 'License',
      data: license,
    })
    expectRefused(await shop.billing.get(`${path}/${'f'.repeat(24)}`), 404, 'license_not_found')
    const second = await makeProduct(shop)
    expectRefused(await shop.billing.get(`/products/${second}/licenses/${license.id}`), 404, 'license_not_found')
    expectRefused(await (await w.business()).billing.get(`${path}/${license.id}`), 404, 'product_not_found')
  })

  test('shows the first thousand codes of a large pool', async () => {
    const { shop, path, make } = await setUp()
    const license = await make({ license_codes: Array.from({ length: 1_500 }, (_, i) => `C${i}`) })
    expect(license.total_license).toBe(1_500)
    const { data } = (await shop.billing.get(`${path}/${license.id}`)).body
    expect(data.license_codes).toHaveLength(1_000)
    expect(data.license_codes[999]).toEqual({ code: 'C999', is_used: 'no' })
  })
})

describe('PUT /products/{product_id}/licenses/{license_id}', () => {
  test('changes what is given and adds codes', async () => {
    const { shop, path, planId, make } = await setUp()
    let license = await make({ license_codes: ['A'] })
    const put = async (change: object, shown: object = change) => {
      const answer = await shop.billing.put(`${path}/${license.id}`, change)
      expectOk(answer, 'License updated')
      expect(answer.body.data).toEqual({ ...license, ...shown, updatedAt: timestamp })
      license = answer.body.data
    }
    await put({ name: 'Renamed' })
    await put({ license_codes: 'B\nC' }, { license_codes: free('A', 'B', 'C'), total_license: 3 })
    await put({ plan_id: planId })
    await put({ plan_id: null }, { plan_id: '' })
    await put({ status: 'inactive' })
    await put({ method: 'auto' }, { method: 'auto', pattern: 'XXXX-XXXX-XXXX' })
    const made = await shop.billing.put(`${path}/${license.id}`, { quantity: 2 })
    expect(made.body.data).toMatchObject({ total_license: 5 })
  })

  test('a repeated code changes nothing at all', async () => {
    const { shop, path, make } = await setUp()
    const license = await make({ license_codes: ['A'] })
    const answer = await shop.billing.put(`${path}/${license.id}`, { name: 'Other', license_codes: ['B', 'A'] })
    expectRefused(answer, 409, 'license_code_taken', 'license_codes')
    expect((await shop.billing.get(`${path}/${license.id}`)).body.data).toEqual(license)
  })

  test('many who add codes at once: each code is added once', async () => {
    const { shop, path, make } = await setUp()
    const license = await make()
    const codes = Array.from({ length: 30 }, (_, i) => `R${i}`)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        shop.billing.put(`${path}/${license.id}`, { license_codes: i % 2 ? codes : codes.toReversed() }),
      ),
    )
    expect(answers.map(answer => answer.status).sort()).toEqual([200, ...Array(7).fill(409)])
    expect((await shop.billing.get(`${path}/${license.id}`)).body.data.total_license).toBe(30)
  })

  test('missing and another’s are not found', async () => {
    const { shop, path, make } = await setUp()
    const license = await make()
    expectRefused(await shop.billing.put(`${path}/${'f'.repeat(24)}`, {}), 404, 'license_not_found')
    expectRefused(await (await w.business()).billing.put(`${path}/${license.id}`, {}), 404, 'product_not_found')
  })
})

describe('DELETE /products/{product_id}/licenses/{license_id}', () => {
  test('answers the deleted license; unused codes are free, sold ones stay', async () => {
    const { shop, path, make, sell } = await setUp()
    const license = await make({ license_codes: ['SOLD', 'FREE'] })
    const subscriptionId = newId()
    expect(await sell({ subscriptionId })).toBe('SOLD')
    expectRefused(await (await w.business()).billing.delete(`${path}/${license.id}`), 404, 'product_not_found')
    const answer = await shop.billing.delete(`${path}/${license.id}`)
    expectOk(answer, 'License deleted')
    expect(answer.body.data).toMatchObject({ id: license.id, total_license: 2, used_license: 1 })
    expectRefused(await shop.billing.get(`${path}/${license.id}`), 404, 'license_not_found')
    expectRefused(await shop.billing.delete(`${path}/${license.id}`), 404, 'license_not_found')
    expect(await codesOfSubscriptions(w.db, shop.id, [subscriptionId])).toEqual(new Map([[subscriptionId, 'SOLD']]))
    await make({ license_codes: ['FREE'] })
    expectRefused(await shop.billing.post(path, { name: 'x', license_codes: 'SOLD' }), 409, 'license_code_taken')
  })
})

describe('GET /products/{product_id}/licenses/{license_id}/codes', () => {
  test('pages in the order of sale, and by is_used', async () => {
    const { shop, path, make, sell } = await setUp()
    const license = await make({ license_codes: Array.from({ length: 12 }, (_, i) => `K${i}`) })
    const subscriptionId = newId()
    await sell({ subscriptionId })
    const get = (query = '') => shop.billing.get(`${path}/${license.id}/codes${query}`)
    const codes = (answer: { body: { data: { code: string }[] } }) => answer.body.data.map(row => row.code)

    const answer = await get()
    expectOk(answer)
    expect(answer.body.pagination).toEqual(page(1, 10, 12))
    expect(answer.body.data[0]).toEqual({
      code: 'K0',
      is_used: 'yes',
      subscription_id: subscriptionId,
      assignedAt: timestamp,
      createdAt: timestamp,
    })
    expect(answer.body.data[1]).toEqual({
      code: 'K1',
      is_used: 'no',
      subscription_id: '',
      assignedAt: null,
      createdAt: timestamp,
    })
    expect(codes(await get('?page=2'))).toEqual(['K10', 'K11'])
    expect(codes(await get('?limit=2&page=3'))).toEqual(['K4', 'K5'])
    expect(codes(await get('?is_used=yes'))).toEqual(['K0'])
    expect((await get('?is_used=no')).body.pagination.totalCount).toBe(11)
    for (const wrong of ['limit=0', 'limit=x', 'page=0', 'is_used=maybe'])
      expectRefused(await get(`?${wrong}`), 400, 'validation_failed', wrong.split('=')[0])
    expect((await get('?limit=1000')).body.pagination.limit).toBe(100)
    expectRefused(await shop.billing.get(`${path}/${'f'.repeat(24)}/codes`), 404, 'license_not_found')
    expectRefused(await (await w.business()).billing.get(`${path}/${license.id}/codes`), 404, 'product_not_found')
  })
})

describe('DELETE /products/{product_id}/licenses/{license_id}/codes/{code}', () => {
  test('deletes an unused code only', async () => {
    const { shop, path, make, sell } = await setUp()
    const license = await make({ license_codes: ['SOLD', 'a/b c%ü', 'LAST'] })
    await sell()
    const remove = (code: string) => shop.billing.delete(`${path}/${license.id}/codes/${encodeURIComponent(code)}`)
    expectRefused(await remove('SOLD'), 422, 'license_code_used')
    const answer = await remove('a/b c%ü')
    expect(answer.body).toEqual({
      status: 'success',
      message: 'License code deleted',
      data: { code: 'a/b c%ü', is_used: 'no', subscription_id: '', assignedAt: null, createdAt: timestamp },
    })
    expectRefused(await remove('a/b c%ü'), 404, 'code_not_found')
    expectRefused(await remove('nothing'), 404, 'code_not_found')
    expectRefused(
      await (await w.business()).billing.delete(`${path}/${license.id}/codes/LAST`),
      404,
      'product_not_found',
    )
    expect((await shop.billing.get(`${path}/${license.id}`)).body.data).toMatchObject({
      total_license: 2,
      used_license: 1,
    })
  })
})

describe('a sale', () => {
  const eventsOf = (shop: TestBusiness) =>
    w.db`select type, data from event where business_id = ${shop.id} and type in ('license_assign', 'license_exhausted') order by id`

  test('takes the pool of its plan before that of every plan, the oldest code first, and one code only', async () => {
    const { shop, planId, make, sell } = await setUp()
    await make({ license_codes: ['ANY'] })
    await make({ license_codes: ['P1', 'P2'], plan_id: planId })
    await make({ license_codes: ['OFF'], status: 'inactive' })
    const subscriptionId = newId()
    expect(await sell({ subscriptionId })).toBe('P1')
    expect(await sell({ subscriptionId })).toBe('P1')
    expect([await sell(), await sell(), await sell()]).toEqual(['P2', 'ANY', undefined])
    const told = await eventsOf(shop)
    expect(told.map(event => event.type)).toEqual([...Array(3).fill('license_assign'), 'license_exhausted'])
    expect(told[0]?.data).toMatchObject({ code: 'P1', subscription_id: subscriptionId, plan_id: planId })
  })

  test('of a product without licenses has no code', async () => {
    const { shop, sell } = await setUp()
    expect(await sell()).toBeUndefined()
    expect(await eventsOf(shop)).toEqual([])
  })

  test('finds always one where codes are made', async () => {
    const { shop, path, make, sell } = await setUp()
    const license = await make({ method: 'auto', quantity: 1 })
    const codes = [await sell(), await sell(), await sell()]
    expect(new Set(codes).size).toBe(3)
    expect(codes[0]).toBe(license.license_codes[0].code)
    expect((await shop.billing.get(`${path}/${license.id}`)).body.data).toMatchObject({
      total_license: 3,
      used_license: 3,
    })
  })

  test('that fails gives its code back, also to one who came meanwhile', async () => {
    const { make, sell, shop, productId, planId } = await setUp()
    await make({ license_codes: ['LAST'] })
    const failing = Promise.withResolvers<void>()
    const holding = Promise.withResolvers<void>()
    const first = w.db.begin(async tx => {
      await assignCode(tx, shop.id, { productId, planId, subscriptionId: newId(), now: new Date(), source: 'api' })
      holding.resolve()
      await failing.promise
      throw new Error('card declined')
    })
    await holding.promise
    const second = sell()
    await expect.poll(() => waiting(w)).toBeGreaterThan(0)
    failing.resolve()
    await expect(first).rejects.toThrow('card declined')
    expect(await second).toBe('LAST')
  })

  test('200 at once from a pool of 100,000: no code twice, none lost', { timeout: 90_000 }, async () => {
    const { shop, productId, planId, path, make } = await setUp()
    const license = await make()
    await w.db`
      insert into billing_license_code (business_id, id, license_id, product_id, code, created_at)
      select ${shop.id}, lpad(to_hex(n), 24, '0'), ${license.id}, ${productId}, 'C' || n, now()
      from generate_series(1, 100000) n`
    const pool = w.platform.connect({ name: 'sales', max: 50 })
    const sale = (i: number) =>
      pool.begin(async tx => {
        const code = await assignCode(tx, shop.id, {
          productId,
          planId,
          subscriptionId: newId(),
          now: new Date(),
          source: 'api',
        })
        if (i % 4 === 0) throw new Error('card declined')
        return code
      })
    const results = await Promise.allSettled(Array.from({ length: 200 }, (_, i) => sale(i)))
    const sold = results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    expect(sold).toHaveLength(150)
    expect(new Set(sold).size).toBe(150)
    const { data } = (await shop.billing.get(`${path}/${license.id}`)).body
    expect(data).toMatchObject({ total_license: 100_000, used_license: 150 })
  })

  test('200 at once from a pool of 120: exactly 120 are sold', async () => {
    const { shop, productId, planId, path, make } = await setUp()
    const license = await make({ license_codes: Array.from({ length: 120 }, (_, i) => `S${i}`) })
    const pool = w.platform.connect({ name: 'sales', max: 50 })
    const sale = (i: number) =>
      pool.begin(async tx => {
        const code = await assignCode(tx, shop.id, {
          productId,
          planId,
          subscriptionId: newId(),
          now: new Date(),
          source: 'api',
        })
        if (i % 5 === 0) throw new Error('card declined')
        return code
      })
    const results = await Promise.allSettled(Array.from({ length: 200 }, (_, i) => sale(i)))
    const sold = results.flatMap(result => (result.status === 'fulfilled' && result.value ? [result.value] : []))
    expect(sold).toHaveLength(120)
    expect(new Set(sold).size).toBe(120)
    expect((await shop.billing.get(`${path}/${license.id}`)).body.data).toMatchObject({ used_license: 120 })
  })
})

const waiting = async (world: World) => {
  const [row] = await world.db<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return row?.count
}
