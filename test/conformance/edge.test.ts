import { type AddressInfo, connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'

/** What holds on every service, shown on the account API and on the base URL of each. */

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world({ bodyLimitBytes: 1_048_576 })
  shop = await w.business()
})
afterAll(() => w.close())

const raw = (
  method: 'POST' | 'GET' | 'PUT' | 'DELETE',
  url: string,
  payload?: string | Buffer,
  headers: Record<string, string> = {},
) =>
  w.app.inject({
    method,
    url,
    headers: { authorization: shop.account.authorization, ...headers },
    ...(payload !== undefined && { payload }),
  })

const failure = (code: string) => ({
  success: false,
  status: 'error',
  code,
  message: expect.stringMatching(/\.$/),
  requestId: expect.stringMatching(/^[0-9a-f]{24}$/),
})

describe('the failure body', () => {
  test.each([
    ['bad JSON', 'POST', '{"name": ', { 'content-type': 'application/json' }, 400, 'invalid_json'],
    [
      'a JSON prototype trick',
      'POST',
      '{"__proto__": {"x": 1}}',
      { 'content-type': 'application/json' },
      400,
      'invalid_json',
    ],
    [
      'text that is not UTF-8',
      'POST',
      Buffer.from('{"service": "email", "name": "caf\xe9"}', 'latin1'),
      { 'content-type': 'application/json' },
      400,
      'invalid_json',
    ],
    ['no body where one is needed', 'POST', undefined, {}, 400, 'validation_failed'],
    ['an empty JSON body', 'POST', '', { 'content-type': 'application/json' }, 400, 'validation_failed'],
    ['an array for an object', 'POST', '[]', { 'content-type': 'application/json' }, 400, 'validation_failed'],
    ['another content type', 'POST', '<key/>', { 'content-type': 'application/xml' }, 415, 'unsupported_media_type'],
    ['no content type', 'POST', 'service=email', { 'content-type': '' }, 415, 'unsupported_media_type'],
    [
      'a packed body',
      'POST',
      gzipSync('{"service": "email"}'),
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      415,
      'unsupported_media_type',
    ],
    [
      'a form',
      'POST',
      'service=email',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
    [
      'a body over 1 MB',
      'POST',
      JSON.stringify({ service: 'email', name: 'x'.repeat(1_048_576) }),
      { 'content-type': 'application/json' },
      413,
      'body_too_large',
    ],
    [
      'a null character',
      'POST',
      JSON.stringify({ service: 'email', name: 'a\u0000b' }),
      { 'content-type': 'application/json' },
      400,
      'validation_failed',
    ],
  ] as const)('%s', async (_, method, payload, headers, status, code) => {
    const answer = await raw(method, '/account/api/v1/keys', payload, headers as Record<string, string>)
    expect(answer.statusCode).toBe(status)
    expect(answer.json()).toMatchObject(failure(code))
    expect(answer.headers['x-request-id']).toBe(answer.json().requestId)
  })

  test('unknown routes, with and without key, and outside every service', async () => {
    expect((await raw('GET', '/account/api/v1/nothing')).json()).toMatchObject(failure('route_not_found'))
    expect((await w.app.inject({ url: '/account/api/v1/nothing' })).statusCode).toBe(401)
    for (const url of ['/nothing', '/%E0%A4%A', `/${'x'.repeat(5_000)}`]) {
      const answer = await w.app.inject({ url })
      expect(answer.statusCode).toBeGreaterThanOrEqual(400)
      expect(answer.statusCode).toBeLessThan(500)
      expect(answer.json()).toMatchObject({ success: false, status: 'error' })
    }
  })

  test('names the fields at fault and how', async () => {
    const answer = await shop.account.post('/keys', { service: 'fax', name: 7, readOnly: 'yes' })
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toEqual([
      { field: 'service', message: 'must be one of account, email, chat, billing' },
      { field: 'name', message: 'must be a string' },
      { field: 'readOnly', message: 'must be a boolean' },
    ])
  })

  test('says in words what a pattern, a choice or a field that may be null asks for, once', async () => {
    const card = { number: '4242424242424242', exp_month: 12, exp_year: 2040, cvc: 'x' }
    const method = await shop.billing.post('/paymentmethod/x', { gateway_type: 'test', card })
    expect(method.body.errors).toEqual([{ field: 'card.cvc', message: 'must be 3 or 4 digits' }])
    const coupon = { coupon_name: 'A', coupon_code: 'A', discount: 1, discount_type: 'percent' }
    for (const valid_upto of ['soon', '0000-01-01']) {
      const until = await shop.billing.post('/coupon/x', { ...coupon, valid_upto })
      expect(until.body.errors).toEqual([{ field: 'valid_upto', message: 'must be a date such as 2027-12-31' }])
    }
    const empty = await shop.billing.post('/coupon/x', { ...coupon, coupon_code: '' })
    expect(empty.body.errors).toEqual([{ field: 'coupon_code', message: 'must not be empty' }])
    const cancel = await shop.billing.post('/subscription/x/cancel', { cancel_at_end: 'perhaps' })
    expect(cancel.body.errors).toEqual([{ field: 'cancel_at_end', message: 'must be one of true, false' }])
  })
})

test('what is no request that can be read is answered in the same body', async () => {
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = w.app.server.address() as AddressInfo
  const say = async (text: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(text)
    const [head = '', body = ''] = (await readText(socket)).split('\r\n\r\n')
    return { head, body: JSON.parse(body) }
  }
  const odd = await say('FOO /email/api/v2/lists HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(odd.head).toContain('HTTP/1.1 400 Bad Request')
  expect(odd.body).toEqual(failure('bad_request'))
  const large = await say(`GET /health HTTP/1.1\r\nHost: x\r\nX-Much: ${'x'.repeat(70_000)}\r\n\r\n`)
  expect(large.head).toContain('HTTP/1.1 431 Request Header Fields Too Large')
  expect(large.body).toEqual(failure('headers_too_large'))
})

test('a refused upload leaves the connection to the next request', async () => {
  const { keys } = await w.business()
  const { port } = w.app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  const lead = `Host: x\r\nAuthorization: Bearer ${keys.email.apiKey}\r\n`
  const endless = `email,company\na@example.com,"${'x'.repeat(3_000_000)}`
  for (const [query, csv] of [
    ['', endless],
    ['?lists=nowhere', endless],
    ['', `name\n${'x\n'.repeat(2_000_000)}`],
  ] as const)
    socket.write(
      `POST /email/api/v2/subscribers/import${query} HTTP/1.1\r\n${lead}Content-Type: text/csv\r\nContent-Length: ${csv.length}\r\n\r\n${csv}`,
    )
  socket.write(`GET /email/api/v2/lists HTTP/1.1\r\n${lead}Connection: close\r\n\r\n`)
  const statuses = [...(await readText(socket)).matchAll(/HTTP\/1\.1 (\d{3})/g)].map(match => match[1])
  expect(statuses).toEqual(['400', '422', '400', '200'])
})

test('answers name their fields in the order of the documents', async () => {
  const { email } = await w.business()
  const failed = await email.post('/lists', { name: '' })
  expect(Object.keys(failed.body)).toEqual(['success', 'status', 'code', 'message', 'errors', 'requestId'])
  const list = (await email.post('/lists', { name: 'News' })).body.data.list
  await email.post('/subscribers', { email: 'ann@example.com' })
  const moved = await email.post('/lists/move-subscriber', {
    ...{ email: 'ann@example.com', fromListIds: [list.id], toListIds: [list.id] },
  })
  expect(Object.keys(moved.body.data)).toEqual([
    ...['subscriberId', 'email', 'removedLists', 'addedLists', 'currentLists'],
  ])
})

test('who opens the address of the program is led to the reference', async () => {
  const answer = await w.app.inject({ url: '/' })
  expect(answer).toMatchObject({ statusCode: 302, headers: { location: '/docs' } })
})

test('the documents show the fields and limits of every kind of message', async () => {
  const { paths } = (await w.app.inject({ url: '/chat/api/v1/openapi.json' })).json()
  const bodies: { title: string; properties: Record<string, { maxLength?: number; items?: unknown }> }[] =
    paths['/messages'].post.requestBody.content['application/json'].schema.anyOf
  expect(bodies).toHaveLength(19)
  const multiProduct = bodies.find(body => body.title === 'multi-product')
  expect(multiProduct?.properties).toMatchObject({ header: { maxLength: 60 }, sections: { maxItems: 10 } })
  const page = (await w.app.inject({ url: '/docs' })).payload
  expect(page).toContain('Body: carousel template')
  expect(page).toContain('<code>sections[].products[].productRetailerId</code>')
})

test('many requests with one key at the same moment: one acts, the others hear at once that it runs', async () => {
  for (let round = 0; round < 3; round++) {
    const { chat } = await w.business()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => chat.post('/contacts', { mobile: 14155550100 }, { 'idempotency-key': 'one' })),
    )
    const statuses = answers.map(answer => answer.status)
    expect(statuses).toContain(200)
    expect(statuses.filter(status => status !== 200 && status !== 409)).toEqual([])
    expect((await chat.get('/contacts')).body.data.total).toBe(1)
  }
})

