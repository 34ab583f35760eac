import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { processAllNews } from '../../src/chat/channel/loops.ts'
import {
  type FakePlatform,
  fakeAccountId,
  fakeNumberId,
  incomingChange,
  signature,
  startFakePlatform,
  webhookBody,
} from '../fake-platform.ts'
import { type TestBusiness, type World, world } from '../world.ts'

let w: World
let shop: TestBusiness
let fake: FakePlatform
let webhook: string

beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1/32'] })
})
afterAll(() => w.close())
beforeEach(async () => {
  fake = await startFakePlatform({ seed: 3 })
  shop = await w.business()
  webhook = await connect()
  return () => fake.close()
})

async function connect(more: object = {}): Promise<string> {
  const answer = await shop.chat.put('/settings/channel', {
    type: 'cloud',
    baseUrl: fake.baseUrl,
    phoneNumberId: fakeNumberId,
    businessAccountId: fakeAccountId,
    accessToken: 'good-token',
    appSecret: 'app-secret',
    verifyToken: 'verify',
    enforceWindow: false,
    messagesPerSecond: 1000,
    ...more,
  })
  expect(answer.status, answer.text).toBe(200)
  return new URL(answer.body.data.webhookUrl).pathname
}

const text = (to: number | string = 14155550100) => ({ to, type: 'text', text: 'x' })
const send = (body: object = text(), headers = {}) => shop.chat.post('/messages', body, headers)
const rows = () => w.db<
  { id: string; status: string; attempt: number; platform_id: string | null; error: { code: number } | null }[]
>`
  select id, status, attempt, platform_id, error from chat_message where business_id = ${shop.id} order by id`
const deliver = async (options = {}) => {
  const count = await fake.deliver(async (body, headers) => {
    const answer = await w.app.inject({ method: 'POST', url: webhook, payload: body, headers })
    return { status: answer.statusCode }
  }, options)
  await processAllNews(w.platform)
  return count
}

describe('sending', () => {
  test('goes to the number of the account with token, plus sign and our id', async () => {
    const answer = await send()
    expect(answer.status, answer.text).toBe(200)
    const [row] = await rows()
    expect(row).toMatchObject({ status: 'accepted', attempt: 1 })
    expect(fake.calls).toEqual([
      {
        method: 'POST',
        path: `/v23.0/${fakeNumberId}/messages`,
        body: {
          messaging_product: 'whatsapp',
          recipient_type: 'individual',
          to: '+14155550100',
          type: 'text',
          text: { body: 'x' },
          biz_opaque_callback_data: `${row!.id}.1`,
        },
      },
    ])
    expect(answer.body.data.platformResponse).toEqual({
      messaging_product: 'whatsapp',
      contacts: [{ input: '+14155550100', channel_id: '14155550100' }],
      messages: [{ id: fake.accepted[0]!.id }],
      status: 200,
    })
    await deliver()
    expect((await rows())[0]!.status).toBe('read')
  })

  test('an answer that gets lost after acceptance: 504, unknown, settled by its status, never sent again', async () => {
    fake.script({ do: 'drop' })
    const answer = await send(text(), { 'idempotency-key': 'lost' })
    expect(answer.status).toBe(504)
    expect((await rows())[0]).toMatchObject({ status: 'unknown', platform_id: null })
    expect((await send(text(), { 'idempotency-key': 'lost' })).status).toBe(504)
    await deliver({ shuffle: true, copies: 3, batch: 4 })
    expect((await rows())[0]).toMatchObject({ status: 'read', platform_id: fake.accepted[0]!.id })
    expect(fake.accepted).toHaveLength(1)
  })

  test.each([{ do: 'reset' as const }, { do: 'status' as const, status: 503 }, { do: 'status' as const, status: 500 }])(
    '%j leaves the outcome unknown',
    async fault => {
      fake.script(fault)
      expect((await send()).status).toBe(504)
      expect((await rows())[0]!.status).toBe('unknown')
      expect(fake.calls).toHaveLength(1)
    },
  )

  test('a platform that is not there: 502, failed, the key is free again', async () => {
    const { baseUrl } = fake
    await fake.close()
    const answer = await send(text(), { 'idempotency-key': 'away' })
    expect(answer.status).toBe(502)
    expect(answer.body.code).toBe('channel_unreachable')
    expect((await rows())[0]).toMatchObject({ status: 'failed', error: { code: 'not_sent' } })
    fake = await startFakePlatform()
    expect(fake.baseUrl).not.toBe(baseUrl)
    await connect()
    expect((await send(text(), { 'idempotency-key': 'away' })).status).toBe(200)
  })

  test('a private address is refused, and nothing leaves', async () => {
    await connect({ baseUrl: 'http://10.0.0.1:9/v23.0' })
    const answer = await send()
    expect(answer.status).toBe(502)
  })

  test('a platform answer of nonsense is unknown, one with a strange code a refusal', async () => {
    fake.script({ do: 'code', code: 987654 })
    expect((await send()).body).toMatchObject({ code: 'channel_rejected', message: expect.stringContaining('987654') })
  })

  test('100 parallel requests with one key send once', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => send(text(), { 'idempotency-key': 'one' })))
    expect(fake.accepted).toHaveLength(1)
    expect(answers.every(answer => answer.status === 200 || answer.status === 409)).toBe(true)
    expect((await send(text(), { 'idempotency-key': 'one' })).status).toBe(200)
    expect(fake.accepted).toHaveLength(1)
  })

  test('webhooks before the answer: shuffled and doubled while sending goes on', async () => {
    fake.every(5, { do: 'drop' })
    const sending = Promise.all(Array.from({ length: 60 }, (_, i) => send(text(14155550000 + i))))
    for (let i = 0; i < 5; i++) {
      await deliver({ shuffle: true, copies: 2, batch: 50 })
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    await sending
    await deliver({ shuffle: true, copies: 2, batch: 1000 })
    const found = await rows()
    expect(found).toHaveLength(60)
    expect(fake.accepted).toHaveLength(60)
    expect(found.every(row => row.status === 'read')).toBe(true)
    expect(new Set(found.map(row => row.platform_id))).toEqual(new Set(fake.accepted.map(one => one.id)))
  })
})

