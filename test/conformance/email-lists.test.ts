import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { auditEmail } from '../../src/email/audit.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import { expectOk, expectRefused, expectSameAsMissing, listShape } from './email-shapes.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

const noId = '000000000000000000000000'
const makeList = async (name: string) => expectOk(await shop.email.post('/lists', { name }), 201).list
const add = async (body: object) => (await shop.email.post('/subscribers', body)).body.data
const everything = { match: 'all', conditions: [{ field: 'email', operator: 'is_set' }] }

describe('POST /lists', () => {
  test('answers 201 with every field', async () => {
    expect(await makeList('News')).toEqual({
      ...listShape,
      name: 'News',
      count: 0,
      counts: { ...listShape.counts, totalSubscribers: 0, unsubscribedCount: 0, engagedCount: 0 },
    })
  })

  test('takes 1 to 100 characters', async () => {
    expect((await makeList('x')).name).toBe('x')
    expect((await makeList('👩'.repeat(50))).name).toBe('👩'.repeat(50))
    expect((await makeList('y'.repeat(100))).name).toHaveLength(100)
    for (const name of ['', '   ', 'z'.repeat(101)])
      expectRefused(await shop.email.post('/lists', { name }), 400, 'validation_failed', 'name')
    for (const body of [{}, { name: 5 }, { name: null }, { name: ['x'] }])
      expectRefused(await shop.email.post('/lists', body), 400, 'validation_failed', 'name')
  })

  test('names are one space with segments, without regard to case', async () => {
    await makeList('News')
    expectRefused(await shop.email.post('/lists', { name: 'nEWS' }), 409, 'list_name_taken', 'name')
    expectOk(await shop.email.post('/segments', { name: 'Warm', rules: everything }), 201)
    expectRefused(await shop.email.post('/lists', { name: 'WARM' }), 409, 'list_name_taken', 'name')
    expectRefused(
      await shop.email.post('/segments', { name: 'news', rules: everything }),
      409,
      'segment_name_taken',
      'name',
    )
    expectOk(await (await w.business()).email.post('/lists', { name: 'News' }), 201)
    const parallel = await Promise.all(Array.from({ length: 10 }, () => shop.email.post('/lists', { name: 'Same' })))
    expect(parallel.map(answer => answer.status).sort()).toEqual([201, ...Array(9).fill(409)])
  })
})

describe('GET /lists', () => {
  test('pages of lists, newest first', async () => {
    for (let i = 0; i < 12; i++) await makeList(`L${i}`)
    const { subscriberLists, pagination } = expectOk(await shop.email.get('/lists'))
    expect(subscriberLists).toHaveLength(10)
    expect(subscriberLists[0]).toEqual({ ...listShape, name: 'L11' })
    expect(pagination).toEqual({
      currentPage: 1,
      itemsPerPage: 10,
      totalItems: 12,
      totalPages: 2,
      hasNextPage: true,
      hasPrevPage: false,
    })
    expect(expectOk(await shop.email.get('/lists?page=2&limit=10')).subscriberLists).toHaveLength(2)
    expectRefused(await shop.email.get('/lists?page=0'), 400, 'validation_failed', 'page')
    expect(expectOk(await shop.email.get('/lists?limit=1000')).pagination.itemsPerPage).toBe(100)
  })

  test('by name answers the list alone, or 404', async () => {
    const list = await makeList('News & more')
    expect(expectOk(await shop.email.get(`/lists?name=${encodeURIComponent('NEWS & MORE')}`))).toEqual({ list })
    expectRefused(await shop.email.get('/lists?name=Nowhere'), 404, 'list_not_found')
  })
})