test('a pattern is told in words', async () => {
  const answer = await shop.chat.get('/contacts/abc')
  expect(answer.body.errors).toEqual([{ field: 'id', message: 'must have 24 hexadecimal characters' }])
})

test.each([
  ['chat', 'POST', '/messages', '{}'],
  ['chat', 'PUT', '/contacts/nonsense', '{}'],
  ['email', 'POST', '/campaigns', '{"broken'],
  ['account', 'POST', '/keys', '{}'],
] as const)(
  'a read-only key hears that it may only read, whatever it sends (%s %s %s)',
  async (service, method, path, payload) => {
    const { apiKey } = (await shop.account.post('/keys', { service, readOnly: true })).body.data
    const base = { account: '/account/api/v1', email: '/email/api/v2', chat: '/chat/api/v1' }[service]
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
    const answer = await raw(method, base + path, payload, headers)
    expect([answer.statusCode, answer.json().code]).toEqual([403, 'key_read_only'])
  },
)

test('a trailing slash and unknown fields and parameters make no difference', async () => {
  expect((await shop.account.get('/keys/?what=ever')).status).toBe(200)
  expect((await shop.account.post('/keys/', { service: 'email', unknown: true })).status).toBe(200)
})

describe('every service', () => {
  test.each(['email', 'chat', 'billing', 'account'] as const)('%s asks for its own key', async name => {
    const base = shop.keys[name].baseUrl
    const open = await w.app.inject({ url: `${base}/anything` })
    expect(open.statusCode).toBe(401)
    expect(open.headers['www-authenticate']).toMatch(name === 'billing' ? /^Basic/ : /^Bearer/)
    for (const other of ['email', 'chat', 'billing', 'account'] as const) {
      const answer = await w.app.inject({
        url: `${base}/anything`,
        headers: { authorization: shop[other].authorization },
      })
      expect([other, answer.statusCode]).toEqual([other, other === name ? 404 : 403])
    }
  })

  test('billing refuses a wrong or missing secret', async () => {
    const { apiKey, secretKey } = shop.keys.billing
    for (const pair of [apiKey, `${apiKey}:`, `${apiKey}:wrong`, `:${secretKey}`, `${secretKey}:${apiKey}`]) {
      const answer = await w.app.inject({
        url: '/billing/api/v1/anything',
        headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
      })
      expect(answer.statusCode).toBe(401)
    }
    expect(
      (await w.app.inject({ url: '/billing/api/v1/anything', headers: { authorization: `Bearer ${apiKey}` } }))
        .statusCode,
    ).toBe(401)
  })
})

