import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'
import { expectOk, expectRefused, expectSameAsMissing, subscriberShape, timestamp } from './email-shapes.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

const at = (email: string) => `/subscribers/${encodeURIComponent(email)}`
const add = async (body: object) => (await shop.email.post('/subscribers', body)).body.data
const makeList = async (name: string) => (await shop.email.post('/lists', { name })).body.data.list
const noId = '000000000000000000000000'

describe('POST /subscribers', () => {
  test('creates with 201 and every field, then updates with 200', async () => {
    await makeList('News')
    const created = expectOk(await shop.email.post('/subscribers', { email: 'Ann.Lee+shop@Example.com' }), 201)
    expect(created).toEqual(subscriberShape(shop))
    expect(created).toMatchObject({
      email: 'Ann.Lee+shop@Example.com',
      country: 'Not Specified',
      city: 'Not Specified',
      mobile: '',
      status: 'subscribed',
      source: 'api',
      leadScore: 0,
      tags: [],
      lists: [],
      isSuppressed: false,
    })
    const body = {
      email: 'ann.lee+SHOP@example.com',
      firstName: 'Ann',
      lastName: 'Lee',
      mobile: '+491701234567',
      country: 'Germany',
      city: 'Köln',
      dateOfBirth: '1990-02-28',
      leadScore: -7,
      tags: ['vip', ' new ', 'vip'],
      lists: ['NEWS'],
      customFields: { company: 'Acme', position: 'CEO' },
      source: 'manual',
      unknownField: { is: 'ignored' },
    }
    const updated = expectOk(await shop.email.post('/subscribers', body), 200)
    expect(updated).toEqual({
      ...created,
      ...{ firstName: 'Ann', lastName: 'Lee', mobile: '+491701234567', country: 'Germany', city: 'Köln' },
      ...{ dateOfBirth: '1990-02-28', leadScore: -7, tags: ['vip', 'new'], lists: ['News'], source: 'manual' },
      customFields: { company: 'Acme', position: 'CEO' },
      suppressionDetail: { type: '', reason: '', createdAt: created.createdAt, updatedAt: timestamp },
      updatedAt: timestamp,
    })
  })

  test('refuses what is not a mailable address', async () => {
    for (const email of [
      '',
      'x',
      'a@b',
      'a b@c.de',
      'a@b@c.de',
      '@c.de',
      'a@.de',
      'a@c..de',
      '<a@c.de>',
      `${'a'.repeat(250)}@c.de`,
      'a@c.de\n',
    ])
      expectRefused(await shop.email.post('/subscribers', { email }), 400, 'validation_failed', 'email')
    for (const email of [
      "o'hara+tag@sub.example.co",
      'ü@bücher.example',
      `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.ee`,
    ])
      expectOk(await shop.email.post('/subscribers', { email }), 201)
  })

  test('refuses wrong types, values and sizes', async () => {
    const wrong: [string, object][] = [
      ['email', {}],
      ['email', { email: 5 }],
      ['firstName', { firstName: 5 }],
      ['firstName', { firstName: 'x'.repeat(201) }],
      ['leadScore', { leadScore: 1.5 }],
      ['leadScore', { leadScore: '5' }],
      ['leadScore', { leadScore: 1_000_000_001 }],
      ['status', { status: 'spam' }],
      ['dateOfBirth', { dateOfBirth: '1990-02-30' }],
      ['dateOfBirth', { dateOfBirth: 'yesterday' }],
      ['tags', { tags: 'vip' }],
      ['tags[0]', { tags: ['x'.repeat(101)] }],
      ['tags', { tags: Array.from({ length: 10_000 }, (_, i) => `t${i}`) }],
      ['lists', { lists: {} }],
      ['customFields', { customFields: [] }],
    ]
    for (const [field, body] of wrong)
      expectRefused(
        await shop.email.post('/subscribers', field === 'email' ? body : { email: 'a@b.example', ...body }),
        400,
        'validation_failed',
        field,
      )
    expect((await shop.email.post('/subscribers', [])).status).toBe(400)
    expect((await shop.email.post('/subscribers')).status).toBe(400)
    const tag = 'x'.repeat(100)
    expect((await add({ email: 'a@b.example', tags: [tag], leadScore: 1_000_000_000 })).tags).toEqual([tag])
  })

  test('refuses unknown lists, undefined custom fields and values of another type', async () => {
    const email = 'a@b.example'
    expectRefused(await shop.email.post('/subscribers', { email, lists: ['Nowhere'] }), 422, 'list_not_found', 'lists')
    await shop.email.post('/custom-fields', { name: 'Age', key: 'age', type: 'number' })
    const unknown = await shop.email.post('/subscribers', { email, customFields: { shoe: 43 } })
    expectRefused(unknown, 422, 'custom_field_invalid', 'customFields.shoe')
    expect(unknown.body.message).toContain('company, position, age')
    expectRefused(
      await shop.email.post('/subscribers', { email, customFields: { age: '43' } }),
      422,
      'custom_field_invalid',
      'customFields.age',
    )
    expect((await add({ email, customFields: { age: 43, company: 'A' } })).customFields).toEqual({
      company: 'A',
      age: 43,
    })
    expect((await add({ email, customFields: { company: null } })).customFields).toEqual({ age: 43 })
  })

  test('keeps any text as it is', async () => {
    const texts = [
      "Robert'); drop table email_subscriber;--",
      '<script>alert(1)</script>',
      '👩‍👩‍👧 مرحبا',
      '{"a":1}',
      '\\',
      '%_%',
      '"quoted, text"',
    ]
    for (const [i, text] of texts.entries()) {
      const made = await add({
        email: `t${i}@b.example`,
        firstName: text,
        lastName: text,
        city: text,
        tags: [text],
        customFields: { company: text },
      })
      expect(made).toMatchObject({
        firstName: text,
        lastName: text,
        city: text,
        tags: [text],
        customFields: { company: text },
      })
      const found = await shop.email.get(`/subscribers?search=${encodeURIComponent(text)}`)
      expect(found.body.data.subscribers.map((one: { email: string }) => one.email)).toContain(`t${i}@b.example`)
    }
  })

  test('two parallel calls for one new email make one subscriber', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        shop.email.post('/subscribers', { email: i % 2 ? 'One@b.example' : 'one@B.example', tags: [`t${i}`] }),
      ),
    )
    expect(answers.filter(answer => answer.status === 201)).toHaveLength(1)
    expect(answers.filter(answer => answer.status === 200)).toHaveLength(19)
    const { data } = (await shop.email.get('/subscribers')).body
    expect(data.pagination.totalItems).toBe(1)
    expect(data.subscribers[0].tags).toHaveLength(20)
  })

  test('an Idempotency-Key does it once', async () => {
    const key = { 'idempotency-key': 'k1' }
    const first = await shop.email.post('/subscribers', { email: 'a@b.example' }, key)
    const again = await shop.email.post('/subscribers', { email: 'a@b.example' }, key)
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
    expectRefused(await shop.email.post('/subscribers', { email: 'c@b.example' }, key), 422, 'idempotency_key_reused')
  })
})

