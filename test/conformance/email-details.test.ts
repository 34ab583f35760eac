import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createEngine } from '../../src/email/delivery/engine.ts'
import { trimOutbox } from '../../src/email/delivery/store-jobs.ts'
import { eventBuffer } from '../../src/email/tracking/buffer.ts'
import { startSink } from '../smtp-sink.ts'
import { client, type TestBusiness, type World, world } from '../world.ts'
import { expectOk, expectRefused, hexId, timestamp } from './email-shapes.ts'

/** Details of the documents that callers of every kind run into: how queries are written, what counts as empty, what repeats. */

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

const add = async (body: object) => (await shop.email.post('/subscribers', body)).body.data
const campaign = (more: object = {}, body: object = {}) =>
  shop.email.post('/campaigns', {
    campaignDetails: { campaignName: 'Spring', subject: 'Hello', ...more },
    content: '<p>Hi</p>',
    ...body,
  })

describe('queries', () => {
  const found = async (query: string) =>
    expectOk(await shop.email.get(`/subscribers?${query}`))
      .subscribers.map((one: { email: string }) => one.email[0])
      .sort()
      .join('')

  test('arrays in every way that clients write them, and names with commas', async () => {
    for (const name of ['News', 'Deals', 'Sales, old']) await shop.email.post('/lists', { name })
    await add({ email: 'a@x.example', tags: ['x'], lists: ['News'], leadScore: 60 })
    await add({ email: 'b@x.example', tags: ['y'], lists: ['Deals'] })
    await add({ email: 'c@x.example', tags: ['x, y'], lists: ['Sales, old'] })
    await add({ email: 'd@x.example' })
    const rules = { match: 'all', conditions: [{ field: 'leadScore', operator: 'gte', value: 50 }] }
    await shop.email.post('/segments', { name: 'Hot', rules })
    for (const query of ['tags=x,y', 'tags=x&tags=y', 'tags[]=x&tags[]=y', 'tags[0]=x&tags[1]=y', 'tags=x&tags[]=y'])
      expect([query, await found(query)]).toEqual([query, 'ab'])
    expect(await found('lists[]=News&lists[]=deals')).toBe('ab')
    expect(await found('segments[]=hot')).toBe('a')
    expect(await found(`tags=${encodeURIComponent('x, y')}`)).toBe('abc')
    expect(await found(`lists[]=${encodeURIComponent('Sales, old')}`)).toBe('c')
    expect(await found('unknown[]=x')).toBe('abcd')
  })

  test('pages, limits and scores are integers in digits, however large the score', async () => {
    await add({ email: 'a@x.example', leadScore: 5 })
    for (const value of ['1e3', '0x10', '%201', '1%20', '1.0', '', 'abc', 'Infinity'])
      for (const path of ['/subscribers', '/campaigns', '/lists', '/templates'])
        for (const field of ['page', 'limit'])
          expectRefused(await shop.email.get(`${path}?${field}=${value}`), 400, 'validation_failed', field)
    expectRefused(await shop.email.get('/subscribers?page[]=0'), 400, 'validation_failed', 'page')
    for (const value of ['1e3', '%205', '1.5', '', 'abc']) {
      const answer = await shop.email.get(`/subscribers?leadScoreMin=${value}`)
      expectRefused(answer, 400, 'validation_failed', 'leadScoreMin')
      expect(answer.body.message).toBe('leadScoreMin must be an integer.')
    }
    const huge = '9'.repeat(30)
    expect(await found(`leadScoreMin=-${huge}&leadScoreMax=${huge}`)).toBe('a')
    expect(await found(`leadScoreMin=${huge}`)).toBe('')
  })
})

