import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

const hexId = /^[0-9a-f]{24}$/
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

async function addContact(contact: object, query = '') {
  const answer = await shop.chat.post(`/contacts${query}`, contact)
  expect(answer.status, answer.text).toBe(200)
  return answer.body.data.createdContacts[0] ?? answer.body.data.updatedContacts[0]
}

const tag = (...names: string[]) => Promise.all(names.map(name => shop.chat.post('/settings/tags', { name })))
const attribute = (...names: string[]) =>
  Promise.all(names.map(name => shop.chat.post('/settings/attributes', { name })))

function expectContact(contact: Record<string, unknown>) {
  expect(contact).toEqual({
    _id: expect.stringMatching(hexId),
    name: expect.any(String),
    settingId: expect.stringMatching(hexId),
    userId: shop.userId,
    countryCode: expect.any(String),
    mobile: expect.stringMatching(/^\d{7,15}$/),
    status: 'active',
    source: 'api',
    optin: expect.any(Boolean),
    attributes: expect.any(Array),
    incomingBlocked: expect.any(Boolean),
    broadcastIds: [],
    list: expect.any(Array),
    tags: expect.any(Array),
    __v: expect.any(Number),
    createdAt: expect.stringMatching(timestamp),
    updatedAt: expect.stringMatching(timestamp),
  })
}

describe('POST /contacts', () => {
  test('creates one contact from an object, with every field of the specification', async () => {
    await tag('vip')
    await attribute('city')
    const answer = await shop.chat.post('/contacts', {
      mobile: '+91 (98765) 432-10',
      name: 'Asha Rao',
      optin: false,
      incomingBlocked: false,
      tags: ['vip'],
      attributes: [{ name: 'city', value: 'Pune' }],
      list: ['Customers'],
    })
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body)).toEqual(['status', 'message', 'data'])
    expect(answer.body.status).toBe('success')
    expect(Object.keys(answer.body.data)).toEqual([
      'createdContacts',
      'updatedContacts',
      'skippedContacts',
      'failedContacts',
    ])
    const [contact] = answer.body.data.createdContacts
    expectContact(contact)
    expect(contact).toMatchObject({ mobile: '919876543210', countryCode: '91', name: 'Asha Rao', optin: false })
    expect(contact).toMatchObject({ list: ['Customers'], tags: ['vip'], __v: 0 })
    expect(contact.attributes).toEqual([{ name: 'city', value: 'Pune', _id: expect.stringMatching(hexId) }])
  })

  test.each([
    ['seven digits', '1234567', 200],
    ['six digits', '123456', 400],
    ['fifteen digits', '123456789012345', 200],
    ['sixteen digits', '1234567890123456', 400],
    ['a negative number', -14155550100, 400],
    ['an integer', 14155550100, 200],
    ['a fraction', 1415555010.5, 400],
    ['letters', '1415CALLME1', 400],
    ['nothing', '', 400],
    ['an object', {}, 400],
    ['null', null, 400],
  ])('a number of %s answers %#', async (_, mobile, status) => {
    const answer = await shop.chat.post('/contacts', { mobile })
    expect(answer.status).toBe(status)
    if (status === 400) expect(answer.body.errors[0].field).toBe('mobile')
  })

  test('a missing number, an empty array, 1,001 items and bodies that are no contacts are refused', async () => {
    expect((await shop.chat.post('/contacts', { name: 'x' })).body.errors).toEqual([
      { field: 'mobile', message: 'is required' },
    ])
    expect((await shop.chat.post('/contacts', [])).status).toBe(400)
    expect((await shop.chat.post('/contacts', new Array(1_001).fill({ mobile: '14155550100' }))).status).toBe(400)
    expect((await shop.chat.post('/contacts', '"text"', { 'content-type': 'application/json' })).status).toBe(400)
    expect((await shop.chat.post('/contacts?onDuplicate=whatever', { mobile: '14155550100' })).status).toBe(400)
  })

  test('1,000 items are saved, bad ones fail alone', async () => {
    await tag('vip')
    const items: unknown[] = Array.from({ length: 1_000 }, (_, i) => ({ mobile: 14150000000 + i, name: `C${i}` }))
    items[3] = { mobile: 'no', name: 'x' }
    items[5] = { mobile: '14150000005', tags: ['vip', 'unheard'] }
    items[7] = 'text'
    items[9] = { mobile: '14150000009', attributes: [{ name: 'unknown', value: '1' }] }
    const { status, body } = await shop.chat.post('/contacts', items)
    expect(status).toBe(200)
    expect(body.data.createdContacts).toHaveLength(996)
    expect(body.data.failedContacts).toEqual([
      { index: 3, mobile: 'no', error: expect.stringContaining('7 to 15 digits') },
      { index: 5, mobile: '14150000005', error: expect.stringContaining('"unheard"') },
      { index: 7, mobile: '', error: expect.any(String) },
      { index: 9, mobile: '14150000009', error: expect.stringContaining('"unknown"') },
    ])
    expect((await shop.chat.get('/contacts/')).body.data.total).toBe(996)
  })

  test('when none could be saved or skipped, 422', async () => {
    const answer = await shop.chat.post('/contacts', [{ mobile: '1' }, { mobile: '14155550100', tags: ['nope'] }])
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ success: false, status: 'error', code: 'no_contact_saved' })
    expect(answer.body.errors.map((error: { field: string }) => error.field)).toEqual(['[0]', '[1]'])
  })

  test('a duplicate is skipped, overwritten or refused, as asked', async () => {
    await tag('old', 'new')
    const first = await addContact({ mobile: 14155550100, name: 'First', tags: ['old'] })
    const skipped = await shop.chat.post('/contacts', { mobile: '+1 415 555 0100', name: 'Second' })
    expect(skipped.body.data.skippedContacts).toEqual([first])
    const over = await shop.chat.post('/contacts?onDuplicate=overwrite', {
      mobile: '14155550100',
      name: 'Third',
      tags: ['new'],
    })
    expect(over.body.data.updatedContacts[0]).toMatchObject({ _id: first._id, name: 'Third', tags: ['new'], __v: 1 })
    const error = await shop.chat.post('/contacts?onDuplicate=error', { mobile: '14155550100' })
    expect(error.status).toBe(422)
    const twice = await shop.chat.post('/contacts', [{ mobile: '14155550199' }, { mobile: '14155550199' }])
    expect(twice.body.data.createdContacts).toHaveLength(1)
    expect(twice.body.data.skippedContacts).toHaveLength(1)
  })

  test('the same number at the same moment makes one contact', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => shop.chat.post('/contacts', { mobile: 14155550100, name: `N${i}` })),
    )
    expect(answers.every(answer => answer.status === 200)).toBe(true)
    expect(answers.flatMap(answer => answer.body.data.createdContacts)).toHaveLength(1)
    expect((await shop.chat.get('/contacts/')).body.data.total).toBe(1)
  })

  test('an Idempotency-Key answers the same bytes and creates once', async () => {
    const key = { 'idempotency-key': 'contact-1' }
    const first = await shop.chat.post('/contacts?onDuplicate=error', { mobile: 14155550100 }, key)
    const again = await shop.chat.post('/contacts?onDuplicate=error', { mobile: 14155550100 }, key)
    expect(again.text).toBe(first.text)
    expect((await shop.chat.post('/contacts?onDuplicate=error', { mobile: 1415555010 }, key)).status).toBe(422)
  })
})