describe('error codes at once', () => {
  const stops: [number, string][] = [
    [0, 'number'],
    [190, 'number'],
    [3, 'number'],
    [10, 'number'],
    [200, 'number'],
    [299, 'number'],
    [131005, 'number'],
    [33, 'number'],
    [131037, 'number'],
    [131042, 'number'],
    [131045, 'number'],
    [133010, 'number'],
    [368, 'account'],
    [131031, 'account'],
    [130497, 'country:1'],
  ]
  test.each(stops)('%i stops %s', async (code, scope) => {
    fake.script({ do: 'code', code })
    expect((await send()).body.code).toBe('channel_rejected')
    expect((await shop.chat.get('/settings/channel')).body.data.halted[scope]).toMatchObject({ code })
    expect((await send()).body.code).toBe('channel_halted')
    expect(fake.calls).toHaveLength(1)
    if (scope.startsWith('country')) expect((await send(text(4915112345678))).status).toBe(200)
    await connect()
    expect((await send()).status).toBe(200)
  })

  test.each([
    100, 131008, 131009, 135000, 131021, 131026, 131030, 131047, 131049, 131050, 131051, 131052, 131053, 131062, 130472,
    132000, 132001, 132005, 132007, 132012, 132015, 132016, 132018, 132068, 134100, 131055, 137000,
  ])('%i is final', async code => {
    fake.script({ do: 'code', code })
    const answer = await send()
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ code: 'channel_rejected', message: expect.stringContaining(`(${code})`) })
    expect((await rows())[0]).toMatchObject({ status: 'failed', error: { code } })
    expect(fake.calls).toHaveLength(1)
    const [contact] = (await shop.chat.get('/contacts')).body.data.contacts
    expect(contact.optin).toBe(code !== 131050)
  })

  test.each([2, 131016, 133004, 1, 131000])('%i is tried again and then goes through', async code => {
    fake.script({ do: 'code', code })
    expect((await send()).status).toBe(200)
    expect((await rows())[0]).toMatchObject({ status: 'accepted', attempt: 2 })
    expect(fake.calls.map(call => String(call.body.biz_opaque_callback_data).slice(-2))).toEqual(['.1', '.2'])
  })

  test.each([
    [131016, 502],
    [131057, 502],
    [132069, 502],
    [134101, 502],
    [131000, 422],
    [130429, 429],
    [80007, 429],
    [4, 429],
    [131056, 429],
  ])('%i that stays answers %i, and the message failed', async (code, status) => {
    fake.script({ do: 'code', code }, { times: 20 })
    const answer = await send()
    expect(answer.status, answer.text).toBe(status)
    if (status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect((await rows())[0]).toMatchObject({ status: 'failed', error: { code } })
  })

  test('a rate limit pauses the number for as long as the platform says', async () => {
    fake.script({ do: 'code', code: 130429, retryAfter: 30 })
    expect(Number((await send()).headers['retry-after'])).toBe(30)
    const next = await send(text(14155550199))
    expect([next.status, next.body.code]).toEqual([429, 'channel_paced'])
    expect(fake.calls).toHaveLength(1)
  })

  test('131056 makes only this recipient wait', async () => {
    fake.script({ do: 'code', code: 131056 }, { times: 5 })
    expect((await send()).status).toBe(429)
    const calls = fake.calls.length
    expect((await send()).body.code).toBe('channel_paced')
    expect(fake.calls).toHaveLength(calls)
  })
})

