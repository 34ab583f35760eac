import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startReceiver, verify } from '../../../test/receiver.ts'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { emit, type NewEvent } from '../../platform/events.ts'
import { publish } from '../events/publish.ts'
import { createDeliverer, type Deliverer } from './deliver.ts'

let w: World
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1/32'] })
})
afterAll(() => w.close())

/** Delivers what is due at a time that the test moves. */
function deliverer(): Deliverer & { later(ms: number): void; time(): Date } {
  let ahead = 0
  const now = () => new Date(Date.now() + ahead)
  const made = createDeliverer({ db: w.db, outbound: w.platform.outbound, platform: w.platform, now })
  return { ...made, later: ms => (ahead += ms), time: now }
}

const minute = 60_000
const hour = 60 * minute

async function hook(shop: TestBusiness, url: string, more: object = {}) {
  const { status, body } = await shop.account.post('/webhooks', { url, ...more })
  expect([status, body.message]).toEqual([200, 'Webhook created'])
  return body.data as { id: string; secret: string }
}

async function tell(shop: TestBusiness, ...events: (Partial<NewEvent> & { n?: number })[]) {
  await w.db.begin(tx =>
    emit(
      tx,
      ...events.map(({ n = 0, ...event }) => ({
        businessId: shop.id,
        type: 'webhook_test',
        source: 'api' as const,
        objectId: 'object',
        data: { n },
        ...event,
      })),
    ),
  )
  await publish(w.db, [shop.id], new Date())
}

const deliveries = async (shop: TestBusiness, id: string, query = '') =>
  (await shop.account.get(`/webhooks/${id}/deliveries${query}`)).body.data.deliveries
const numbers = (calls: { event: { data: { n: number } } }[]) => calls.map(call => call.event.data.n)

