import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createDeliverer } from '../../src/accounts/webhooks/deliver.ts'
import { startReceiver, verify } from '../receiver.ts'
import { type TestBusiness, type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1/32'] })
})
afterAll(() => w.close())

const url = 'https://192.0.43.7/hook'
const isId = /^[0-9a-f]{24}$/
const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const create = async (shop: TestBusiness, body: object = {}) =>
  (await shop.account.post('/webhooks', { url, ...body })).body.data

describe('POST /webhooks', () => {
  test('answers the endpoint with every field, and its secret this once', async () => {
    const shop = await w.business()
    const { status, body } = await shop.account.post('/webhooks', {
      url,
      types: ['webhook_test', 'webhook_disabled', 'webhook_test'],
      description: 'Order desk',
      credentials: { username: 'desk', password: 'secret' },
      unknown: 'ignored',
    })
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      status: 'success',
      message: 'Webhook created',
      data: {
        id: expect.stringMatching(isId),
        url,
        types: ['webhook_test', 'webhook_disabled'],
        description: 'Order desk',
        username: 'desk',
        state: 'enabled',
        disabledReason: null,
        disabledAt: null,
        failingSince: null,
        lastSuccessAt: null,
        lastFailureAt: null,
        previousSecretUntil: null,
        createdAt: expect.stringMatching(isTime),
        updatedAt: expect.stringMatching(isTime),
        secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      },
    })
    const { secret, ...shown } = body.data
    expect((await shop.account.get(`/webhooks/${shown.id}`)).body.data).toEqual(shown)
    expect((await shop.account.get('/webhooks')).body.data).toEqual({ webhooks: [shown] })
    const stored = JSON.stringify(await w.db`select * from account_webhook where business_id = ${shop.id}`)
    expect(stored).not.toContain(secret)
    expect(stored).not.toContain('"secret"' + ':"secret')
  })

  test('takes the least and gives the rest', async () => {
    const shop = await w.business()
    expect(await create(shop)).toMatchObject({ types: ['*'], description: '', username: null })
  })

  test('takes a secret of the user’s own', async () => {
    const shop = await w.business()
    const secret = `whsec_${Buffer.alloc(24, 5).toString('base64')}`
    expect((await create(shop, { secret })).secret).toBe(secret)
  })

  test.each([
    ['url missing', { url: undefined }, 'url'],
    ['url of the wrong type', { url: 5 }, 'url'],
    ['url empty', { url: '' }, 'url'],
    ['url of 2,049 characters', { url: `${url}/`.padEnd(2_049, 'x') }, 'url'],
    ['no types', { types: [] }, 'types'],
    ['201 types', { types: Array.from({ length: 201 }, () => '*') }, 'types'],
    ['types that are no texts', { types: [1] }, 'types[0]'],
    ['a type that does not exist', { types: ['webhook_test', 'nothing_happened'] }, 'types'],
    ['a description of 501 characters', { description: 'x'.repeat(501) }, 'description'],
    ['a secret without its prefix', { secret: Buffer.alloc(32).toString('base64') }, 'secret'],
    ['a secret of 23 bytes', { secret: `whsec_${Buffer.alloc(23).toString('base64')}` }, 'secret'],
    ['a secret of 65 bytes', { secret: `whsec_${Buffer.alloc(65).toString('base64')}` }, 'secret'],
    ['a secret without its padding', { secret: `whsec_${Buffer.alloc(32).toString('base64url')}` }, 'secret'],
    ['credentials without a password', { credentials: { username: 'x' } }, 'credentials.password'],
    ['a user name with a colon', { credentials: { username: 'a:b', password: '' } }, 'credentials.username'],
    ['credentials that are a list', { credentials: [] }, 'credentials'],
  ])('refuses with 400: %s', async (_, body, field) => {
    const shop = await w.business()
    const answer = await shop.account.post('/webhooks', { url, ...body })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ success: false, status: 'error', code: 'validation_failed' })
    expect(answer.body.errors.map((error: { field: string }) => error.field)).toContain(field)
  })

  test('an unknown type is answered with the catalogue', async () => {
    const shop = await w.business()
    const answer = await shop.account.post('/webhooks', { url, types: ['nothing_happened'] })
    expect(answer.body.message).toMatch(/"nothing_happened".*\* \(all\).*webhook_disabled, webhook_test/)
  })

  test('at the bounds it is accepted', async () => {
    const shop = await w.business()
    const long = `${url}/`.padEnd(2_048, 'x')
    expect(await create(shop, { url: long, description: 'x'.repeat(500) })).toMatchObject({ url: long })
  })

  test.each([
    'http://127.0.0.2/hook',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/',
    'http://0x7f000002/',
    'ftp://192.0.43.7/',
    'nonsense',
    'https://user:password@192.0.43.7/',
  ])('refuses with 422 where it must not reach: %s', async target => {
    const shop = await w.business()
    for (const answer of [
      await shop.account.post('/webhooks', { url: target }),
      await shop.account.put(`/webhooks/${(await create(shop)).id}`, { url: target }),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([422, 'webhook_url_refused'])
      expect(answer.body.errors[0].field).toBe('url')
    }
  })

  test('a name that leads to a private address is refused too', async () => {
    const closed = await world()
    onTestFinished(closed.close)
    const shop = await closed.business()
    const answer = await shop.account.post('/webhooks', { url: 'http://localhost/hook' })
    expect([answer.status, answer.body.code]).toEqual([422, 'webhook_url_refused'])
  })

  test('fifty are allowed, also when they come at once, and one more is refused', async () => {
    const shop = await w.business()
    const answers = await Promise.all(Array.from({ length: 55 }, () => shop.account.post('/webhooks', { url })))
    expect(answers.filter(answer => answer.status === 200).length).toBe(50)
    expect(answers.find(answer => answer.status !== 200)).toMatchObject({
      status: 422,
      body: { code: 'too_many_webhooks' },
    })
    expect((await shop.account.get('/webhooks')).body.data.webhooks.length).toBe(50)
  })

  test('a repeated Idempotency-Key makes one endpoint and answers the same bytes', async () => {
    const shop = await w.business()
    const key = { 'idempotency-key': 'once' }
    const [first, second] = [
      await shop.account.post('/webhooks', { url }, key),
      await shop.account.post('/webhooks', { url }, key),
    ]
    expect(second.text).toBe(first.text)
    expect((await shop.account.get('/webhooks')).body.data.webhooks.length).toBe(1)
  })
})