describe('marketing', () => {
  const template = {
    id: '1',
    name: 'ad',
    language: 'en_US',
    status: 'APPROVED',
    category: 'MARKETING',
    parameterFormat: 'POSITIONAL',
    components: [{ type: 'BODY', text: 'Buy' }],
  }
  const ad = { to: 14155550100, type: 'template', templateName: 'ad' }
  beforeEach(async () => {
    fake.templates.set('ad:en_US', template)
    expect((await shop.chat.post('/templates/sync')).body.data.synced).toBe(1)
  })

  test('131063 switches to the marketing endpoint, tries once more, and stays there', async () => {
    fake.script({ do: 'code', code: 131063 })
    expect((await send(ad)).status).toBe(200)
    expect((await send(ad)).status).toBe(200)
    expect(fake.calls.filter(call => call.method === 'POST').map(call => call.path.split('/').at(-1))).toEqual([
      'messages',
      'marketing_messages',
      'marketing_messages',
    ])
    expect((await shop.chat.get('/settings/channel')).body.data.marketingEndpoint).toBe(true)
  })

  test.each([
    [131048, 'marketing'],
    [131064, 'templates'],
  ])('%i stops %s only', async (code, scope) => {
    fake.script({ do: 'code', code })
    expect((await send(ad)).status).toBe(422)
    expect((await shop.chat.get('/settings/channel')).body.data.halted).toHaveProperty(scope)
    expect((await send(ad)).body.code).toBe('channel_halted')
    expect((await send()).status).toBe(200)
  })

  test('134102 stops the marketing endpoint, and what does not go there goes on', async () => {
    await connect({ marketingEndpoint: true })
    fake.script({ do: 'code', code: 134102 })
    const refused = await send(ad)
    expect(refused.status).toBe(422)
    expect(refused.body).toMatchObject({ code: 'channel_rejected', message: expect.stringContaining('(134102)') })
    expect(fake.calls.at(-1)!.path).toMatch(/marketing_messages$/)
    expect((await shop.chat.get('/settings/channel')).body.data.halted).toEqual({
      marketing_endpoint: { code: 134102, title: expect.any(String), at: expect.any(String) },
    })
    const calls = fake.calls.length
    expect((await send(ad)).body.code).toBe('channel_halted')
    expect(fake.calls).toHaveLength(calls)
    expect((await send()).status).toBe(200)
    await shop.chat.put('/settings/channel', { marketingEndpoint: false })
    expect((await send(ad)).status).toBe(200)
    expect(fake.accepted.at(-1)!.path).toBe('messages')
  })

  test.each([132001, 132012])('%i fetches the templates anew', async code => {
    fake.script({ do: 'code', code })
    await send(ad)
    fake.templates.set('new:en_US', { ...template, id: '2', name: 'new' })
    await w.drain()
    expect((await shop.chat.get('/templates/new')).status).toBe(200)
  })

  test.each<[string, (sent: string) => object]>([
    [
      'a failure that is told later',
      id => ({
        field: 'messages',
        value: {
          statuses: [
            { id, status: 'failed', timestamp: String(Math.floor(Date.now() / 1000)), errors: [{ code: 132012 }] },
          ],
        },
      }),
    ],
    [
      'a template nobody knows here',
      () => ({
        field: 'message_template_status_update',
        value: { event: 'APPROVED', message_template_name: 'new', message_template_language: 'en_US', reason: 'NONE' },
      }),
    ],
    [
      'changed components',
      () => ({
        field: 'message_template_components_update',
        value: { message_template_name: 'ad', message_template_language: 'en_US', message_template_element: 'Buy' },
      }),
    ],
  ])('%s fetches the templates anew', async (_, change) => {
    const sent = await send(ad)
    await w.drain()
    fake.templates.set('new:en_US', { ...template, id: '2', name: 'new' })
    const body = webhookBody([change(sent.body.data.platformResponse.messages[0].id)])
    const headers = { 'content-type': 'application/json', ...signature(body, 'app-secret') }
    expect((await w.app.inject({ method: 'POST', url: webhook, payload: body, headers })).statusCode).toBe(200)
    await processAllNews(w.platform)
    await w.drain()
    expect((await shop.chat.get('/templates/new')).status).toBe(200)
  })
})