describe('GET /subscribers/{email} and /{id}', () => {
  test('finds by email in any case and by id, with every field', async () => {
    const made = await add({ email: 'Ann+x@b.example', tags: ['vip'] })
    for (const path of [
      at('ann+X@B.example'),
      '/subscribers/ann+x@b.example',
      `/subscribers/${made._id}`,
      `/subscribers/${made._id}/`,
    ])
      expect(expectOk(await shop.email.get(path))).toEqual(made)
  })

  test('refuses what is neither, and answers 404 for the missing and for others', async () => {
    for (const path of ['ann', 'ANN', 'ann@', 'a@b', made24('G'), '5', '%25', 'x'.repeat(500)])
      expectRefused(await shop.email.get(`/subscribers/${path}`), 400, 'invalid_email')
    const theirs = await (await w.business()).email.post('/subscribers', { email: 'theirs@b.example' })
    expectSameAsMissing(
      await shop.email.get(`/subscribers/${theirs.body.data._id}`),
      await shop.email.get(`/subscribers/${noId}`),
    )
    expectSameAsMissing(await shop.email.get(at('theirs@b.example')), await shop.email.get(at('nobody@b.example')))
  })
  const made24 = (letter: string) => letter.repeat(24)
})

describe('PUT /subscribers/{email} and /{id}', () => {
  test('updates what is provided and leaves the rest', async () => {
    const made = await add({ email: 'a@b.example', firstName: 'A', tags: ['x', 'y'], customFields: { company: 'C' } })
    const body = {
      lastName: 'Z',
      leadScore: 12,
      tagsToAdd: ['z', 'x'],
      tagsToRemove: ['y', 'nowhere'],
      customFields: { position: 'P' },
    }
    const updated = expectOk(await shop.email.put(at('A@B.example'), body))
    expect(updated).toEqual({
      ...made,
      ...{
        lastName: 'Z',
        leadScore: 12,
        tags: ['x', 'z'],
        customFields: { company: 'C', position: 'P' },
        updatedAt: timestamp,
      },
      suppressionDetail: { ...made.suppressionDetail, updatedAt: timestamp },
    })
    expect(expectOk(await shop.email.put(`/subscribers/${made._id}`, {}))).toMatchObject({
      lastName: 'Z',
      tags: ['x', 'z'],
    })
  })

  test('a status suppresses, subscribed lifts', async () => {
    await add({ email: 'a@b.example' })
    for (const status of ['unsubscribed', 'bounced', 'complaint']) {
      const gone = expectOk(await shop.email.put(at('a@b.example'), { status }))
      expect(gone).toMatchObject({
        status,
        isSuppressed: true,
        suppressionDetail: { type: status, reason: expect.stringMatching(/./) },
      })
    }
    const back = expectOk(await shop.email.put(at('a@b.example'), { status: 'subscribed' }))
    expect(back).toMatchObject({
      status: 'subscribed',
      isSuppressed: false,
      suppressionDetail: { type: '', reason: '' },
    })
  })

  test('refuses a wrong email, wrong values and the missing', async () => {
    await add({ email: 'a@b.example' })
    expectRefused(await shop.email.put('/subscribers/not-an-email', {}), 400, 'invalid_email')
    expectRefused(await shop.email.put(at('a@b.example'), { status: 'gone' }), 400, 'validation_failed', 'status')
    expectRefused(await shop.email.put(at('a@b.example'), { leadScore: null }), 400, 'validation_failed', 'leadScore')
    expectRefused(await shop.email.put(at('a@b.example'), { tagsToAdd: 'x' }), 400, 'validation_failed', 'tagsToAdd')
    expectRefused(await shop.email.put(at('a@b.example'), { customFields: { x: 1 } }), 422, 'custom_field_invalid')
    const theirs = await w.business()
    await theirs.email.post('/subscribers', { email: 'theirs@b.example' })
    expectSameAsMissing(
      await shop.email.put(at('theirs@b.example'), {}),
      await shop.email.put(`/subscribers/${noId}`, {}),
    )
  })
})

