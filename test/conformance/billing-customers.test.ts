import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'
import { expectOk, expectPages, expectRefused, fresh, id, timestamp } from './billing-shapes.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const address = {
  street1: '1 Main St',
  street2: '',
  city: 'Springfield',
  state: 'Illinois',
  state_code: 'IL',
  zip_code: '62701',
  country: 'US',
}
const make = async (shop: TestBusiness, fields: object = {}) => {
  const answer = await shop.billing.post('/customer', {
    email_id: `${fresh('c').replace(' ', '')}@example.com`,
    ...fields,
  })
  expectOk(answer, 'Customer created')
  return answer.body.data
}
const eventsOf = (shop: TestBusiness, objectId: string) =>
  w.db`select type, source, data from event where business_id = ${shop.id} and object_id = ${objectId} order by id`

describe('POST /customer', () => {
  test('answers the customer with every field, and tells it', async () => {
    const shop = await w.business()
    const fields = {
      first_name: 'Ada',
      last_name: 'Byron',
      email_id: 'Ada@Example.com',
      company_name: 'Engines',
      phone: '+44 20 7946 0000',
      website: 'https://engines.example',
      billing_address: address,
      shipping_address: { city: 'London', country: 'United Kingdom' },
      tax_id: '12-3456789',
    }
    const answer = await shop.billing.post('/customer', fields)
    expect(answer.status).toBe(200)
    const data = { id, ...fields, credit: null, tax_exempt: false, createdAt: timestamp, updatedAt: timestamp }
    expect(answer.body).toEqual({ status: 'success', message: 'Customer created', data })
    expect(await eventsOf(shop, answer.body.data.id)).toEqual([{ type: 'customer_create', source: 'api', data }])
  })

  test('only the email address is required; addresses are empty then', async () => {
    const shop = await w.business()
    expect(await make(shop, { email_id: 'a@b.example' })).toEqual({
      id,
      first_name: '',
      last_name: '',
      email_id: 'a@b.example',
      company_name: '',
      phone: '',
      website: '',
      credit: null,
      billing_address: { street1: '', street2: '', city: '', state: '', state_code: '', zip_code: '', country: '' },
      shipping_address: {},
      tax_exempt: false,
      tax_id: '',
      createdAt: timestamp,
      updatedAt: timestamp,
    })
  })

  test('the email address is unique in the business, without regard to case', async () => {
    const [shop, other] = [await w.business(), await w.business()]
    await make(shop, { email_id: 'one@example.com' })
    expectRefused(
      await shop.billing.post('/customer', { email_id: 'ONE@example.com' }),
      409,
      'customer_email_taken',
      'email_id',
    )
    await make(other, { email_id: 'one@example.com' })
  })

  test('many at once with one address: one is made', async () => {
    const shop = await w.business()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => shop.billing.post('/customer', { email_id: 'race@example.com' })),
    )
    expect(answers.filter(answer => answer.status === 200)).toHaveLength(1)
    expect(answers.filter(answer => answer.status === 409)).toHaveLength(19)
  })

  test('refuses what has the wrong form', async () => {
    const shop = await w.business()
    const create = (body: object) => shop.billing.post('/customer', body)
    expectRefused(await create({}), 400, 'validation_failed', 'email_id')
    for (const email_id of [
      '',
      'x',
      'a@b',
      '@b.example',
      'a@',
      'a b@c.example',
      'a@b..example',
      `${'x'.repeat(250)}@b.example`,
      5,
      null,
    ])
      expectRefused(await create({ email_id }), 400, 'validation_failed', 'email_id')
    const email_id = 'ok@example.com'
    expectRefused(await create({ email_id, first_name: 'x'.repeat(256) }), 400, 'validation_failed', 'first_name')
    expectRefused(await create({ email_id, billing_address: 'x' }), 400, 'validation_failed', 'billing_address')
    expectRefused(
      await create({ email_id, billing_address: { country: 'Wonderland' } }),
      400,
      'validation_failed',
      'billing_address.country',
    )
    expectRefused(await create({ email_id, tax_exempt: 'yes' }), 400, 'validation_failed', 'tax_exempt')
  })

  test('the form of tax_id is that of the billing country', async () => {
    const shop = await w.business()
    const create = (country: string, tax_id: string) =>
      shop.billing.post('/customer', {
        email_id: `${fresh('t').replace(' ', '')}@example.com`,
        billing_address: { country },
        tax_id,
      })
    expectOk(await create('DE', 'DE123456789'))
    expectOk(await create('Germany', 'DE 123 456 789'))
    expectRefused(await create('DE', 'DE12345'), 400, 'validation_failed', 'tax_id')
    expectOk(await create('NL', 'NL123456789B01'))
    expectOk(await create('IN', '27AAPFU0939F1ZV'))
    expectRefused(await create('IN', '27AAPFU0939F1'), 400, 'validation_failed', 'tax_id')
    expectOk(await create('', 'ANY-123'))
    expectRefused(await create('', '!'), 400, 'validation_failed', 'tax_id')
  })
})