describe('templates', () => {
  test('of an account arrive when it is connected, and only then', async () => {
    const asked = () =>
      fake.calls.filter(call => call.method === 'GET' && call.path.includes('message_templates')).length
    fake.templates.set('there:en_US', {
      id: '7',
      name: 'there',
      language: 'en_US',
      status: 'APPROVED',
      category: 'UTILITY',
      parameterFormat: 'POSITIONAL',
      components: [{ type: 'BODY', text: 'Hi' }],
    })
    await w.drain()
    expect((await shop.chat.get('/templates/there')).body.data).toMatchObject({ id: '7', status: 'APPROVED' })
    const before = asked()
    await shop.chat.put('/settings/channel', { enforceWindow: true, baseUrl: fake.baseUrl })
    await w.drain()
    expect(asked()).toBe(before)
    await shop.chat.put('/settings/channel', { accessToken: 'good-token' })
    await w.drain()
    expect(asked()).toBeGreaterThan(before)
  })

  test('are created there, listed over all pages, and gone ones are marked', async () => {
    const draft = { name: 'hello', language: 'en_US', category: 'UTILITY', components: [{ type: 'BODY', text: 'Hi' }] }
    const created = await shop.chat.post('/templates', draft)
    expect(created.body.data).toMatchObject({ status: 'PENDING', id: [...fake.templates.values()][0]!.id })
    for (const name of ['a', 'b', 'c', 'd'])
      fake.templates.set(`${name}:de`, {
        id: name,
        name,
        language: 'de',
        status: 'APPROVED',
        category: 'UTILITY',
        parameterFormat: 'POSITIONAL',
        components: [{ type: 'BODY', text: name }],
      })
    fake.templates.get('hello:en_US')!.status = 'APPROVED'
    expect((await shop.chat.post('/templates/sync')).body.data).toEqual({ synced: 5 })
    expect((await shop.chat.get('/templates/hello')).body.data.status).toBe('APPROVED')
    fake.templates.delete('a:de')
    await shop.chat.post('/templates/sync')
    expect((await shop.chat.get('/templates/a')).body.data.status).toBe('DELETED')
    expect((await shop.chat.post('/messages', { to: 14155550100, type: 'template', templateName: 'a' })).status).toBe(
      404,
    )
  })

  test('what the platform refuses is shown', async () => {
    const draft = { name: 'hello', language: 'en_US', category: 'UTILITY', components: [{ type: 'BODY', text: 'Hi' }] }
    fake.templates.set('hello:en_US', {} as never)
    const answer = await shop.chat.post('/templates', draft)
    expect([answer.status, answer.body.code]).toEqual([422, 'channel_rejected'])
  })

  test("the platform's own parameter checks come back by code", async () => {
    const component = { type: 'BODY', text: 'Hi {{1}}, hello' }
    const ours = {
      id: '1',
      name: 'x',
      language: 'en_US',
      status: 'APPROVED',
      category: 'UTILITY',
      parameterFormat: 'POSITIONAL',
      components: [component],
    }
    fake.templates.set('x:en_US', ours)
    await shop.chat.post('/templates/sync')
    const body = { to: 14155550100, type: 'template', templateName: 'x', bodyParams: ['a'] }
    fake.templates.set('x:en_US', { ...ours, components: [{ type: 'BODY', text: 'Hi {{1}} and {{2}} there' }] })
    expect((await send(body)).body.message).toContain('(132000)')
    fake.templates.set('x:en_US', { ...ours, components: [{ type: 'HEADER', format: 'IMAGE' }, component] })
    expect((await send(body)).body.message).toContain('(132012)')
    fake.templates.set('x:en_US', { ...ours, status: 'PAUSED' })
    expect((await send(body)).body.message).toContain('(132015)')
    fake.templates.delete('x:en_US')
    expect((await send(body)).body.message).toContain('(132001)')
  })
})

describe('read receipts', () => {
  test('reading a conversation tells the platform', async () => {
    fake.news.push({
      afterMs: 0,
      change: incomingChange({
        from: '14155550100',
        id: 'wamid.in',
        timestamp: '1790000000',
        type: 'text',
        text: { body: 'a' },
      }),
    })
    await deliver()
    const [conversation] = (await shop.chat.get('/conversations')).body.data.conversations
    await shop.chat.post(`/conversations/${conversation.chatId}/read`)
    expect(fake.calls.at(-1)!.body).toEqual({ messaging_product: 'whatsapp', status: 'read', message_id: 'wamid.in' })
  })
})

describe('pacing', () => {
  test('a burst over the rate waits its turn instead of being refused', async () => {
    await connect({ messagesPerSecond: 80 })
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => send(text(14155550000 + i))))
    expect(answers.filter(answer => answer.status === 200)).toHaveLength(100)
    expect(fake.calls).toHaveLength(100)
  })

  test('one person gets at most 45 at once, then is told to wait; others are not held up', async () => {
    fake.limits.pairs = true
    const answers = await Promise.all(Array.from({ length: 50 }, () => send()))
    const codes = answers.map(answer => answer.status)
    expect(codes.filter(code => code === 200)).toHaveLength(45)
    expect(codes.filter(code => code === 429)).toHaveLength(5)
    expect(fake.calls).toHaveLength(45)
    expect((await send(text(14155550111))).status).toBe(200)
  })
})