describe('GET /lists/{id}', () => {
  test('answers the list with current counts', async () => {
    const list = await makeList('News')
    await add({ email: 'a@b.example', lists: ['News'] })
    await add({ email: 'b@b.example', lists: [list.id], status: 'unsubscribed' })
    const found = expectOk(await shop.email.get(`/lists/${list.id}`)).list
    expect(found).toEqual({
      ...listShape,
      id: list.id,
      name: 'News',
      count: 2,
      counts: { ...listShape.counts, totalSubscribers: 2, unsubscribedCount: 1, engagedCount: 0 },
    })
  })

  test('another business and nobody: 404 alike', async () => {
    const theirs = (await (await w.business()).email.post('/lists', { name: 'Theirs' })).body.data.list
    expectSameAsMissing(await shop.email.get(`/lists/${theirs.id}`), await shop.email.get(`/lists/${noId}`))
    expect((await shop.email.get('/lists/anything')).status).toBe(404)
  })
})

describe('DELETE /lists/{id}', () => {
  const later = (lists: string[], more = {}) =>
    shop.email.post('/campaigns', {
      campaignDetails: { campaignName: 'Later', subject: 'S', campaignType: 'Regular' },
      content: '<p>x</p>',
      lists,
      scheduledAt: '2190-01-02T00:00:00Z',
      ...more,
    })

  test('the list and its name are gone at once; its members stay, and nothing of it is counted any more', async () => {
    const [news, other] = [await makeList('News'), await makeList('Other')]
    await add({ email: 'a@b.example', lists: ['News', 'Other'] })
    await add({ email: 'b@b.example', lists: ['News'] })
    const deleted = expectOk(await shop.email.delete(`/lists/${news.id}`)).list
    expect(deleted).toEqual({ ...listShape, id: news.id, name: 'News', count: 2, counts: expect.anything() })
    expectRefused(await shop.email.get(`/lists/${news.id}`), 404, 'list_not_found')
    expectRefused(await shop.email.delete(`/lists/${news.id}`), 404, 'list_not_found')
    const again = await makeList('News')
    expect(again.count).toBe(0)
    expect(expectOk(await shop.email.get('/subscribers/a@b.example')).lists).toEqual(['Other'])
    expect(expectOk(await shop.email.get('/subscribers?lists=News')).pagination.totalItems).toBe(0)
    await w.drain()
    const inNone = { match: 'all', conditions: [{ field: 'lists', operator: 'is_not_set' }] }
    expect(expectOk(await shop.email.post('/segments', { name: 'None', rules: inNone }), 201).segment.count).toBe(1)
    expect(expectOk(await shop.email.get(`/lists/${other.id}`)).list.count).toBe(1)
    expect(await auditEmail(w.platform, shop.id)).toEqual([])
    const events = (await shop.account.get('/events?types=list_delete')).body.data.events
    expect(events.map((event: { data: object }) => event.data)).toEqual([deleted])
  })

  test('not while a scheduled campaign or an import needs it', async () => {
    const [news, old] = [await makeList('News'), await makeList('Old')]
    const campaign = expectOk(await later(['News'], { excludedList: ['Old'] }), 201)
    for (const list of [news, old]) expectRefused(await shop.email.delete(`/lists/${list.id}`), 422, 'list_in_use')
    expectOk(await shop.email.put(`/campaigns/${campaign._id}`, { status: 'draft' }))
    expectOk(await shop.email.delete(`/lists/${old.id}`))
    expectRefused(
      await shop.email.put(`/campaigns/${campaign._id}`, { scheduledAt: '2190-01-02T00:00:00Z' }),
      422,
      'list_not_found',
    )
    await shop.email.post('/subscribers/import?lists=News', 'email\na@b.example\n', { 'content-type': 'text/csv' })
    expectRefused(await shop.email.delete(`/lists/${news.id}`), 422, 'list_in_use')
    await w.drain()
    expectOk(await shop.email.delete(`/lists/${news.id}`))
  })

  test('nor a segment', async () => {
    const { segment } = expectOk(await shop.email.post('/segments', { name: 'All', rules: everything }), 201)
    const campaign = expectOk(await later(['All']), 201)
    expectRefused(await shop.email.delete(`/segments/${segment.id}`), 422, 'segment_in_use')
    expectOk(await shop.email.delete(`/campaigns/${campaign._id}`))
    expectOk(await shop.email.delete(`/segments/${segment.id}`))
  })

  test('scheduled and deleted at the same moment: one of the two is refused', async () => {
    const list = await makeList('News')
    const [scheduled, deleted] = await Promise.all([later(['News']), shop.email.delete(`/lists/${list.id}`)])
    expect([scheduled.status, deleted.status].sort()).toEqual(scheduled.status === 201 ? [201, 422] : [200, 422])
  })

  test('renamed and deleted at the same moment: no deadlock, and no name stays taken', async () => {
    for (let round = 0; round < 10; round++) {
      const list = await makeList(`L${round}`)
      const { segment } = expectOk(await shop.email.post('/segments', { name: `S${round}`, rules: everything }), 201)
      const answers = await Promise.all([
        shop.email.put(`/lists/${list.id}`, { name: `M${round}` }),
        shop.email.delete(`/lists/${list.id}`),
        shop.email.put(`/segments/${segment.id}`, { name: `T${round}` }),
        shop.email.delete(`/segments/${segment.id}`),
      ])
      for (const answer of answers) expect([200, 404], answer.text).toContain(answer.status)
      for (const name of ['L', 'M', 'S', 'T']) await makeList(`${name}${round}`)
    }
  })

  test('another business and nobody: 404 alike', async () => {
    const theirs = (await (await w.business()).email.post('/lists', { name: 'Theirs' })).body.data.list
    expectSameAsMissing(await shop.email.delete(`/lists/${theirs.id}`), await shop.email.delete(`/lists/${noId}`))
  })
})