describe('GET /subscribers', () => {
  test('pages newest first, with both envelopes and defaults', async () => {
    for (let i = 0; i < 12; i++) await add({ email: `p${i}@b.example` })
    const first = expectOk(await shop.email.get('/subscribers'))
    expect(first.subscribers.map((one: { email: string }) => one.email)).toEqual(
      Array.from({ length: 10 }, (_, i) => `p${11 - i}@b.example`),
    )
    expect(first.subscribers[0]).toEqual(subscriberShape(shop))
    expect(first).toEqual({
      subscribers: expect.any(Array),
      suppressionList: [],
      pagination: {
        currentPage: 1,
        itemsPerPage: 10,
        totalItems: 12,
        totalPages: 2,
        hasNextPage: true,
        hasPrevPage: false,
      },
    })
    expect(expectOk(await shop.email.get('/subscribers?page=2')).pagination).toEqual({
      currentPage: 2,
      itemsPerPage: 10,
      totalItems: 12,
      totalPages: 2,
      hasNextPage: false,
      hasPrevPage: true,
    })
    for (const page of ['3', '1000000000']) {
      const beyond = expectOk(await shop.email.get(`/subscribers?page=${page}&limit=100`))
      expect([beyond.subscribers, beyond.pagination.totalItems]).toEqual([[], 12])
    }
    expect(expectOk(await shop.email.get('/subscribers?limit=100')).subscribers).toHaveLength(12)
    expect(expectOk(await shop.email.get('/subscribers?limit=101')).pagination.itemsPerPage).toBe(100)
  })

  test('refuses wrong pages, limits, states and scores', async () => {
    for (const query of [
      'page=0',
      'page=-1',
      'page=abc',
      'page=1.5',
      'limit=0',
      'limit=x',
      'status=spam',
      'leadScoreMin=x',
      'leadScoreMax=1.5',
    ])
      expectRefused(await shop.email.get(`/subscribers?${query}`), 400, 'validation_failed', query.split('=')[0])
    expectOk(await shop.email.get('/subscribers?unknown=1&leadScoreMin=-99999999999&leadScoreMax=99999999999'))
  })

  test('filters by each field and by all together, any of several names', async () => {
    await makeList('News')
    await makeList('Offers')
    await shop.email.post('/segments', {
      name: 'Warm',
      rules: { match: 'all', conditions: [{ field: 'leadScore', operator: 'gte', value: 50 }] },
    })
    await add({ email: 'ann@b.example', firstName: 'Ann', tags: ['vip', 'x,y'], lists: ['News'], leadScore: 60 })
    await add({
      email: 'bob@b.example',
      lastName: 'Annson',
      tags: ['new'],
      lists: ['News', 'Offers'],
      leadScore: 5,
      status: 'unsubscribed',
    })
    await add({ email: 'cid@b.example', leadScore: -3, status: 'bounced' })
    const found = async (query: string) => {
      const data = expectOk(await shop.email.get(`/subscribers?${query}`))
      expect(data.pagination.totalItems).toBe(data.subscribers.length)
      return data.subscribers.map((one: { email: string }) => one.email.split('@')[0]).sort()
    }
    expect(await found('status=unsubscribed')).toEqual(['bob'])
    expect(await found('tags=vip')).toEqual(['ann'])
    expect(await found('tags=vip,new')).toEqual(['ann', 'bob'])
    expect(await found('tags=vip&tags=new')).toEqual(['ann', 'bob'])
    expect(await found('tags=VIP')).toEqual([])
    expect(await found('lists=news')).toEqual(['ann', 'bob'])
    expect(await found('lists=Offers,Nowhere')).toEqual(['bob'])
    expect(await found('segments=warm')).toEqual(['ann'])
    expect(await found('leadScoreMin=5')).toEqual(['ann', 'bob'])
    expect(await found('leadScoreMax=5')).toEqual(['bob', 'cid'])
    expect(await found('leadScoreMin=5&leadScoreMax=5')).toEqual(['bob'])
    expect(await found('leadScoreMin=6&leadScoreMax=5')).toEqual([])
    expect(await found('search=ANN')).toEqual(['ann', 'bob'])
    expect(await found('search=b.ex')).toEqual(['ann', 'bob', 'cid'])
    expect(await found('search=a%25')).toEqual([])
    expect(await found('search=')).toEqual(['ann', 'bob', 'cid'])
    expect(
      await found('search=ann&status=subscribed&tags=vip&lists=News&segments=Warm&leadScoreMin=1&leadScoreMax=99'),
    ).toEqual(['ann'])
    expect(await found('lists=Nowhere')).toEqual([])
  })

  test('shows the suppressed of the page in suppressionList, and the segments of each', async () => {
    await shop.email.post('/segments', {
      name: 'All',
      rules: { match: 'any', conditions: [{ field: 'email', operator: 'is_set' }] },
    })
    await add({ email: 'a@b.example', status: 'complaint' })
    await add({ email: 'c@b.example' })
    const data = expectOk(await shop.email.get('/subscribers'))
    expect(data.subscribers.map((one: { segments: string[] }) => one.segments)).toEqual([['All'], ['All']])
    expect(data.suppressionList).toEqual([
      {
        email: 'a@b.example',
        type: 'complaint',
        reason: expect.stringMatching(/./),
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    ])
  })

  test('sees nothing of other businesses', async () => {
    const theirs = await w.business()
    await theirs.email.post('/subscribers', { email: 'a@b.example', tags: ['vip'] })
    for (const query of ['', '?search=b.example', '?tags=vip', '?status=subscribed'])
      expect(expectOk(await shop.email.get(`/subscribers${query}`)).pagination.totalItems).toBe(0)
  })
})

describe('DELETE /subscribers', () => {
  test('they vanish from every read and count, and the email is free', async () => {
    const list = await makeList('News')
    const [a, b, c] = [
      await add({ email: 'a@b.example', lists: ['News'], status: 'unsubscribed' }),
      await add({ email: 'b@b.example' }),
      await add({ email: 'c@b.example' }),
    ]
    expect(
      expectOk(
        await shop.email.delete('/subscribers', {
          emails: ['A@b.example', 'nobody@b.example'],
          subscriberIds: [b._id, noId],
        }),
      ),
    ).toEqual({
      deleted: 2,
      notFound: [noId, 'nobody@b.example'],
    })
    expect((await shop.email.get(`/subscribers/${a._id}`)).status).toBe(404)
    expect((await shop.email.get(at('a@b.example'))).status).toBe(404)
    expect(expectOk(await shop.email.get('/subscribers')).subscribers.map((one: { _id: string }) => one._id)).toEqual([
      c._id,
    ])
    expect(expectOk(await shop.email.get(`/lists/${list.id}`)).list.count).toBe(0)
    expect(expectOk(await shop.email.get('/subscribers/stats')).totalSubscribersInBusiness).toBe(1)
    const again = expectOk(await shop.email.post('/subscribers', { email: 'a@b.example' }), 201)
    expect(again._id).not.toBe(a._id)
    // What suppressed the address stays.
    expect(again).toMatchObject({ status: 'unsubscribed', isSuppressed: true, lists: [] })
    expect(expectOk(await shop.email.delete('/subscribers', { email: 'c@b.example' })).deleted).toBe(1)
    expect(expectOk(await shop.email.delete('/subscribers', { subscriberId: again._id })).deleted).toBe(1)
  })

  test('erases them after thirty days', async () => {
    const moved = await w.business({ testMode: true })
    await moved.account.put('/clock', { now: '2026-01-01T00:00:00.000Z' })
    await moved.email.post('/subscribers', { email: 'a@b.example' })
    await moved.email.delete('/subscribers', { emails: ['a@b.example'] })
    const rows = async () => (await w.db`select id from email_subscriber where business_id = ${moved.id}`).length
    await moved.account.post('/clock/advance', { days: 29 })
    expect(await rows()).toBe(1)
    await moved.account.post('/clock/advance', { days: 1 })
    expect(await rows()).toBe(0)
  })

  test('refuses nothing, too many and wrong ones', async () => {
    expectRefused(await shop.email.delete('/subscribers', {}), 400, 'validation_failed', 'emails')
    expectRefused(await shop.email.delete('/subscribers', { emails: [] }), 400, 'validation_failed', 'emails')
    expectRefused(
      await shop.email.delete('/subscribers', { emails: ['a@b.example', 'x'] }),
      400,
      'validation_failed',
      'emails[1]',
    )
    const many = (count: number) => Array.from({ length: count }, (_, i) => `m${i}@b.example`)
    expect(expectOk(await shop.email.delete('/subscribers', { emails: many(1_000) })).notFound).toHaveLength(1_000)
    expectRefused(await shop.email.delete('/subscribers', { emails: many(1_001) }), 400, 'validation_failed', 'emails')
    expectRefused(
      await shop.email.delete('/subscribers', { emails: many(1_000), email: 'a@b.example' }),
      400,
      'validation_failed',
      'emails',
    )
    const theirs = (await (await w.business()).email.post('/subscribers', { email: 'theirs@b.example' })).body.data
    expect(expectOk(await shop.email.delete('/subscribers', { subscriberIds: [theirs._id] }))).toEqual({
      deleted: 0,
      notFound: [theirs._id],
    })
  })
})

describe('GET /subscribers/stats', () => {
  test('answers every field, exact, for the business and for a list', async () => {
    const list = await makeList('News')
    await makeList('Empty')
    await add({ email: 'a@b.example', lists: ['News'], leadScore: 50 })
    await add({ email: 'b@b.example', lists: ['News'], leadScore: 10, status: 'unsubscribed' })
    await add({ email: 'c@b.example', leadScore: 11, status: 'complaint' })
    await add({ email: 'd@b.example', leadScore: -5, status: 'bounced' })
    const stats = expectOk(await shop.email.get('/subscribers/stats'))
    const rule = (value: number) => ({ value, status: 'active' })
    expect(stats).toEqual({
      totalSubscribersInBusiness: 4,
      totalSubscribersAcrossAllLists: 2,
      listWiseCounts: expect.arrayContaining([
        { _id: list.id, listName: 'News', count: 2, totalSubscribers: 2, unsubscribedCount: 1, engagedCount: 0 },
        {
          _id: expect.any(String),
          listName: 'Empty',
          count: 0,
          totalSubscribers: 0,
          unsubscribedCount: 0,
          engagedCount: 0,
        },
      ]),
      leadScoreAnalytics: { averageLeadScore: 16.5, hotLeads: 1, coldLeads: 2 },
      leadScoreConfig: {
        emailOpen: rule(5),
        emailClick: rule(10),
        emailBounce: rule(-10),
        unsubscribe: rule(-20),
        createdAt: timestamp,
        updatedAt: timestamp,
      },
      statusAnalytics: { subscribed: 1, unsubscribed: 1, bounced: 1, spam: 1 },
      engagedSubscribers: 0,
      isListSpecific: false,
      selectedListName: 'All Subscribers',
    })
    for (const query of [list.id, 'news'])
      expect(expectOk(await shop.email.get(`/subscribers/stats?list=${query}`))).toMatchObject({
        totalSubscribersInBusiness: 4,
        listWiseCounts: [{ listName: 'News' }],
        leadScoreAnalytics: { averageLeadScore: 30, hotLeads: 1, coldLeads: 1 },
        statusAnalytics: { subscribed: 1, unsubscribed: 1, bounced: 0, spam: 0 },
        isListSpecific: true,
        selectedListName: 'News',
      })
    expectRefused(await shop.email.get('/subscribers/stats?list=Nowhere'), 404, 'list_not_found')
  })

  test('follows new thresholds of hot and cold at once', async () => {
    for (const leadScore of [0, 20, 40, 60]) await add({ email: `s${leadScore}@b.example`, leadScore })
    expectOk(
      await shop.email.put('/lead-score', { hotFrom: 40, coldTo: 0, emailOpen: { value: 7, status: 'inactive' } }),
    )
    const stats = expectOk(await shop.email.get('/subscribers/stats'))
    expect(stats.leadScoreAnalytics).toEqual({ averageLeadScore: 30, hotLeads: 2, coldLeads: 1 })
    expect(stats.leadScoreConfig.emailOpen).toEqual({ value: 7, status: 'inactive' })
    expectRefused(await shop.email.put('/lead-score', { coldTo: 40 }), 422, 'thresholds_overlap')
  })

  test('an empty business has zeros', async () => {
    expect(expectOk(await shop.email.get('/subscribers/stats'))).toMatchObject({
      totalSubscribersInBusiness: 0,
      listWiseCounts: [],
      leadScoreAnalytics: { averageLeadScore: 0, hotLeads: 0, coldLeads: 0 },
      engagedSubscribers: 0,
    })
  })
})

describe('GET /custom-fields', () => {
  test('company and position exist from the start; others can be defined, renamed and removed', async () => {
    const { customFields } = expectOk(await shop.email.get('/custom-fields'))
    const shape = {
      _id: expect.stringMatching(/^[0-9a-f]{24}$/),
      name: expect.any(String),
      createdAt: timestamp,
      updatedAt: timestamp,
    }
    expect(customFields).toEqual([
      { ...shape, key: 'company', type: 'text' },
      { ...shape, key: 'position', type: 'text' },
    ])
    const made = expectOk(
      await shop.email.post('/custom-fields', { name: 'Shoe size', key: 'shoe', type: 'number' }),
      201,
    ).customField
    expect(made).toEqual({ ...shape, name: 'Shoe size', key: 'shoe', type: 'number' })
    expectRefused(
      await shop.email.post('/custom-fields', { name: 'X', key: 'shoe', type: 'text' }),
      409,
      'custom_field_key_taken',
      'key',
    )
    expectRefused(
      await shop.email.post('/custom-fields', { name: 'X', key: '1x', type: 'text' }),
      400,
      'validation_failed',
      'key',
    )
    expectRefused(
      await shop.email.post('/custom-fields', { name: 'X', key: 'x', type: 'list' }),
      400,
      'validation_failed',
      'type',
    )
    expect(expectOk(await shop.email.put(`/custom-fields/${made._id}`, { name: 'Size' })).customField.name).toBe('Size')
    await add({ email: 'a@b.example', customFields: { shoe: 43 } })
    expectOk(await shop.email.delete(`/custom-fields/${made._id}`))
    expect(expectOk(await shop.email.get(at('a@b.example'))).customFields).toEqual({})
    expectRefused(await shop.email.delete(`/custom-fields/${customFields[0]._id}`), 422, 'custom_field_required')
    const theirs = await w.business()
    expect((await theirs.email.get('/custom-fields')).body.data.customFields[0]._id).not.toBe(customFields[0]._id)
  })
})