describe('what is empty or can not be', () => {
  test('a name of spaces is no name', async () => {
    for (const more of [{ campaignName: ' ' }, { subject: ' \t' }])
      expectRefused(await campaign(more), 400, 'validation_failed', `campaignDetails.${Object.keys(more)[0]}`)
    expectRefused(await shop.email.post('/templates', { name: ' ', content: 'x' }), 400, 'validation_failed', 'name')
    const field = { name: ' ', key: 'age', type: 'number' }
    expectRefused(await shop.email.post('/custom-fields', field), 400, 'validation_failed', 'name')
    const server = { name: ' ', host: 'localhost' }
    expectRefused(await shop.email.post('/delivery-servers', server), 400, 'validation_failed', 'name')
    await add({ email: 'a@x.example' })
    const tags = await shop.email.put('/subscribers/a@x.example', { tagsToAdd: ['ok', ' '] })
    expectRefused(tags, 400, 'validation_failed', 'tagsToAdd[1]')
  })

  test('an address that nobody can mail', async () => {
    for (const email of ['a@127.0.0.1', 'a@shop.123', 'a\u200bb@x.example'])
      expectRefused(await shop.email.post('/subscribers', { email }), 400, 'validation_failed', 'email')
    expectRefused(await shop.email.get(`/subscribers/${'x'.repeat(3_000)}@x.example`), 400, 'validation_failed')
    expectRefused(await shop.email.delete('/subscribers', { email: 'nobody' }), 400, 'validation_failed', 'email')
  })

  test('messages say what is expected', async () => {
    const birth = await shop.email.post('/subscribers', { email: 'a@x.example', dateOfBirth: '31.1.2000' })
    expect(birth.body.message).toBe('dateOfBirth must be a date such as 2026-01-31.')
    const key = await shop.email.post('/custom-fields', { name: 'Age', key: 'my age', type: 'number' })
    expect(key.body.message).toMatch(/^key must have 1 to 64 letters, digits and underscores/)
    const broken = await shop.email.post('/templates', {
      name: 'T',
      builderType: 'MJML',
      content: '<mjml><mj-x></mjml>',
    })
    expect(broken.body.message).toMatch(/[^.]\.$/)
  })
})

describe('what is said again', () => {
  test('a suppression is created once', async () => {
    expectOk(await shop.email.post('/suppressions', { email: 'a@x.example' }), 201)
    expectOk(await shop.email.post('/suppressions', { email: 'A@x.example' }), 200)
  })

  test('a status given through the API is what suppresses, also after a complaint', async () => {
    await add({ email: 'a@x.example' })
    for (const status of ['complaint', 'bounced', 'complaint', 'unsubscribed']) {
      const data = expectOk(await shop.email.put('/subscribers/a@x.example', { status }))
      expect(data).toMatchObject({ status, isSuppressed: true, suppressionDetail: { type: status } })
    }
  })

  test('the same Idempotency-Key with and without a trailing slash', async () => {
    const key = { 'idempotency-key': 'once' }
    const first = await shop.email.post('/lists', { name: 'News' }, key)
    expect((await shop.email.post('/lists/', { name: 'News' }, key)).text).toBe(first.text)
  })

  test('lead score settings keep the time they exist since', async () => {
    const { createdAt } = expectOk(await shop.email.get('/lead-score'))
    const changed = expectOk(await shop.email.put('/lead-score', { hotFrom: 60 }))
    expect(changed.createdAt).toBe(createdAt)
    expect(changed.updatedAt > createdAt).toBe(true)
  })

  test('an import counts every row and merges those of one email field by field', async () => {
    const csv =
      'email,firstName,company,position\na@x.example,Ann,Acme,\nA@x.example,,,CEO\nb@x.example,,,\nnobody,,,\n'
    const queued = await shop.email.post('/subscribers/import', csv, { 'content-type': 'text/csv' })
    await w.drain()
    const { id } = expectOk(queued, 201).import
    expect(expectOk(await shop.email.get(`/subscribers/imports/${id}`)).import).toMatchObject({
      ...{ rows: 4, created: 2, updated: 1, refused: 1 },
    })
    const data = expectOk(await shop.email.get('/subscribers/a@x.example'))
    expect(data).toMatchObject({ firstName: 'Ann', customFields: { company: 'Acme', position: 'CEO' } })
  })
})

