import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'

/** Values at the edge of what a field may hold: none of them may fail inside, and what is shown can be asked for. */

let house: World
let shop: TestBusiness
beforeAll(async () => {
  house = await world()
  shop = await house.business()
})
afterAll(() => house.close())

let number = 0
const segment = (field: string, operator: string, value?: unknown) =>
  shop.email.post('/segments', {
    name: `Segment ${++number}`,
    rules: { match: 'all', conditions: [{ field, operator, ...(value !== undefined && { value }) }] },
  })
const members = async (field: string, operator: string, value?: unknown) =>
  (await segment(field, operator, value)).body.data.segment.count

describe('dates in segments', () => {
  test.each([
    '0000-01-01',
    '2024-02-30',
    '2023-02-29T10:00:00Z',
    '0001-01-01T00:00:00+05:00',
    '9999-12-31T23:59:59-05:00',
    '2024-01-01T23:59:60Z',
  ])('%s is no date', async value => {
    for (const field of ['createdAt', 'dateOfBirth', 'lastOpenAt']) {
      const { status, body } = await segment(field, 'after', value)
      expect([status, body.code, body.errors?.[0]?.field]).toEqual([
        400,
        'validation_failed',
        'rules.conditions[0].value',
      ])
    }
  })

  test.each(['2024-02-29', '0001-01-01', '9999-12-31', '2024-01-01T10:00', '2024-01-01T10:00:00+05:30'])(
    '%s is one',
    async value => {
      for (const operator of ['equals', 'before', 'after', 'gte', 'lte'])
        expect((await segment('dateOfBirth', operator, value)).status).toBe(201)
    },
  )
})

describe('times in requests', () => {
  test.each(['2127-06-30T23:59:60Z', '2127-06-30T10:00:00+05', '9999-12-31T23:59:59-05:00', '2127-02-30T00:00:00Z'])(
    '%s is refused',
    async scheduledAt => {
      await shop.email.post('/lists', { name: 'Due' })
      const { status, body } = await shop.email.post('/campaigns', {
        campaignDetails: { campaignName: 'Later', subject: 'Later', campaignType: 'Regular' },
        content: '<p>Later</p>',
        lists: ['Due'],
        scheduledAt,
      })
      expect([status, body.errors?.[0]?.field]).toEqual([400, 'scheduledAt'])
    },
  )
})

test('a place that is not known is shown as "Not Specified", found by that text, and is not set', async () => {
  shop = await house.business()
  await shop.email.post('/subscribers', { email: 'known@example.com', country: 'Norway', city: 'Oslo' })
  await shop.email.post('/subscribers', { email: 'unknown@example.com' })
  for (const field of ['country', 'city']) {
    expect(await members(field, 'equals', 'not specified')).toBe(1)
    expect(await members(field, 'in', ['Not Specified', 'Norway', 'Oslo'])).toBe(2)
    expect(await members(field, 'starts_with', 'Not Spec')).toBe(1)
    expect(await members(field, 'not_equals', 'Not Specified')).toBe(1)
    expect(await members(field, 'is_set')).toBe(1)
    expect(await members(field, 'is_not_set')).toBe(1)
  }
})

test('a limit or page however large is an integer: capped, or empty', async () => {
  const paths = ['/subscribers', '/lists', '/templates', '/suppressions', '/subscribers/imports', '/outbox']
  for (const [path, huge] of paths.flatMap(one => [
    [one, '9'.repeat(30)],
    [one, '9'.repeat(400)],
  ])) {
    const { status, body } = await shop.email.get(`${path}?limit=${huge}`)
    expect([path, status, body.data.pagination.itemsPerPage]).toEqual([path, 200, 100])
    const far = await shop.email.get(`${path}?page=${huge}`)
    expect([path, far.status, far.body.data.pagination?.hasNextPage]).toEqual([path, 200, false])
  }
  expect((await shop.email.get(`/campaigns?limit=${'9'.repeat(30)}`)).body.data.pagination.limit).toBe(100)
})

test('a field made anew with another type shows only values of that type', async () => {
  const define = (type: string) => shop.email.post('/custom-fields', { name: 'Size', key: 'size', type })
  const shown = async () => (await shop.email.get('/subscribers/sized@example.com')).body.data.customFields
  const values = { text: 'large', number: 5, boolean: true, date: '2024-02-29', url: 'https://example.com' }
  for (const [from, value] of Object.entries(values))
    for (const to of Object.keys(values)) {
      const field = (await define(from)).body.data.customField
      await shop.email.post('/subscribers', { email: 'sized@example.com', customFields: { size: value } })
      expect(await shown()).toEqual({ size: value })
      await shop.email.delete(`/custom-fields/${field._id}`)
      expect(await shown()).toEqual({})
      const again = (await define(to)).body.data.customField
      const fits = from === to || (to === 'text' && typeof value === 'string')
      expect([from, to, await shown()]).toEqual([from, to, fits ? { size: value } : {}])
      await shop.email.delete(`/custom-fields/${again._id}`)
    }
})