describe.each([
  ['add-subscriber', { listIds: [noId] }],
  ['remove-subscriber', { listIds: [noId] }],
  ['move-subscriber', { fromListIds: [noId], toListIds: [noId] }],
])('POST /lists/%s refuses', (operation, ids) => {
  const post = (body: object) => shop.email.post(`/lists/${operation}`, body)

  test('neither email nor subscriberId, wrong ones, and empty or missing lists', async () => {
    await add({ email: 'a@b.example' })
    expectRefused(await post(ids), 400, 'validation_failed', 'email')
    expectRefused(await post({ email: 'nonsense', ...ids }), 400, 'validation_failed', 'email')
    for (const field of Object.keys(ids)) {
      expectRefused(await post({ email: 'a@b.example', ...ids, [field]: [] }), 400, 'validation_failed', field)
      expectRefused(await post({ email: 'a@b.example', ...ids, [field]: undefined }), 400, 'validation_failed', field)
      expectRefused(await post({ email: 'a@b.example', ...ids, [field]: 'x' }), 400, 'validation_failed', field)
    }
  })

  test('a subscriber that does not exist, or is of another business', async () => {
    const theirs = (await (await w.business()).email.post('/subscribers', { email: 'theirs@b.example' })).body.data
    expectSameAsMissing(await post({ subscriberId: theirs._id, ...ids }), await post({ subscriberId: noId, ...ids }))
    expectRefused(await post({ email: 'theirs@b.example', ...ids }), 404, 'subscriber_not_found')
  })
})