describe('delivery', () => {
  test('reaches the receiver with the envelope, a signature the public package accepts, and credentials', async () => {
    const [shop, to] = [await w.business(), await startReceiver()]
    const { id, secret } = await hook(shop, `${to.url}/in`, {
      credentials: { username: 'shop', password: 'pässword:1' },
    })
    await tell(shop, {
      n: 1,
      at: new Date('2026-03-01T10:00:00.123Z'),
      data: { z: 1, a: { quote: '"' }, half: '\ud800' },
    })
    await deliverer().settle()
    const [call] = to.calls
    expect(to.calls.length).toBe(1)
    expect(call?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Pennypost',
      authorization: `Basic ${Buffer.from('shop:pässword:1').toString('base64')}`,
    })
    expect(call?.body).toBe(
      '{"event_type":"webhook_test","event_source":"api","data":{"z":1,"a":{"quote":"\\""},"half":"\\ud800"},"create_time":"2026-03-01T10:00:00.123+00:00"}',
    )
    expect(verify(secret, call!)).toEqual(call?.event)
    expect(() => verify(`whsec_${Buffer.alloc(32).toString('base64')}`, call!)).toThrow()
    const [feed] = (await shop.account.get('/events')).body.data.events
    expect(call?.id).toBe(feed.id)
    expect(await deliveries(shop, id)).toMatchObject([
      {
        eventId: feed.id,
        eventType: 'webhook_test',
        state: 'delivered',
        test: false,
        attempts: 1,
        nextAttemptAt: null,
        request: { url: `${to.url}/in`, headers: { 'webhook-id': feed.id }, body: call?.body },
        answer: { status: 204, body: '', error: null },
        history: [{ status: 204, error: null }],
      },
    ])
  })

  test('goes to the endpoints that chose the type, and to no other business', async () => {
    const [shop, other, to] = [await w.business(), await w.business(), await startReceiver()]
    await hook(shop, `${to.url}/all`)
    await hook(shop, `${to.url}/chosen`, { types: ['webhook_disabled'] })
    await hook(shop, `${to.url}/not`, { types: ['webhook_test'] })
    await hook(other, `${to.url}/other`)
    await tell(shop, { type: 'webhook_disabled' })
    await deliverer().settle()
    expect(to.calls.map(call => call.path).sort()).toEqual(['/all', '/chosen'])
  })

  test('keeps the order of each object, though one of them fails', async () => {
    const failing = new Set([3])
    const [shop, to] = [
      await w.business(),
      await startReceiver(
        (call, response) => void response.writeHead(failing.has(call.event.data.n) ? 500 : 200).end(),
      ),
    ]
    const { id } = await hook(shop, `${to.url}/in`)
    const post = deliverer()
    // Odd numbers are events of one object, even ones of another.
    await tell(shop, ...[1, 2, 3, 4, 5, 6, 7].map(n => ({ n, objectId: n % 2 ? 'odd' : 'even' })))
    await post.settle()
    expect(numbers(to.calls).filter(n => n % 2)).toEqual([1, 3])
    expect(numbers(to.calls).filter(n => n % 2 === 0)).toEqual([2, 4, 6])
    await tell(shop, { n: 9, objectId: 'odd' }, { n: 8, objectId: 'even' })
    await post.settle()
    expect(numbers(to.calls).filter(n => n % 2)).toEqual([1, 3])
    expect(numbers(to.calls).filter(n => n % 2 === 0)).toEqual([2, 4, 6, 8])
    failing.clear()
    post.later(10_000)
    await post.settle()
    expect(numbers(to.calls).filter(n => n % 2)).toEqual([1, 3, 3, 5, 7, 9])
    expect(new Set((await deliveries(shop, id)).map((one: { state: string }) => one.state))).toEqual(
      new Set(['delivered']),
    )
  })

  test('many events of many objects arrive once each, in order, with several processes delivering', async () => {
    const [shop, to] = [await w.business(), await startReceiver()]
    const hooks = await Promise.all(['/a', '/b', '/c'].map(path => hook(shop, to.url + path)))
    await tell(shop, ...Array.from({ length: 300 }, (_, n) => ({ n, objectId: `object ${n % 7}` })))
    await Promise.all([deliverer().settle(), deliverer().settle(), deliverer().settle()])
    await expect
      .poll(async () => {
        await deliverer().settle()
        return to.calls.length
      })
      .toBe(900)
    for (const path of ['/a', '/b', '/c'])
      for (let object = 0; object < 7; object++) {
        const got = numbers(to.to(path)).filter(n => n % 7 === object)
        expect(got).toEqual([...got].sort((a, b) => a - b))
      }
    expect(hooks.length).toBe(3)
  })
})

test('thousands of events reach a quick endpoint once each, over many rounds', async () => {
  const [shop, to] = [await w.business(), await startReceiver()]
  const { id } = await hook(shop, `${to.url}/in`)
  await tell(shop, ...Array.from({ length: 3_000 }, (_, n) => ({ n, objectId: `object ${n % 400}` })))
  await deliverer().settle()
  const [row] = await w.db<{ delivered: number; attempts: number }[]>`
    select count(*)::int as delivered, sum(attempts)::int as attempts from account_webhook_delivery
    where endpoint_id = ${id} and state = 'delivered'`
  expect(row).toEqual({ delivered: 3_000, attempts: 3_000 })
  expect(to.calls.length).toBe(3_000)
})

