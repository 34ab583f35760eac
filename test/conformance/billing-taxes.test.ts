import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { taxFor } from '../../src/billing/taxes/tax-for.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import { expectOk, expectPages, expectRefused, fresh, id, timestamp } from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

async function make(shop: TestBusiness, fields: object = {}) {
  const answer = await shop.billing.post('/taxes', { name: fresh('Tax'), country: 'DE', rate: 19, ...fields })
  expectOk(answer, 'Tax created')
  return answer.body.data
}

describe('POST /taxes', () => {
  test('answers the tax with every field', async () => {
    const shop = await w.business()
    const answer = await shop.billing.post('/taxes', {
      name: 'Sales tax',
      country: 'US',
      state: 'California',
      rate: 7.25,
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Tax created',
      data: {
        id,
        name: 'Sales tax',
        country: 'US',
        state: 'California',
        rate: 7.25,
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    })
  })

  test('rates are exact to four decimals', async () => {
    const shop = await w.business()
    for (const rate of [0, 0.0001, 8.875, 9.975, 14.9755, 33.3333, 99.9999, 100])
      expect((await make(shop, { rate })).rate).toBe(rate)
    const create = (rate: unknown) => shop.billing.post('/taxes', { name: fresh('x'), country: 'DE', rate })
    for (const rate of [-1, 100.0001, 7.12345, '19', null, undefined, 1e300, 1e-7])
      expectRefused(await create(rate), 400, 'validation_failed', 'rate')
  })

  test('a country is known by its code or its English name', async () => {
    const shop = await w.business()
    expect(await make(shop, { country: 'germany' })).toMatchObject({ country: 'DE', state: '' })
    expect(await make(shop, { country: 'fr', state: null })).toMatchObject({ country: 'FR', state: '' })
    for (const country of ['Wonderland', '', 'XX', 5, undefined])
      expectRefused(
        await shop.billing.post('/taxes', { name: 'x', country, rate: 1 }),
        400,
        'validation_failed',
        'country',
      )
    expectRefused(await shop.billing.post('/taxes', { country: 'DE', rate: 1 }), 400, 'validation_failed', 'name')
  })

  test('one tax of a name in one place', async () => {
    const shop = await w.business()
    await make(shop, { name: 'VAT' })
    const again = await shop.billing.post('/taxes', { name: 'vat', country: 'Germany', rate: 7 })
    expectRefused(again, 409, 'tax_taken', 'name')
    await make(shop, { name: 'VAT', country: 'FR' })
    await make(shop, { name: 'VAT', state: 'Bavaria' })
    await make(await w.business(), { name: 'VAT' })
  })
})

describe('GET /taxes', () => {
  test('pages, newest first', async () => {
    const shop = await w.business()
    await make(await w.business())
    await expectPages(shop, '/taxes', async () => (await make(shop)).id)
  })
})

describe('PUT /taxes/{id}', () => {
  test('changes what is given and keeps the rest', async () => {
    const shop = await w.business()
    let tax = await make(shop)
    for (const change of [{ name: 'MwSt' }, { rate: 16 }, { state: 'Bavaria' }, { country: 'AT' }, { state: '' }, {}]) {
      const answer = await shop.billing.put(`/taxes/${tax.id}`, change)
      expectOk(answer, 'Tax updated')
      expect(answer.body.data).toEqual({ ...tax, ...change, updatedAt: timestamp })
      tax = answer.body.data
    }
  })

  test('refuses what create refuses; missing and another’s are not found', async () => {
    const shop = await w.business()
    await make(shop, { name: 'Taken' })
    const tax = await make(shop)
    expectRefused(await shop.billing.put(`/taxes/${tax.id}`, { name: 'taken' }), 409, 'tax_taken', 'name')
    expectRefused(await shop.billing.put(`/taxes/${tax.id}`, { rate: 101 }), 400, 'validation_failed', 'rate')
    expectRefused(await shop.billing.put(`/taxes/${tax.id}`, { country: '??' }), 400, 'validation_failed', 'country')
    expectRefused(await shop.billing.put(`/taxes/${'f'.repeat(24)}`, {}), 404, 'tax_not_found')
    expectRefused(await (await w.business()).billing.put(`/taxes/${tax.id}`, {}), 404, 'tax_not_found')
  })
})

describe('DELETE /taxes/{id}', () => {
  test('answers the deleted tax', async () => {
    const shop = await w.business()
    const tax = await make(shop)
    expectRefused(await (await w.business()).billing.delete(`/taxes/${tax.id}`), 404, 'tax_not_found')
    const answer = await shop.billing.delete(`/taxes/${tax.id}`)
    expectOk(answer, 'Tax deleted')
    expect(answer.body.data).toEqual(tax)
    expectRefused(await shop.billing.delete(`/taxes/${tax.id}`), 404, 'tax_not_found')
    expect(await taxFor(w.db, shop.id, { country: 'DE', taxExempt: false })).toEqual([])
  })
})

describe('the tax of a customer', () => {
  test('country and state come before the country alone', async () => {
    const shop = await w.business()
    await make(shop, { name: 'GST', country: 'CA', rate: 5 })
    await make(shop, { name: 'GST', country: 'CA', state: 'QC', rate: 5 })
    await make(shop, { name: 'QST', country: 'CA', state: 'Quebec', rate: 9.975 })
    const rates = async (place: object) =>
      (await taxFor(w.db, shop.id, { taxExempt: false, ...place })).map(tax => `${tax.name} ${tax.ratePpm}`)
    expect(await rates({ country: 'Canada', state: 'quebec', stateCode: 'QC' })).toEqual(['GST 50000', 'QST 99750'])
    expect(await rates({ country: 'ca', state: 'Ontario', stateCode: 'ON' })).toEqual(['GST 50000'])
    expect(await rates({ country: 'CA' })).toEqual(['GST 50000'])
    expect(await rates({ country: 'CA', taxExempt: true })).toEqual([])
    expect(await rates({ country: 'US', state: 'Quebec' })).toEqual([])
    expect(await rates({ country: '' })).toEqual([])
    expect(await rates({})).toEqual([])
  })

  test('another business’s taxes don’t count', async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    await make(theirs)
    expect(await taxFor(w.db, mine.id, { country: 'DE', taxExempt: false })).toEqual([])
  })
})