describe('POST /lists/add-subscriber, remove-subscriber, move-subscriber', () => {
  test('add: present and unknown lists are skipped, none known is 404', async () => {
    const [a, b] = [await makeList('A'), await makeList('B')]
    const who = await add({ email: 'x@b.example', lists: ['A'] })
    expect(
      expectOk(
        await shop.email.post('/lists/add-subscriber', { email: 'X@b.example', listIds: [a.id, b.id, noId, b.id] }),
      ),
    ).toEqual({
      subscriberId: who._id,
      email: 'x@b.example',
      addedLists: ['B'],
      currentLists: ['A', 'B'],
    })
    expect(
      expectOk(await shop.email.post('/lists/add-subscriber', { subscriberId: who._id, listIds: [a.id] })).addedLists,
    ).toEqual([])
    expectRefused(
      await shop.email.post('/lists/add-subscriber', { subscriberId: who._id, listIds: [noId] }),
      404,
      'list_not_found',
    )
    const theirs = (await (await w.business()).email.post('/lists', { name: 'Theirs' })).body.data.list
    expectRefused(
      await shop.email.post('/lists/add-subscriber', { subscriberId: who._id, listIds: [theirs.id] }),
      404,
      'list_not_found',
    )
  })

  test('remove: only from lists the subscriber is in; counts follow', async () => {
    const [a, b] = [await makeList('A'), await makeList('B')]
    const who = await add({ email: 'x@b.example', lists: ['A'] })
    expect(
      expectOk(await shop.email.post('/lists/remove-subscriber', { subscriberId: who._id, listIds: [b.id, noId] })),
    ).toEqual({
      subscriberId: who._id,
      email: 'x@b.example',
      removedLists: [],
      currentLists: ['A'],
    })
    expect(
      expectOk(await shop.email.post('/lists/remove-subscriber', { email: 'x@b.example', listIds: [a.id, b.id] })),
    ).toEqual({
      subscriberId: who._id,
      email: 'x@b.example',
      removedLists: ['A'],
      currentLists: [],
    })
    expect(expectOk(await shop.email.get(`/lists/${a.id}`)).list.count).toBe(0)
  })

  test('move: from and to in one step', async () => {
    const [a, b, c] = [await makeList('A'), await makeList('B'), await makeList('C')]
    const who = await add({ email: 'x@b.example', lists: ['A', 'C'] })
    expect(
      expectOk(
        await shop.email.post('/lists/move-subscriber', {
          email: 'x@b.example',
          fromListIds: [a.id, noId],
          toListIds: [b.id],
        }),
      ),
    ).toEqual({
      subscriberId: who._id,
      email: 'x@b.example',
      removedLists: ['A'],
      addedLists: ['B'],
      currentLists: ['C', 'B'],
    })
    expectRefused(
      await shop.email.post('/lists/move-subscriber', { email: 'x@b.example', fromListIds: [b.id], toListIds: [noId] }),
      404,
      'list_not_found',
    )
    const counts = await Promise.all(
      [a, b, c].map(async list => expectOk(await shop.email.get(`/lists/${list.id}`)).list.count),
    )
    expect(counts).toEqual([0, 1, 1])
  })

  test('counts stay right under parallel moves', async () => {
    const [a, b] = [await makeList('A'), await makeList('B')]
    for (let i = 0; i < 8; i++) await add({ email: `m${i}@b.example`, lists: ['A'] })
    const move = (i: number, from: string, to: string) =>
      shop.email.post('/lists/move-subscriber', { email: `m${i % 8}@b.example`, fromListIds: [from], toListIds: [to] })
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, i) => (Math.random() < 0.5 ? move(i, a.id, b.id) : move(i, b.id, a.id))),
    )
    expect(answers.every(answer => answer.status === 200)).toBe(true)
    const count = async (id: string) => expectOk(await shop.email.get(`/lists/${id}`)).list.count
    const listed = async (name: string) =>
      expectOk(await shop.email.get(`/subscribers?lists=${name}`)).subscribers.length
    expect([await count(a.id), await count(b.id)]).toEqual([await listed('A'), await listed('B')])
    expect((await count(a.id)) + (await count(b.id))).toBe(8)
  })
})

describe('GET /lists-and-segments', () => {
  test('all lists and segments with counts', async () => {
    const list = await makeList('News')
    await add({ email: 'a@b.example', lists: ['News'] })
    await add({ email: 'b@b.example' })
    const segment = expectOk(await shop.email.post('/segments', { name: 'All', rules: everything }), 201).segment
    expect(expectOk(await shop.email.get('/lists-and-segments'))).toEqual({
      lists: [{ id: list.id, name: 'News', count: 1 }],
      segments: [{ id: segment.id, name: 'All', count: 2 }],
    })
  })
})