describe('GET /customer/{customer_id} and GET /customer?email=', () => {
  test('answer the customer', async () => {
    const shop = await w.business()
    const customer = await make(shop, { email_id: 'Find.Me@example.com' })
    expect((await shop.billing.get(`/customer/${customer.id}`)).body.data).toEqual(customer)
    expect((await shop.billing.get('/customer?email=find.me%40example.com')).body.data).toEqual(customer)
    const plus = await make(shop, { email_id: 'me+shop@example.com' })
    expect((await shop.billing.get('/customer?email=me+shop@example.com')).body.data).toEqual(plus)
    expect((await shop.billing.get('/customer?email=me%2Bshop@example.com')).body.data).toEqual(plus)
    expectRefused(await shop.billing.get('/customer?email=nobody@example.com'), 404, 'customer_not_found')
    expectRefused(await shop.billing.get('/customer'), 400, 'validation_failed', 'email')
  })

  test('another business’s customer answers as a missing one', async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    const customer = await make(theirs, { email_id: 'x@example.com' })
    const missing = await mine.billing.get(`/customer/${'f'.repeat(24)}`)
    expectRefused(missing, 404, 'customer_not_found')
    const other = await mine.billing.get(`/customer/${customer.id}`)
    expect({ ...other.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' })
    expectRefused(await mine.billing.get('/customer?email=x@example.com'), 404, 'customer_not_found')
  })
})

describe('GET /customers', () => {
  test('pages, newest first', async () => {
    const shop = await w.business()
    await expectPages(shop, '/customers', async () => (await make(shop)).id)
  })
})

describe('a long list', () => {
  test('is counted to ten thousand, and paged to its end', async () => {
    const shop = await w.business()
    const fill = (from: number, to: number) => w.db`
      insert into billing_customer
      select ${shop.id}, lpad(to_hex(n), 24, '0'), '', '', 'c' || n || '@example.com', '', '', '', '{}', '{}', false, '',
        now(), now(), null
      from generate_series(${from}::int, ${to}::int) n`
    const pagination = async (query: string) =>
      (await shop.billing.get(`/customers?limit=100&${query}`)).body.pagination
    await fill(1, 10_000)
    expect(await pagination('page=1')).toMatchObject({ totalCount: 10_000, totalPages: 100, hasNextPage: true })
    expect(await pagination('page=100')).toMatchObject({ totalCount: 10_000, totalPages: 100, hasNextPage: false })
    await fill(10_001, 10_200)
    expect(await pagination('page=1')).toMatchObject({ totalCount: null, totalPages: null, hasNextPage: true })
    expect(await pagination('page=101')).toMatchObject({ hasNextPage: true, hasPrevPage: true })
    expect(await pagination('page=102')).toMatchObject({ totalCount: 10_200, totalPages: 102, hasNextPage: false })
  })
})

describe('PUT /customer/{customer_id}', () => {
  test('changes what is given, replaces addresses as a whole, and tells it', async () => {
    const shop = await w.business()
    const customer = await make(shop, { first_name: 'Ada', billing_address: address })
    const answer = await shop.billing.put(`/customer/${customer.id}`, {
      last_name: 'King',
      billing_address: { city: 'Paris', country: 'FR' },
      tax_exempt: true,
    })
    expectOk(answer, 'Customer updated')
    expect(answer.body.data).toEqual({
      ...customer,
      last_name: 'King',
      tax_exempt: true,
      billing_address: {
        street1: '',
        street2: '',
        city: 'Paris',
        state: '',
        state_code: '',
        zip_code: '',
        country: 'FR',
      },
      updatedAt: timestamp,
    })
    expect((await eventsOf(shop, customer.id)).map(event => event.type)).toEqual(['customer_create', 'customer_update'])
  })

  test('keeps the email address unique, and lets a customer keep their own', async () => {
    const shop = await w.business()
    await make(shop, { email_id: 'a@example.com' })
    const b = await make(shop, { email_id: 'b@example.com' })
    expectRefused(
      await shop.billing.put(`/customer/${b.id}`, { email_id: 'A@example.com' }),
      409,
      'customer_email_taken',
    )
    expectOk(await shop.billing.put(`/customer/${b.id}`, { email_id: 'B@example.com' }))
  })

  test('a tax id must fit the country the customer moves to', async () => {
    const shop = await w.business()
    const customer = await make(shop, { billing_address: { country: 'DE' }, tax_id: 'DE123456789' })
    const path = `/customer/${customer.id}`
    expectRefused(
      await shop.billing.put(path, { billing_address: { country: 'IT' } }),
      400,
      'validation_failed',
      'tax_id',
    )
    expectOk(await shop.billing.put(path, { billing_address: { country: 'IT' }, tax_id: null }))
  })

  test('a missing and another business’s customer are not found', async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    const { id } = await make(theirs)
    expectRefused(await mine.billing.put(`/customer/${id}`, { first_name: 'x' }), 404, 'customer_not_found')
  })
})

describe('DELETE /customers/{customer_id}', () => {
  test('answers the deleted customer, frees the address, and tells it', async () => {
    const shop = await w.business()
    const customer = await make(shop, { email_id: 'gone@example.com' })
    const answer = await shop.billing.delete(`/customers/${customer.id}`)
    expectOk(answer, 'Customer deleted')
    expect(answer.body.data).toEqual(customer)
    expectRefused(await shop.billing.get(`/customer/${customer.id}`), 404, 'customer_not_found')
    expectRefused(await shop.billing.delete(`/customers/${customer.id}`), 404, 'customer_not_found')
    await make(shop, { email_id: 'gone@example.com' })
    expect((await eventsOf(shop, customer.id)).map(event => event.type)).toEqual(['customer_create', 'customer_delete'])
  })

  test('another business’s customer is not found', async () => {
    const { id } = await make(await w.business())
    expectRefused(await (await w.business()).billing.delete(`/customers/${id}`), 404, 'customer_not_found')
  })
})