describe('an endpoint that fails', () => {
  test('is tried again with the same id and body, at growing distances, and success ends it', async () => {
    let healthy = false
    const [shop, to] = [
      await w.business(),
      await startReceiver((_, response) => void response.writeHead(healthy ? 200 : 503).end('no room')),
    ]
    const { id } = await hook(shop, `${to.url}/in`)
    const post = deliverer()
    await tell(shop, { n: 1 })
    await post.settle()
    post.later(1_000)
    await post.settle()
    expect(to.calls.length).toBe(1)
    for (const ms of [6_000, 40_000, 6 * minute]) {
      post.later(ms)
      await post.settle()
    }
    expect(to.calls.length).toBe(4)
    expect(await deliveries(shop, id, '?state=waiting')).toMatchObject([
      { state: 'waiting', attempts: 4, answer: { status: 503, body: 'no room' } },
    ])
    expect((await shop.account.get(`/webhooks/${id}`)).body.data).toMatchObject({ state: 'enabled' })
    expect((await shop.account.get(`/webhooks/${id}`)).body.data.failingSince).not.toBeNull()
    healthy = true
    post.later(hour)
    await post.settle()
    expect(new Set(to.calls.map(call => call.id)).size).toBe(1)
    expect(new Set(to.calls.map(call => call.body)).size).toBe(1)
    const [delivery] = await deliveries(shop, id)
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 5 })
    expect(delivery.history.map((one: { status: number }) => one.status)).toEqual([503, 503, 503, 503, 200])
    expect((await shop.account.get(`/webhooks/${id}`)).body.data.failingSince).toBeNull()
  })

  test('is disabled after three days, the owner is told, and enabling goes on with what waited', async () => {
    let healthy = false
    const [shop, to, desk] = [
      await w.business(),
      await startReceiver((_, response) => void response.writeHead(healthy ? 200 : 500).end()),
      await startReceiver(),
    ]
    const { id } = await hook(shop, `${to.url}/in`, { types: ['webhook_test'], description: 'Order desk' })
    await hook(shop, `${desk.url}/desk`, { types: ['webhook_disabled'] })
    const post = deliverer()
    await tell(shop, { n: 1, objectId: 'one' })
    await post.settle()
    for (let hours = 0; hours < 71; hours++) {
      post.later(hour)
      await post.settle()
      if (hours === 40) await tell(shop, { n: 2, objectId: 'two' })
    }
    expect((await shop.account.get(`/webhooks/${id}`)).body.data).toMatchObject({
      state: 'enabled',
      disabledReason: null,
    })
    post.later(1.1 * hour)
    await post.settle()
    expect((await shop.account.get(`/webhooks/${id}`)).body.data).toMatchObject({
      state: 'disabled',
      disabledReason: 'failing',
    })
    await publish(w.db, [shop.id], new Date())
    await post.settle()
    expect(desk.calls.map(call => call.event)).toMatchObject([
      {
        event_type: 'webhook_disabled',
        data: { id, url: `${to.url}/in`, description: 'Order desk', reason: 'failing' },
      },
    ])
    const before = to.calls.length
    await tell(shop, { n: 3 })
    post.later(24 * hour)
    await post.settle()
    expect(to.calls.length).toBe(before)

    healthy = true
    expect((await shop.account.post(`/webhooks/${id}/enable`)).body.data).toMatchObject({
      state: 'enabled',
      disabledReason: null,
      disabledAt: null,
      failingSince: null,
    })
    await post.settle()
    const states = Object.fromEntries(
      (await deliveries(shop, id)).map((one: { request: { body: string }; state: string }) => [
        JSON.parse(one.request.body).data.n,
        one.state,
      ]),
    )
    expect(states).toEqual({ 1: 'failed', 2: 'delivered' })
  })

  test('that answers well in between is not disabled; only the event it refuses is given up', async () => {
    const [shop, to] = [
      await w.business(),
      await startReceiver((call, response) => void response.writeHead(call.event.data.n === 13 ? 400 : 200).end()),
    ]
    const { id } = await hook(shop, `${to.url}/in`)
    const post = deliverer()
    await tell(shop, { n: 13, objectId: 'unlucky' })
    for (let hours = 0; hours < 80; hours++) {
      if (hours % 10 === 0) await tell(shop, { n: hours, objectId: `object ${hours}` })
      await post.settle()
      post.later(hour)
    }
    await tell(shop, { n: 99, objectId: 'unlucky' })
    await post.settle()
    expect((await shop.account.get(`/webhooks/${id}`)).body.data.state).toBe('enabled')
    const [given] = await deliveries(shop, id, '?state=failed')
    expect(JSON.parse(given.request.body).data.n).toBe(13)
    expect(given.attempts).toBeGreaterThan(8)
    expect(numbers(to.calls)).toContain(99)
  })

  test('that answers 410 Gone is disabled at once', async () => {
    const [shop, to] = [await w.business(), await startReceiver((_, response) => void response.writeHead(410).end())]
    const { id } = await hook(shop, `${to.url}/in`)
    await tell(shop, { n: 1 }, { n: 2 })
    await deliverer().settle()
    expect((await shop.account.get(`/webhooks/${id}`)).body.data).toMatchObject({
      state: 'disabled',
      disabledReason: 'gone',
    })
    expect(to.calls.length).toBe(1)
  })

  test('and has a long backlog is probed by one delivery at a time, and catches up when it is back', async () => {
    let healthy = false
    const [shop, to] = [
      await w.business(),
      await startReceiver((_, response) => void response.writeHead(healthy ? 200 : 502).end()),
    ]
    await hook(shop, `${to.url}/in`)
    const post = deliverer()
    await tell(shop, ...Array.from({ length: 200 }, (_, n) => ({ n, objectId: `object ${n}` })))
    await post.settle()
    expect(to.calls.length).toBe(5)
    for (let minutes = 0; minutes < 30; minutes++) {
      post.later(minute)
      await post.settle()
    }
    expect(to.calls.length).toBeLessThan(40)
    healthy = true
    to.calls.length = 0
    post.later(2 * minute)
    await post.settle()
    expect(new Set(numbers(to.calls)).size).toBe(200)
    expect(to.calls.length).toBe(200)
  })
})