describe('segments', () => {
  const condition = (field: string, operator: string, value?: unknown) => ({ field, operator, value })
  const nested = (depth: number): object => ({
    match: 'all',
    conditions: depth === 1 ? [condition('email', 'is_set')] : [nested(depth - 1)],
  })

  test('depth 5 and 100 conditions at most', async () => {
    expectOk(await shop.email.post('/segments', { name: 'five', rules: nested(5) }), 201)
    for (const depth of [6, 20, 100])
      expectRefused(
        await shop.email.post('/segments', { name: `d${depth}`, rules: nested(depth) }),
        400,
        'validation_failed',
      )
    const wide = (count: number) => ({
      match: 'any',
      conditions: Array.from({ length: count }, () => condition('city', 'equals', 'x')),
    })
    expectOk(await shop.email.post('/segments', { name: 'hundred', rules: wide(100) }), 201)
    for (const count of [101, 10_000])
      expectRefused(
        await shop.email.post('/segments', { name: `w${count}`, rules: wide(count) }),
        400,
        'validation_failed',
        'rules',
      )
  })

  test('refuses what is no rule', async () => {
    const wrong: unknown[] = [
      null,
      [],
      'x',
      {},
      { match: 'some', conditions: [condition('email', 'is_set')] },
      { match: 'all', conditions: [] },
      { match: 'all', conditions: ['x'] },
      { match: 'all', conditions: [condition('shoe', 'is_set')] },
      { match: 'all', conditions: [condition('constructor', 'is_set')] },
      { match: 'all', conditions: [condition('email', 'gt', 'x')] },
      { match: 'all', conditions: [condition('leadScore', 'gt', 'x')] },
      { match: 'all', conditions: [condition('leadScore', 'gt', 1e300)] },
      { match: 'all', conditions: [condition('createdAt', 'after', 'soon')] },
      { match: 'all', conditions: [condition('createdAt', 'within_days', -1)] },
      { match: 'all', conditions: [condition('tags', 'in', 'vip')] },
      { match: 'all', conditions: [condition('customFields.nope', 'is_set')] },
      { match: 'all', conditions: [condition("email' or true --", 'is_set')] },
    ]
    for (const rules of wrong)
      expect((await shop.email.post('/segments', { name: 'w', rules })).status, JSON.stringify(rules)).toBe(400)
  })

  test('every kind of condition finds who it should', async () => {
    await makeList('News')
    await shop.email.post('/custom-fields', { name: 'Age', key: 'age', type: 'number' })
    await shop.email.post('/custom-fields', { name: 'Since', key: 'since', type: 'date' })
    await shop.email.post('/custom-fields', { name: 'Paid', key: 'paid', type: 'boolean' })
    await add({
      email: 'ann@b.example',
      firstName: 'Ann',
      city: 'Rome',
      leadScore: 60,
      tags: ['vip'],
      lists: ['News'],
      dateOfBirth: '1990-05-01',
      customFields: { age: 36, since: '2026-01-15', paid: true, company: 'Acme' },
    })
    await add({
      email: 'bob@c.example',
      leadScore: 5,
      status: 'unsubscribed',
      customFields: { age: 20, since: '2026-03-01', paid: false },
    })
    const who = async (rules: object) => {
      const { segment } = expectOk(await shop.email.post('/segments', { name: `s${Math.random()}`, rules }), 201)
      const found = expectOk(await shop.email.get(`/subscribers?segments=${segment.name}`)).subscribers.map(
        (one: { email: string }) => one.email[0],
      )
      expect(segment.count).toBe(found.length)
      expectOk(await shop.email.delete(`/segments/${segment.id}`))
      return found.sort().join('')
    }
    const one = (field: string, operator: string, value?: unknown) =>
      who({ match: 'all', conditions: [condition(field, operator, value)] })
    expect(await one('email', 'ends_with', '@B.example')).toBe('a')
    expect(await one('email', 'starts_with', 'B')).toBe('b')
    expect(await one('email', 'contains', '%')).toBe('')
    expect(await one('firstName', 'equals', 'ANN')).toBe('a')
    expect(await one('firstName', 'not_equals', 'ann')).toBe('b')
    expect(await one('firstName', 'is_not_set')).toBe('b')
    expect(await one('city', 'is_set')).toBe('a')
    expect(await one('city', 'in', ['rome', 'paris'])).toBe('a')
    expect(await one('city', 'not_in', ['rome'])).toBe('b')
    expect(await one('status', 'equals', 'unsubscribed')).toBe('b')
    expect(await one('leadScore', 'gte', 60)).toBe('a')
    expect(await one('leadScore', 'lt', 60)).toBe('b')
    expect(await one('leadScore', 'in', [5, 60])).toBe('ab')
    expect(await one('tags', 'equals', 'vip')).toBe('a')
    expect(await one('tags', 'not_in', ['vip', 'x'])).toBe('b')
    expect(await one('tags', 'is_not_set')).toBe('b')
    expect(await one('lists', 'in', ['news'])).toBe('a')
    expect(await one('lists', 'equals', 'Nowhere')).toBe('')
    expect(await one('dateOfBirth', 'before', '1990-05-02')).toBe('a')
    expect(await one('dateOfBirth', 'is_not_set')).toBe('b')
    expect(await one('createdAt', 'within_days', 1)).toBe('ab')
    expect(await one('createdAt', 'before', '2020-01-01T00:00:00Z')).toBe('')
    expect(await one('lastOpenAt', 'is_not_set')).toBe('ab')
    expect(await one('totalOpens', 'equals', 0)).toBe('ab')
    expect(await one('isSuppressed', 'equals', true)).toBe('b')
    expect(await one('customFields.age', 'gt', 20)).toBe('a')
    expect(await one('customFields.age', 'equals', 20)).toBe('b')
    expect(await one('customFields.since', 'after', '2026-01-15')).toBe('b')
    expect(await one('customFields.since', 'equals', '2026-01-15')).toBe('a')
    expect(await one('customFields.paid', 'equals', false)).toBe('b')
    expect(await one('customFields.company', 'contains', 'cm')).toBe('a')
    expect(await one('customFields.company', 'not_equals', 'acme')).toBe('b')
    expect(
      await who({ match: 'none', conditions: [condition('tags', 'equals', 'vip'), condition('leadScore', 'gt', 100)] }),
    ).toBe('b')
    expect(
      await who({
        match: 'any',
        conditions: [
          condition('tags', 'equals', 'vip'),
          {
            match: 'all',
            conditions: [condition('leadScore', 'lte', 5), condition('status', 'equals', 'unsubscribed')],
          },
        ],
      }),
    ).toBe('ab')
  })

  test('get, change and delete, only one’s own', async () => {
    const { segment } = expectOk(await shop.email.post('/segments', { name: 'S', rules: everything }), 201)
    await makeList('News')
    expectRefused(await shop.email.put(`/segments/${segment.id}`, { name: 'news' }), 409, 'segment_name_taken', 'name')
    expect(expectOk(await shop.email.put(`/segments/${segment.id}`, { name: 's' })).segment.name).toBe('s')
    expect(expectOk(await shop.email.get(`/segments/${segment.id}`)).segment.rules).toEqual(everything)
    const other = await w.business()
    expectSameAsMissing(await other.email.get(`/segments/${segment.id}`), await other.email.get(`/segments/${noId}`))
    expectOk(await shop.email.delete(`/segments/${segment.id}`))
    expectRefused(await shop.email.get(`/segments/${segment.id}`), 404, 'segment_not_found')
    expect((await makeList('S')).name).toBe('S')
  })
})