describe('PUT /webhooks/{id}', () => {
  test('changes what is given and keeps the rest', async () => {
    const shop = await w.business()
    const { id } = await create(shop, { description: 'old', credentials: { username: 'a', password: 'b' } })
    const one = await shop.account.put(`/webhooks/${id}`, { description: 'new' })
    expect(one.body).toMatchObject({
      message: 'Webhook updated',
      data: { id, url, description: 'new', username: 'a', types: ['*'] },
    })
    expect(one.body.data).not.toHaveProperty('secret')
    const two = await shop.account.put(`/webhooks/${id}`, { types: ['webhook_test'], credentials: null })
    expect(two.body.data).toMatchObject({ types: ['webhook_test'], username: null, description: 'new' })
    expect((await shop.account.put(`/webhooks/${id}`, { types: ['nothing_happened'] })).status).toBe(400)
  })
})

describe('one endpoint', () => {
  test('that is missing, or of another business, is not found, in every operation', async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    const { id } = await create(theirs)
    const operations = [
      (at: string) => mine.account.get(`/webhooks/${at}`),
      (at: string) => mine.account.put(`/webhooks/${at}`, { description: 'x' }),
      (at: string) => mine.account.delete(`/webhooks/${at}`),
      (at: string) => mine.account.post(`/webhooks/${at}/rotate-secret`),
      (at: string) => mine.account.post(`/webhooks/${at}/enable`),
      (at: string) => mine.account.post(`/webhooks/${at}/disable`),
      (at: string) => mine.account.post(`/webhooks/${at}/test`),
      (at: string) => mine.account.get(`/webhooks/${at}/deliveries`),
      (at: string) => mine.account.post(`/webhooks/${at}/replay`, { since: '2026-01-01T00:00:00Z' }),
    ]
    for (const operation of operations) {
      const [other, missing] = [await operation(id), await operation('000000000000000000000000')]
      expect([other.status, other.body.code]).toEqual([404, 'webhook_not_found'])
      expect({ ...other.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' })
    }
    expect((await theirs.account.get('/webhooks')).body.data.webhooks.length).toBe(1)
  })

  test('DELETE removes it', async () => {
    const shop = await w.business()
    const { id } = await create(shop)
    expect((await shop.account.delete(`/webhooks/${id}`)).body).toMatchObject({
      message: 'Webhook deleted',
      data: { id },
    })
    expect((await shop.account.get(`/webhooks/${id}`)).status).toBe(404)
    expect((await shop.account.get('/webhooks')).body.data.webhooks).toEqual([])
  })

  test('is disabled by its owner and enabled again; doing it twice changes nothing', async () => {
    const shop = await w.business()
    const { id } = await create(shop)
    const off = (await shop.account.post(`/webhooks/${id}/disable`)).body
    expect(off).toMatchObject({ message: 'Webhook disabled', data: { state: 'disabled', disabledReason: 'owner' } })
    expect(off.data.disabledAt).toMatch(isTime)
    expect((await shop.account.post(`/webhooks/${id}/disable`)).body.data).toEqual(off.data)
    const replay = await shop.account.post(`/webhooks/${id}/replay`, { since: '2026-01-01T00:00:00Z' })
    expect([replay.status, replay.body.code]).toEqual([422, 'webhook_disabled'])
    const on = (await shop.account.post(`/webhooks/${id}/enable`)).body
    expect(on).toMatchObject({
      message: 'Webhook enabled',
      data: { state: 'enabled', disabledReason: null, disabledAt: null },
    })
    expect((await shop.account.post(`/webhooks/${id}/enable`)).body.data).toEqual(on.data)
  })

  test('rotate-secret answers a new secret and until when the old one signs', async () => {
    const shop = await w.business()
    const { id, secret } = await create(shop)
    const { body } = await shop.account.post(`/webhooks/${id}/rotate-secret`)
    expect(body.message).toBe('Secret rotated')
    expect(body.data.secret).not.toBe(secret)
    const hours = (Date.parse(body.data.previousSecretUntil) - Date.now()) / 3_600_000
    expect(Math.round(hours)).toBe(24)
    const own = `whsec_${Buffer.alloc(64, 9).toString('base64')}`
    const second = await shop.account.post(`/webhooks/${id}/rotate-secret`, { secret: own, overlapHours: 168 })
    expect(second.body.data.secret).toBe(own)
    for (const wrong of [{ overlapHours: 169 }, { overlapHours: -1 }, { overlapHours: 1.5 }, { secret: 'x' }, []])
      expect((await shop.account.post(`/webhooks/${id}/rotate-secret`, wrong)).status).toBe(400)
  })

  test('a read-only key sees it and changes nothing', async () => {
    const shop = await w.business()
    const { id } = await create(shop)
    const { apiKey } = (await shop.account.post('/keys', { service: 'account', readOnly: true })).body.data
    const headers = { authorization: `Bearer ${apiKey}` }
    const base = `/account/api/v1/webhooks/${id}`
    expect((await w.app.inject({ url: base, headers })).statusCode).toBe(200)
    expect((await w.app.inject({ method: 'POST', url: `${base}/test`, headers })).statusCode).toBe(403)
    expect((await w.app.inject({ method: 'DELETE', url: base, headers })).statusCode).toBe(403)
  })
})

describe('POST /webhooks/{id}/test', () => {
  test('every type of the catalogue arrives as its example, verified by the public package', async () => {
    const [shop, to] = [await w.business(), await startReceiver()]
    const { id, secret } = await create(shop, { url: `${to.url}/in` })
    const { types } = (await shop.account.get('/events/types')).body.data
    expect(types.map((one: { type: string }) => one.type)).toContain('webhook_test')
    for (const { type, example } of types) {
      const { status, body } = await shop.account.post(`/webhooks/${id}/test`, { type })
      expect([status, body.message, body.data.state, body.data.test]).toEqual([200, 'Test sent', 'delivered', true])
      const call = to.calls.at(-1)!
      expect(verify(secret, call)).toEqual({
        event_type: type,
        event_source: 'api',
        data: example,
        create_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/),
      })
      expect(body.data).toMatchObject({ eventId: call.id, eventType: type, request: { body: call.body } })
    }
    expect(to.calls.length).toBe(types.length)
  })

  test('tells what went wrong, keeps it among the deliveries and does not try again', async () => {
    const [shop, to] = [
      await w.business(),
      await startReceiver((_, response) => void response.writeHead(500).end('out of order\u0000')),
    ]
    const { id } = await create(shop, { url: `${to.url}/in` })
    const { status, body } = await shop.account.post(`/webhooks/${id}/test`)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      eventType: 'webhook_test',
      state: 'failed',
      attempts: 1,
      nextAttemptAt: null,
      answer: { status: 500, body: 'out of order', error: 'It answered 500 instead of a status from 200 to 299.' },
    })
    const listed = (await shop.account.get(`/webhooks/${id}/deliveries?state=failed`)).body.data
    expect(listed).toEqual({ deliveries: [body.data], nextCursor: null })
    await createDeliverer({ db: w.db, outbound: w.platform.outbound, platform: w.platform }).settle()
    expect(to.calls.length).toBe(1)
    expect((await shop.account.post(`/webhooks/${id}/test`, { type: 'nothing_happened' })).status).toBe(400)
    await to.close()
    expect((await shop.account.post(`/webhooks/${id}/test`)).body.data.answer).toMatchObject({
      status: null,
      error: expect.stringMatching(/refused the connection/),
    })
  })
})