describe('secrets', () => {
  test('both sign while the overlap lasts, then only the new one', async () => {
    const [shop, to] = [await w.business(), await startReceiver()]
    const { id, secret: old } = await hook(shop, `${to.url}/in`)
    const { data } = (await shop.account.post(`/webhooks/${id}/rotate-secret`)).body
    expect(data.secret).not.toBe(old)
    const post = deliverer()
    await tell(shop, { n: 1 })
    await post.settle()
    expect(verify(old, to.calls[0]!)).toEqual(verify(data.secret, to.calls[0]!))
    await w.db`update account_webhook set previous_secret_until = now() - interval '1 second' where id = ${id}`
    await tell(shop, { n: 2 })
    await post.settle()
    expect(() => verify(old, to.calls[1]!)).toThrow()
    verify(data.secret, to.calls[1]!)
  })
})

describe('replay', () => {
  test('sends one event again, or all since a time, with the ids they had and in order', async () => {
    const [shop, to] = [await w.business(), await startReceiver()]
    const { id } = await hook(shop, `${to.url}/in`)
    const post = deliverer()
    const start = Date.now()
    const day = (n: number) => new Date(start - (10 - n) * 86_400_000)
    await tell(shop, ...[1, 2, 3, 4].map(n => ({ n, at: day(n) })))
    await post.settle()
    const ids = to.calls.map(call => call.id)
    const one = await shop.account.post(`/webhooks/${id}/replay`, { eventId: ids[1] })
    expect(one.body.data).toEqual({ queued: 1 })
    await post.settle()
    expect(to.calls.slice(4).map(call => call.id)).toEqual([ids[1]])
    // The ids say when the events were written, just now; the events tell older times.
    const test = await shop.account.post(`/webhooks/${id}/replay`, { since: new Date(Date.now() + hour).toISOString() })
    expect(test.body.data).toEqual({ queued: 0 })
    const all = await shop.account.post(`/webhooks/${id}/replay`, { since: day(3).toISOString() })
    expect(all.body.data).toEqual({ queued: 2 })
    await post.settle()
    expect(to.calls.slice(5).map(call => call.id)).toEqual(ids.slice(2))
    expect((await deliveries(shop, id)).map((each: { attempts: number }) => each.attempts)).toEqual([2, 2, 2, 1])
  })
})