test('a read-only key is refused before its request is looked at', async () => {
  const made = expectOk(await shop.account.post('/keys', { service: 'email', readOnly: true }))
  const reader = client(w.app, shop.email.baseUrl, `Bearer ${made.apiKey ?? made.key.apiKey}`)
  expectOk(await reader.get('/subscribers'))
  expectRefused(await reader.post('/campaigns', {}), 403, 'key_read_only')
  expectRefused(await reader.post('/lists', '{', { 'content-type': 'application/json' }), 403, 'key_read_only')
  expectRefused(await reader.delete('/subscribers'), 403, 'key_read_only')
  expect((await reader.post('/nothing', {})).status).toBe(404)
})

test('resend needs no body, and is of the campaign in the path', async () => {
  const { _id } = expectOk(await campaign(), 201)
  const { _id: other } = expectOk(await campaign({ campaignName: 'Other' }), 201)
  await shop.email.post('/campaigns/send-to-individual', { campaignId: other, emails: ['a@x.example'] })
  for (const body of [undefined, {}, { campaignId: other }])
    expectRefused(await shop.email.post(`/campaigns/${_id}/resend`, body), 422, 'campaign_not_sent')
})

test('a live campaign can not become a draft', async () => {
  const { _id } = expectOk(await campaign(), 201)
  expectRefused(await shop.email.put(`/campaigns/${_id}`, { status: 'draft' }), 422, 'campaign_live')
})

test('GET /outbox shows what was mailed, and where to look at it', async () => {
  expect(expectOk(await shop.email.get('/outbox'))).toMatchObject({ messages: [], pagination: { totalItems: 0 } })
  const { _id: campaignId } = expectOk(await campaign(), 201)
  await shop.email.post('/campaigns/send-to-individual', { campaignId, emails: ['a@x.example', 'b@x.example'] })
  await createEngine(w.platform).drain(shop.id)
  const { url, messages, pagination } = expectOk(await shop.email.get('/outbox?limit=1'))
  expect(pagination).toMatchObject({ itemsPerPage: 1, totalItems: 2, totalPages: 2 })
  const [message] = messages
  expect(messages).toEqual([
    {
      deliveryId: hexId,
      email: expect.stringMatching(/^[ab]@x\.example$/),
      subject: 'Hello',
      url: `${url}/${message.deliveryId}`,
      createdAt: timestamp,
    },
  ])
  for (const address of [url, message.url])
    expect((await w.app.inject({ url: new URL(address).pathname })).statusCode).toBe(200)
  expectOk(await shop.email.get(`/deliveries/${message.deliveryId}`))
  const html = await w.app.inject({ url: `${new URL(message.url).pathname}/html` })
  expect(html.payload).toContain('<p>Hi</p>')
  const other = await w.business()
  expect(expectOk(await other.email.get('/outbox')).messages).toEqual([])
})

