import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import type { TimeKeeper } from '../platform/clock.ts'
import { advanceClock } from './advance-clock.ts'
import { businessById } from './store.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

describe('keys', () => {
  test('a key works on its own service only', async () => {
    const shop = await w.business()
    expect((await shop.account.get('/business')).body.data.name).toBe('Test shop')
    const wrong = await w.app.inject({
      url: '/account/api/v1/business',
      headers: { authorization: `Bearer ${shop.keys.email.apiKey}` },
    })
    expect(wrong.statusCode).toBe(403)
    expect(wrong.json()).toMatchObject({ success: false, status: 'error', code: 'key_of_other_service' })
  })

  test('no credentials, garbage and a key with a wrong letter answer 401 and say how to authenticate', async () => {
    const shop = await w.business()
    const key = shop.keys.account.apiKey
    const wrongLetter = key.slice(0, 10) + (key[10] === 'x' ? 'y' : 'x') + key.slice(11)
    for (const authorization of [
      undefined,
      'Bearer',
      'Bearer nonsense',
      `Bearer ${wrongLetter}`,
      `Basic ${Buffer.from(`${key}:x`).toString('base64')}`,
    ]) {
      const answer = await w.app.inject({
        url: '/account/api/v1/business',
        headers: authorization ? { authorization } : {},
      })
      expect(answer.statusCode).toBe(401)
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
      expect(answer.json()).toMatchObject({ success: false, status: 'error', code: 'unauthorized' })
    }
  })

  test('a revoked key stops within a second', async () => {
    const shop = await w.business()
    const { data } = (await shop.account.post('/keys', { service: 'account', name: 'second' })).body
    const call = () =>
      w.app.inject({ url: '/account/api/v1/business', headers: { authorization: `Bearer ${data.apiKey}` } })
    expect((await call()).statusCode).toBe(200)
    expect((await shop.account.delete(`/keys/${data.id}`)).status).toBe(200)
    await new Promise(resolve => setTimeout(resolve, 1_000))
    expect((await call()).statusCode).toBe(401)
  })

  test('a read-only key reads and changes nothing', async () => {
    const shop = await w.business()
    const { data } = (await shop.account.post('/keys', { service: 'account', readOnly: true })).body
    const headers = { authorization: `Bearer ${data.apiKey}` }
    expect((await w.app.inject({ url: '/account/api/v1/keys', headers })).statusCode).toBe(200)
    const refused = await w.app.inject({
      method: 'POST',
      url: '/account/api/v1/keys',
      headers,
      payload: { service: 'email' },
    })
    expect(refused.statusCode).toBe(403)
    expect(refused.json().code).toBe('key_read_only')
  })

  test('only hashes are stored, and lists show hints', async () => {
    const shop = await w.business()
    const dump = JSON.stringify(await w.db`select * from account_key where business_id = ${shop.id}`)
    expect(dump).not.toContain(shop.keys.email.apiKey)
    expect(dump).not.toContain(shop.keys.billing.secretKey)
    const { keys } = (await shop.account.get('/keys')).body.data
    expect(keys.map((key: { service: string }) => key.service).sort()).toEqual(['account', 'billing', 'chat', 'email'])
  })

  test("another business's key is not found", async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    const { keys } = (await theirs.account.get('/keys')).body.data
    const answer = await mine.account.delete(`/keys/${keys[0].id}`)
    const missing = await mine.account.delete('/keys/000000000000000000000000')
    expect(answer.status).toBe(404)
    expect({ ...answer.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' })
  })
})

describe('clock', () => {
  test('a business in test mode is moved, another is not', async () => {
    const shop = await w.business({ testMode: true })
    expect((await shop.account.put('/clock', { now: '2026-01-31T10:00:00.000Z' })).body.data.now).toBe(
      '2026-01-31T10:00:00.000Z',
    )
    const advanced = await shop.account.post('/clock/advance', { days: 1, hours: 2 })
    expect(advanced.body.data.now).toBe('2026-02-01T12:00:00.000Z')
    expect((await shop.account.get('/clock')).body.data).toEqual({ now: '2026-02-01T12:00:00.000Z', testMode: true })
    expect((await shop.account.post('/clock/advance', { to: '2026-01-01T00:00:00Z' })).status).toBe(422)
    const live = await w.business()
    expect((await live.account.put('/clock', { now: '2026-01-31T10:00:00.000Z' })).body.code).toBe('not_in_test_mode')
  })

  test('it stands from 1970 to 2200', async () => {
    const shop = await w.business({ testMode: true })
    for (const now of ['1969-12-31T23:59:59.999Z', '2200-01-01T00:00:00.001Z', '9999-12-31T00:00:00Z'])
      expect((await shop.account.put('/clock', { now })).body).toMatchObject({ code: 'clock_too_far' })
    expect((await shop.account.put('/clock', { now: '1970-01-01T00:00:00.000Z' })).status).toBe(200)
    expect((await shop.account.post('/clock/advance', { to: '2200-01-01T00:00:00.000Z' })).status).toBe(200)
    const beyond = await shop.account.post('/clock/advance', { hours: 1 })
    expect(beyond).toMatchObject({ status: 422, body: { code: 'clock_too_far' } })
    expect((await shop.account.get('/clock')).body.data.now).toBe('2200-01-01T00:00:00.000Z')
  })

  test('where too much falls due on the way it stops there, with all before it done', async () => {
    const shop = await w.business({ testMode: true })
    await shop.account.put('/clock', { now: '2026-01-01T00:00:00.000Z' })
    const business = (await businessById(w.db, shop.id))!
    let done = Date.parse('2026-01-01T00:00:00.000Z')
    const everySecond: TimeKeeper = {
      name: 'every second',
      nextDue: async () => new Date(done + 1_000),
      run: async (_, now) => {
        done = now.getTime()
      },
    }
    const far = advanceClock(w.platform, [everySecond], business, () => new Date('2199-01-01T00:00:00Z'), 50)
    await expect(far).rejects.toMatchObject({ status: 422, code: 'clock_too_far' })
    expect((await shop.account.get('/clock')).body.data.now).toBe(new Date(done).toISOString())
    await advanceClock(w.platform, [everySecond], business, () => new Date(done + 3_500))
    expect((await shop.account.get('/clock')).body.data.now).toBe(new Date(done + 500).toISOString())
  })

  test('who advances it while another does waits, and goes on from there', async () => {
    const shop = await w.business({ testMode: true })
    await shop.account.put('/clock', { now: '2026-01-01T00:00:00.000Z' })
    const answers = await Promise.all(Array.from({ length: 6 }, () => shop.account.post('/clock/advance', { days: 1 })))
    expect(answers.map(one => one.body.data?.now).sort()).toEqual(
      [2, 3, 4, 5, 6, 7].map(day => `2026-01-0${day}T00:00:00.000Z`),
    )
    expect((await shop.account.get('/clock')).body.data.now).toBe('2026-01-07T00:00:00.000Z')
  })
})

test('the owner says who they are, once for all businesses of the account', async () => {
  const shop = await w.business()
  const told = await shop.account.put('/user', { first_name: 'Ada', city: 'London', verified: 'true' })
  expect(told.body.data).toMatchObject({ id: shop.userId, first_name: 'Ada', city: 'London', country: '' })
  expect((await shop.account.put('/user', { country: 'GB' })).body.data).toMatchObject({
    city: 'London',
    country: 'GB',
  })
  expect((await shop.account.get('/user')).body.data).not.toHaveProperty('verified')
  expect((await shop.account.put('/user', { city: 'x'.repeat(201) })).status).toBe(400)
  expect((await shop.account.put('/user', { city: 7 })).status).toBe(400)
  const other = await w.business()
  expect((await other.account.get('/user')).body.data).toMatchObject({ id: other.userId, city: '' })
})