describe('the rate limit', () => {
  test('is per key, tells its state and when to come back', async () => {
    const limited = await world({ rateLimit: 5, rateBurst: 10 })
    try {
      const [one, two] = [await limited.business(), await limited.business()]
      const answers = []
      for (let i = 0; i < 14; i++) answers.push(await one.account.get('/business'))
      expect(answers[0]?.headers).toMatchObject({ 'ratelimit-limit': '10', 'ratelimit-remaining': '9' })
      const refused = answers.find(answer => answer.status === 429)
      expect(refused?.body).toMatchObject(failure('rate_limited'))
      expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(1)
      expect(refused?.headers).toMatchObject({
        'ratelimit-remaining': '0',
        'ratelimit-reset': expect.stringMatching(/^\d+$/),
      })
      expect((await two.account.get('/business')).status).toBe(200)
    } finally {
      await limited.close()
    }
  })
})

test.each([
  ['email', '/subscribers/import'],
  ['chat', '/contacts/import'],
  ['chat', '/media'],
] as const)(
  'JSON is refused where a file of any size is taken, before it is read (%s POST %s)',
  async (service, path) => {
    const { status, body } = await postJson(service, path, '{"half": ')
    expect({ status, code: body.code }).toEqual({ status: 415, code: 'unsupported_media_type' })
  },
)

async function postJson(service: 'email' | 'chat', path: string, payload: string) {
  const { baseUrl, authorization } = shop[service]
  const headers = { authorization, 'content-type': 'Application/JSON' }
  const answer = await w.app.inject({ method: 'POST', url: baseUrl + path, headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}