test('who opens and clicks in the outbox at once is a person: scores, engagement and counts follow', async () => {
  await shop.email.post('/lists', { name: 'News' })
  await add({ email: 'a@x.example', lists: ['News'] })
  const content = '<a href="https://shop.example/sale">Sale</a>'
  const { _id: campaignId } = expectOk(await campaign({}, { content }), 201)
  await shop.email.post('/campaigns/send-to-list', { campaignId, includedList: ['News'] })
  await createEngine(w.platform).drain(shop.id)
  const [message] = expectOk(await shop.email.get('/outbox')).messages
  const html = (await w.app.inject({ url: `${new URL(message.url).pathname}/html` })).payload
  const visit = (part: string) => {
    const url = new URL(new RegExp(`"([^"]+/e/${part}/[^"]+)"`).exec(html)?.[1] ?? '').pathname
    return w.app.inject({ url, headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Firefox/130.0' } })
  }
  expect((await visit('o')).statusCode).toBe(200)
  expect((await visit('c')).headers.location).toBe('https://shop.example/sale')
  await eventBuffer(w.platform).flush()
  expect(expectOk(await shop.email.get('/subscribers/a@x.example'))).toMatchObject({
    ...{ totalOpens: 1, totalUniqueOpens: 1, totalClicks: 1, totalUniqueClick: 1, leadScore: 15 },
  })
  expect(expectOk(await shop.email.get('/lists?name=News')).list.counts.engagedCount).toBe(1)
  expect(expectOk(await shop.email.get('/subscribers/stats')).engagedSubscribers).toBe(1)
})

test('a test clock rules what is mailed, opened and clicked', async () => {
  shop = await w.business({ testMode: true })
  const clock = { now: '2031-03-01T00:00:00.000Z' }
  expectOk(await shop.account.put('/clock', clock))
  await shop.email.post('/lists', { name: 'News' })
  await add({ email: 'a@x.example', lists: ['News'] })
  const content = '<a href="https://shop.example/sale">Sale</a>'
  const planned = { content, scheduledAt: '2031-03-02T09:00:00Z', lists: ['News'] }
  const { _id } = expectOk(await campaign({ campaignType: 'Regular' }, planned), 201)
  expectOk(await shop.account.post('/clock/advance', { days: 2 }))
  expect(expectOk(await shop.email.get(`/campaigns/${_id}`)).status).toBe('live')
  expect(expectOk(await shop.email.get('/subscribers/a@x.example')).totalSent).toBe(1)
  const [message] = expectOk(await shop.email.get('/outbox')).messages
  expect(message.createdAt).toBe('2031-03-02T09:00:00.000Z')
  const html = (await w.app.inject({ url: `${new URL(message.url).pathname}/html` })).payload
  const link = new URL(/"([^"]+\/e\/c\/[^"]+)"/.exec(html)?.[1] ?? '').pathname
  await w.app.inject({
    url: link,
    headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Firefox/130.0' },
  })
  await eventBuffer(w.platform).flush()
  const clicked = expectOk(await shop.email.get('/subscribers/a@x.example'))
  expect(clicked).toMatchObject({
    leadScore: 10,
    activity: [{ type: 'click', createdAt: '2031-03-03T00:00:00.000Z' }, {}, {}],
  })
  const engaged = async () => expectOk(await shop.email.get('/subscribers/stats')).engagedSubscribers
  expect(await engaged()).toBe(1)
  expectOk(await shop.account.post('/clock/advance', { days: 89 }))
  expect(await engaged()).toBe(1)
  expectOk(await shop.account.post('/clock/advance', { days: 2 }))
  expect(await engaged()).toBe(0)
})

test('the outbox keeps mail for 30 days of the time that the business lives in', async () => {
  shop = await w.business({ testMode: true })
  expectOk(await shop.account.put('/clock', { now: '2021-03-01T00:00:00Z' }))
  const { _id: campaignId } = expectOk(await campaign(), 201)
  await shop.email.post('/campaigns/send-to-individual', { campaignId, emails: ['a@x.example'] })
  await createEngine(w.platform).drain(shop.id)
  const kept = async () => {
    await trimOutbox(w.db, { days: 30 })
    return expectOk(await shop.email.get('/outbox')).messages.length
  }
  expect(await kept()).toBe(1)
  expectOk(await shop.account.post('/clock/advance', { days: 31 }))
  expect(await kept()).toBe(0)
})

test('a delivery server that was just added or changed takes the next mail', async () => {
  const [first, second] = [await startSink(), await startSink()]
  const stop = new AbortController()
  const running = createEngine(w.platform).run(stop.signal)
  try {
    const { _id: campaignId } = expectOk(await campaign(), 201)
    const send = async (email: string, more: object = {}) =>
      expectOk(await shop.email.post('/campaigns/send-to-individual', { campaignId, emails: [email], ...more }))
    await send('outbox@x.example')
    await expect.poll(async () => (await shop.email.get('/outbox')).body.data.messages.length).toBe(1)
    const server = { name: 'Relay', host: '127.0.0.1', port: first.port, security: 'none', senderEmail: 'me@x.example' }
    const { id } = expectOk(await shop.email.post('/delivery-servers', server), 201).deliveryServer
    await send('named@x.example', { deliveryServerId: id })
    await send('default@x.example')
    await expect.poll(() => first.received.map(one => one.to).sort()).toEqual(['default@x.example', 'named@x.example'])
    expectOk(await shop.email.put(`/delivery-servers/${id}`, { port: second.port }))
    await send('moved@x.example')
    await expect.poll(() => second.received.map(one => one.to)).toEqual(['moved@x.example'])
  } finally {
    stop.abort()
    await running
    await Promise.all([first.close(), second.close()])
  }
})