describe('GET /contacts/', () => {
  beforeEach(async () => {
    await tag('a', 'b')
    await attribute('city', 'plan')
    await addContact(
      Array.from({ length: 30 }, (_, i) => ({
        mobile: 14155550100 + i,
        name: i % 2 ? `Odd 50%_${i}` : `Even ${i}`,
        tags: i < 3 ? ['a'] : i < 6 ? ['b'] : [],
        optin: i !== 7,
        incomingBlocked: i === 8,
        list: i < 4 ? ['First'] : [],
        attributes:
          i < 2
            ? [
                { name: 'city', value: i ? 'Pune' : 'Goa' },
                { name: 'plan', value: 'gold' },
              ]
            : [],
      })),
    )
  })

  test('answers pages of 25, newest first, with the exact total', async () => {
    const { status, body } = await shop.chat.get('/contacts/')
    expect(status).toBe(200)
    expect(Object.keys(body.data)).toEqual(['contacts', 'total', 'page', 'limit'])
    expect(body.data).toMatchObject({ total: 30, page: 1, limit: 25 })
    expectContact({ ...body.data.contacts[0] })
    const mobiles = body.data.contacts.map((contact: { mobile: string }) => contact.mobile)
    expect(mobiles[0]).toBe('14155550129')
    expect(mobiles).toHaveLength(25)
    const second = await shop.chat.get('/contacts?page=2')
    expect(second.body.data.contacts).toHaveLength(5)
    const oldest = await shop.chat.get('/contacts/?order=1&limit=2&skip=1')
    expect(oldest.body.data.contacts.map((contact: { mobile: string }) => contact.mobile)).toEqual([
      '14155550101',
      '14155550102',
    ])
  })

  test.each([
    ['name=even', 15],
    ['name=50%25_', 15],
    ['name=nobody', 0],
    ['mobile=5550101', 1],
    ['mobile=%2B1 415 555', 30],
    ['tags=a', 3],
    ['tags=a,b', 6],
    ['tags=a&tags=b', 6],
    ['tags=zzz', 0],
    ['tags[]=a&tags[]=b', 6],
    ['tags[0]=a', 3],
    ['tags=["a","b"]', 6],
    ['list=First', 4],
    ['list=fIRST', 4],
    ['list=Second', 0],
    ['optin=false', 1],
    ['optin=true', 29],
    ['source=api', 30],
    ['source=csv', 0],
    ['incomingBlocked=true', 1],
    ['incomingBlocked=false', 29],
    ['attributes[0][name]=city&attributes[0][value]=Pune', 1],
    ['attributes[0][name]=plan&attributes[0][value]=gold', 2],
    ['attributes[0][name]=plan&attributes[0][value]=gold&attributes[1][name]=city&attributes[1][value]=Goa', 1],
    ['attributes[0][name]=city', 2],
    ['tags=a&optin=true&name=even', 2],
    ['unknown=1', 30],
  ])('?%s finds %i', async (query, total) => {
    const { status, body } = await shop.chat.get(`/contacts/?limit=100&${encodeURI(query).replaceAll('%25', '%')}`)
    expect(status).toBe(200)
    expect(body.data.total).toBe(total)
    expect(body.data.contacts).toHaveLength(total)
  })

  test.each([
    'page=0',
    'page=abc',
    'limit=0',
    'limit=1.5',
    'order=2',
    'skip=-1',
    'source=nobody',
    'optin=perhaps',
    'attributes[0][value]=Pune',
  ])('?%s is refused', async query => {
    expect((await shop.chat.get(`/contacts/?${query}`)).status).toBe(400)
  })

  test('limit is capped at 100, far pages are empty', async () => {
    expect((await shop.chat.get('/contacts?limit=5000')).body.data.limit).toBe(100)
    const far = await shop.chat.get('/contacts?page=1000000000000')
    expect(far.status).toBe(200)
    expect(far.body.data).toMatchObject({ contacts: [], total: 30 })
  })

  test("another business's contacts are not there, and the kept totals are right", async () => {
    const other = await w.business()
    expect((await other.chat.get('/contacts')).body.data).toMatchObject({ contacts: [], total: 0 })
    const chat = w.services.find(service => service.name === 'chat')!
    expect(await chat.audit(w.platform, shop.id)).toEqual([])
  })
})

