import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type World, world } from '../world.ts'
import { expectOk, expectPages, expectRefused, fresh, id, makePlan, makeProduct, timestamp } from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

describe('POST /product/create', () => {
  test('answers the product with every field', async () => {
    const shop = await w.business()
    const answer = await shop.billing.post('/product/create', {
      product_name: 'Notes',
      description: 'Notes that sync',
      redirect_url: 'https://notes.example.com/thanks',
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Product created',
      data: {
        id,
        product_name: 'Notes',
        description: 'Notes that sync',
        redirect_url: 'https://notes.example.com/thanks',
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    })
  })

  test('description and redirect_url are null when not given', async () => {
    const shop = await w.business()
    const { data } = (await shop.billing.post('/product/create', { product_name: 'Notes', unknown: 1 })).body
    expect(data).toMatchObject({ description: null, redirect_url: null })
    expect(data).not.toHaveProperty('unknown')
  })

  test('refuses what has the wrong form', async () => {
    const shop = await w.business()
    const create = (body: unknown) => shop.billing.post('/product/create', body)
    expectRefused(await create({}), 400, 'validation_failed', 'product_name')
    expectRefused(await create({ product_name: '' }), 400, 'validation_failed', 'product_name')
    expectRefused(await create({ product_name: '   ' }), 400, 'validation_failed', 'product_name')
    expectRefused(await create({ product_name: 5 }), 400, 'validation_failed', 'product_name')
    expectRefused(await create({ product_name: 'x'.repeat(256) }), 400, 'validation_failed', 'product_name')
    expectOk(await create({ product_name: 'x'.repeat(255) }))
    for (const redirect_url of ['ftp://a.example', 'javascript:alert(1)', 'nonsense'])
      expectRefused(await create({ product_name: 'x', redirect_url }), 400, 'validation_failed', 'redirect_url')
    expectRefused(await create([]), 400, 'validation_failed')
  })

  test('with an Idempotency-Key it is made once', async () => {
    const shop = await w.business()
    const call = () => shop.billing.post('/product/create', { product_name: 'Once' }, { 'idempotency-key': 'k1' })
    const [one, two] = [await call(), await call()]
    expect(two.text).toBe(one.text)
    expect((await shop.billing.get('/products')).body.data).toHaveLength(1)
  })
})

describe('PUT /product/update/{product_id}', () => {
  test('changes what is given and keeps the rest', async () => {
    const shop = await w.business()
    const product = (await shop.billing.post('/product/create', { product_name: 'Old', description: 'kept' })).body.data
    const answer = await shop.billing.put(`/product/update/${product.id}`, { product_name: 'New' })
    expectOk(answer, 'Product updated')
    expect(answer.body.data).toEqual({ ...product, product_name: 'New', updatedAt: timestamp })
    const cleared = await shop.billing.put(`/product/update/${product.id}`, { description: null })
    expect(cleared.body.data).toMatchObject({ product_name: 'New', description: null })
  })

  test('a missing and another business’s product answer alike', async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    const product = await makeProduct(theirs)
    for (const path of [product, 'f'.repeat(24), 'nonsense'])
      expectRefused(await mine.billing.put(`/product/update/${path}`, { product_name: 'x' }), 404, 'product_not_found')
  })
})

describe('GET /products', () => {
  test('pages, newest first', async () => {
    const shop = await w.business()
    await expectPages(shop, '/products', i => makeProduct(shop, `Product ${i}`))
  })

  test('shows no other business’s products', async () => {
    await makeProduct(await w.business())
    const answer = await (await w.business()).billing.get('/products')
    expect(answer.body).toMatchObject({ status: 'success', data: [], pagination: { totalCount: 0, totalPages: 0 } })
  })
})

describe('GET /product/{product_id}', () => {
  test('answers the product; a missing one and another’s alike', async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    const product = (await mine.billing.post('/product/create', { product_name: 'Mine' })).body.data
    expect((await mine.billing.get(`/product/${product.id}`)).body).toEqual({
      status: 'success',
      message: 'Product',
      data: product,
    })
    const missing = await mine.billing.get(`/product/${'f'.repeat(24)}`)
    const other = await theirs.billing.get(`/product/${product.id}`)
    expectRefused(missing, 404, 'product_not_found')
    expect({ ...other.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' })
  })
})

describe('DELETE /products/{product_id}', () => {
  test('answers the deleted product, and all that was sold with it is gone', async () => {
    const shop = await w.business()
    const productId = await makeProduct(shop, fresh('Gone'))
    const planId = await makePlan(shop, productId)
    const before = (await shop.billing.get(`/product/${productId}`)).body.data
    const answer = await shop.billing.delete(`/products/${productId}`)
    expectOk(answer, 'Product deleted')
    expect(answer.body.data).toEqual(before)
    expectRefused(await shop.billing.get(`/product/${productId}`), 404, 'product_not_found')
    expectRefused(await shop.billing.get(`/plan/${planId}`), 404, 'plan_not_found')
    expect((await shop.billing.get('/plans')).body.data).toEqual([])
    expectRefused(await shop.billing.delete(`/products/${productId}`), 404, 'product_not_found')
  })

  test('another business’s product is not found', async () => {
    const product = await makeProduct(await w.business())
    expectRefused(await (await w.business()).billing.delete(`/products/${product}`), 404, 'product_not_found')
  })
})

describe('authentication', () => {
  test('without a key, or with a read-only one', async () => {
    const shop = await w.business()
    const bare = await w.app.inject({ url: '/billing/api/v1/products' })
    expect(bare.statusCode).toBe(401)
    expect(bare.headers['www-authenticate']).toMatch(/^Basic/)
    const { apiKey, secretKey } = (await shop.account.post('/keys', { service: 'billing', readOnly: true })).body.data
    const authorization = `Basic ${Buffer.from(`${apiKey}:${secretKey}`).toString('base64')}`
    expectOk(await shop.billing.get('/products', { authorization }))
    expectRefused(
      await shop.billing.post('/product/create', { product_name: 'x' }, { authorization }),
      403,
      'key_read_only',
    )
  })
})