describe('GET /webhooks/{id}/deliveries', () => {
  test('lists newest first, in pages, and by state', async () => {
    let status = 200
    const [shop, to] = [
      await w.business(),
      await startReceiver((_, response) => void response.writeHead(status).end('x'.repeat(10_000))),
    ]
    const { id } = await create(shop, { url: `${to.url}/in` })
    for (status of [200, 500, 201, 404, 299]) await shop.account.post(`/webhooks/${id}/test`)
    const all = (await shop.account.get(`/webhooks/${id}/deliveries`)).body.data
    expect(all.deliveries.map((one: { answer: { status: number } }) => one.answer.status)).toEqual([
      299, 404, 201, 500, 200,
    ])
    expect(all.deliveries[0].answer.body.length).toBe(4_096)
    expect(all.nextCursor).toBeNull()
    const seen = []
    for (let after = ''; ; ) {
      const page = (await shop.account.get(`/webhooks/${id}/deliveries?limit=2${after && `&after=${after}`}`)).body.data
      seen.push(...page.deliveries)
      if (page.nextCursor === null) break
      after = page.nextCursor
    }
    expect(seen).toEqual(all.deliveries)
    const failed = (await shop.account.get(`/webhooks/${id}/deliveries?state=failed`)).body.data.deliveries
    expect(failed.map((one: { answer: { status: number } }) => one.answer.status)).toEqual([404, 500])
    for (const query of ['limit=0', 'limit=x', 'limit=-1', 'state=lost'])
      expect((await shop.account.get(`/webhooks/${id}/deliveries?${query}`)).status).toBe(400)
    expect((await shop.account.get(`/webhooks/${id}/deliveries?limit=5000&x=y`)).status).toBe(200)
  })
})

describe('POST /webhooks/{id}/replay', () => {
  test('wants one of eventId and since, and an event of this business', async () => {
    const shop = await w.business()
    const { id } = await create(shop)
    for (const body of [
      {},
      { eventId: 'x', since: '2026-01-01T00:00:00Z' },
      { since: 'yesterday' },
      { eventId: '' },
      [],
    ])
      expect((await shop.account.post(`/webhooks/${id}/replay`, body)).status).toBe(400)
    const missing = await shop.account.post(`/webhooks/${id}/replay`, { eventId: '000000000000000000000000' })
    expect([missing.status, missing.body.code]).toEqual([404, 'event_not_found'])
    expect((await shop.account.post(`/webhooks/${id}/replay`, { since: '2026-01-01T00:00:00Z' })).body).toMatchObject({
      message: 'Events queued',
      data: { queued: 0 },
    })
  })
})