describe('GET /contacts/{id}', () => {
  test('answers the contact with lastActive', async () => {
    const contact = await addContact({ mobile: 14155550100, name: 'Ann' })
    const { status, body } = await shop.chat.get(`/contacts/${contact._id}`)
    expect(status).toBe(200)
    expect(body).toEqual({
      status: 'success',
      message: expect.any(String),
      data: { ...contact, lastActive: expect.stringMatching(timestamp) },
    })
  })

  test('an id that is none answers 400, a missing one and one of another business 404', async () => {
    const contact = await addContact({ mobile: 14155550100 })
    const other = await w.business()
    expect((await shop.chat.get('/contacts/123')).status).toBe(400)
    expect((await shop.chat.get('/contacts/zzzzzzzzzzzzzzzzzzzzzzzz')).status).toBe(400)
    const missing = await other.chat.get('/contacts/aaaaaaaaaaaaaaaaaaaaaaaa')
    const theirs = await other.chat.get(`/contacts/${contact._id}`)
    expect(missing.status).toBe(404)
    expect({ ...theirs.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' })
  })

  test('a key is required', async () => {
    const answer = await w.app.inject({ url: '/chat/api/v1/contacts/aaaaaaaaaaaaaaaaaaaaaaaa' })
    expect(answer.statusCode).toBe(401)
  })
})

describe('PUT /contacts/{id}', () => {
  let id: string
  beforeEach(async () => {
    await tag('a', 'b', 'c')
    await attribute('city', 'plan')
    id = (
      await addContact({
        mobile: 14155550100,
        name: 'Ann',
        tags: ['a'],
        attributes: [{ name: 'city', value: 'Pune' }],
      })
    )._id
  })
  const put = (body: object) => shop.chat.put(`/contacts/${id}`, body)

  test('changes what is sent and answers the contact with its revision', async () => {
    const { status, body } = await put({
      name: 'Ann Lee',
      optin: false,
      incomingBlocked: true,
      mobile: '+44 20 7946 0000',
    })
    expect(status).toBe(200)
    expect(body.status).toBe('success')
    expect(body.data).toMatchObject({
      name: 'Ann Lee',
      optin: false,
      incomingBlocked: true,
      status: 'blocked',
      mobile: '442079460000',
      countryCode: '44',
      tags: ['a'],
      __v: 1,
    })
    expect(body.data).not.toHaveProperty('lastActive')
    expect((await put({})).body.data.__v).toBe(2)
  })

  test('tags replaces, then tagsToAdd, then tagsToRemove', async () => {
    expect((await put({ tags: ['b'] })).body.data.tags).toEqual(['b'])
    expect((await put({ tagsToAdd: ['a', 'c'] })).body.data.tags).toEqual(['b', 'a', 'c'])
    expect((await put({ tags: ['a', 'b'], tagsToAdd: ['c'], tagsToRemove: ['a', 'never'] })).body.data.tags).toEqual([
      'b',
      'c',
    ])
    expect((await put({ tags: [] })).body.data.tags).toEqual([])
  })

  test('declared strings are accepted as values, as JSON text and, for tags, with commas', async () => {
    expect((await put({ tagsToAdd: 'b, c' })).body.data.tags).toEqual(['a', 'b', 'c'])
    expect((await put({ tagsToRemove: '["b","c"]' })).body.data.tags).toEqual(['a'])
    const attributes = JSON.stringify([{ name: 'plan', value: 'gold' }])
    expect((await put({ attributes })).body.data.attributes).toEqual([
      { name: 'city', value: 'Pune', _id: expect.stringMatching(hexId) },
      { name: 'plan', value: 'gold', _id: expect.stringMatching(hexId) },
    ])
    expect((await put({ attributes: 'not json' })).body.errors[0].field).toBe('attributes')
  })

  test('attributes merge, and an empty value removes', async () => {
    expect((await put({ attributes: { name: 'city', value: 'Rome' } })).body.data.attributes).toMatchObject([
      { value: 'Rome' },
    ])
    const changed = await put({ attributes: [{ name: 'city', value: 'Goa' }] })
    expect(changed.body.data.attributes).toMatchObject([{ name: 'city', value: 'Goa' }])
    expect((await put({ attributes: [{ name: 'city', value: '' }] })).body.data.attributes).toEqual([])
  })

  test('a value can be taken away after its name left the settings', async () => {
    await attribute('old')
    await put({ attributes: [{ name: 'old', value: 'x' }] })
    await shop.chat.delete('/settings/attributes', { name: 'old' })
    expect((await put({ attributes: [{ name: 'old', value: 'y' }] })).status).toBe(422)
    expect((await put({ attributes: [{ name: 'old', value: '' }] })).body.data.attributes).toMatchObject([
      { name: 'city' },
    ])
    expect((await put({ attributes: [{ name: 'old', value: '' }] })).status).toBe(422)
  })

  test('tags and attributes that are not in settings are refused with their names', async () => {
    for (const body of [{ tags: ['x1'] }, { tagsToAdd: ['x1'] }, { attributes: [{ name: 'x1', value: '1' }] }]) {
      const answer = await put(body)
      expect(answer.status).toBe(422)
      expect(answer.body.code).toBe('not_in_settings')
      expect(answer.body.message).toContain('"x1"')
    }
    expect((await shop.chat.get(`/contacts/${id}`)).body.data.__v).toBe(0)
  })

  test.each([
    { mobile: '123' },
    { name: 5 },
    { name: 'x'.repeat(257) },
    { optin: 'yes' },
    { tags: 'a'.split('').map(() => 5) },
    { attributes: { name: 'city' } },
    { attributes: [{ value: 'x' }] },
    { attributes: [{ name: 'city', value: 'x'.repeat(1_001) }] },
  ])('%j is refused with the field', async body => {
    const answer = await put(body)
    expect(answer.status).toBe(400)
    expect(answer.body.errors[0].field).toContain(Object.keys(body)[0])
  })

  test("another contact's number is refused, a missing contact is not found", async () => {
    await addContact({ mobile: 14155550111 })
    expect((await put({ mobile: '14155550111' })).status).toBe(409)
    expect((await shop.chat.put('/contacts/aaaaaaaaaaaaaaaaaaaaaaaa', {})).status).toBe(404)
    expect((await shop.chat.put('/contacts/abc', {})).status).toBe(400)
    const other = await w.business()
    expect((await other.chat.put(`/contacts/${id}`, { name: 'stolen' })).status).toBe(404)
  })

  test('parallel updates are all kept and counted', async () => {
    await Promise.all(['a', 'b', 'c'].map(name => put({ tagsToAdd: [name] })))
    const { data } = (await shop.chat.get(`/contacts/${id}`)).body
    expect(data.tags.toSorted()).toEqual(['a', 'b', 'c'])
    expect(data.__v).toBe(3)
  })

  test('strange text is kept or refused, never a fault', async () => {
    expect((await put({ name: '\ud800 half' })).status).toBe(400)
    expect((await put({ name: 'a\u0000b' })).status).toBe(400)
  })
})

describe('GET and POST /contacts/lists', () => {
  test('lists are created once and listed', async () => {
    expect((await shop.chat.get('/contacts/lists')).body).toEqual({
      status: 'success',
      message: expect.any(String),
      data: { lists: [], total: 0 },
    })
    const created = await shop.chat.post('/contacts/lists', { name: 'Customers' })
    expect(created.status).toBe(200)
    const list = {
      _id: expect.stringMatching(hexId),
      name: 'Customers',
      createdAt: expect.stringMatching(timestamp),
      incomingBlocked: false,
      tags: [],
      optin: true,
      attributes: [],
    }
    expect(created.body.data).toEqual(list)
    expect((await shop.chat.post('/contacts/lists', { name: 'CUSTOMERS' })).status).toBe(409)
    expect((await shop.chat.post('/contacts/lists', { name: ' ' })).status).toBe(400)
    expect((await shop.chat.post('/contacts/lists', { name: 'x'.repeat(101) })).status).toBe(400)
    const { data } = (await shop.chat.get('/contacts/lists')).body
    expect(data).toEqual({ lists: [list], total: 1 })
    expect((await (await w.business()).chat.get('/contacts/lists')).body.data.total).toBe(0)
  })

  test('a contact names its lists, without regard to case', async () => {
    await shop.chat.post('/contacts/lists', { name: 'Customers' })
    expect((await addContact({ mobile: 14155550100, list: ['customers'] })).list).toEqual(['Customers'])
  })
})

describe('/settings', () => {
  test.each(['tags', 'attributes'])('%s are added, listed and removed', async what => {
    expect((await shop.chat.get(`/settings/${what}`)).body.data).toEqual({ [what]: [], total: 0 })
    expect((await shop.chat.post(`/settings/${what}`, { name: 'vip' })).body.data).toEqual({ name: 'vip' })
    expect((await shop.chat.post(`/settings/${what}`, { name: 'vip' })).status).toBe(409)
    expect((await shop.chat.post(`/settings/${what}`, { name: '' })).status).toBe(400)
    expect((await shop.chat.get(`/settings/${what}`)).body.data[what]).toEqual(['vip'])
    expect((await shop.chat.delete(`/settings/${what}`, { name: 'vip' })).status).toBe(200)
    expect((await shop.chat.delete(`/settings/${what}`, { name: 'vip' })).status).toBe(404)
  })

  test('the channel starts as the sandbox, and secrets are never shown', async () => {
    const { data } = (await shop.chat.get('/settings/channel')).body
    expect(data).toMatchObject({ type: 'sandbox', enforceWindow: false, accessTokenSet: false })
    expect(data.webhookUrl).toMatch(new RegExp(`/chat/api/v1/webhook/${data.settingId}$`))
    const cloud = {
      type: 'cloud',
      baseUrl: 'https://graph.example.com/v23.0/',
      phoneNumberId: '123',
      businessAccountId: '456',
      accessToken: 'very-secret-token',
      appSecret: 'very-secret-app',
      verifyToken: 'very-secret-verify',
    }
    expect((await shop.chat.put('/settings/channel', { type: 'cloud' })).body.code).toBe('channel_incomplete')
    const answer = await shop.chat.put('/settings/channel', cloud)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toMatchObject({
      type: 'cloud',
      baseUrl: 'https://graph.example.com/v23.0',
      enforceWindow: true,
    })
    expect(answer.text).not.toContain('very-secret')
    const stored = JSON.stringify(await w.db`select * from chat_setting where business_id = ${shop.id}`)
    expect(stored).not.toContain('very-secret')
    expect((await shop.chat.put('/settings/channel', { baseUrl: 'ftp://x' })).status).toBe(400)
  })
})
