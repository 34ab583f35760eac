import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { emit, type NewEvent } from '../../src/platform/events.ts'
import { compileValidator } from '../../src/platform/validation.ts'
import { type TestBusiness, type World, world } from '../world.ts'

let w: World
let port: number
beforeAll(async () => {
  w = await world()
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  port = (w.app.server.address() as AddressInfo).port
})
afterAll(() => w.close())

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const tell = (shop: TestBusiness, ...events: (Partial<NewEvent> & { n: number })[]) =>
  w.db.begin(tx =>
    emit(
      tx,
      ...events.map(({ n, ...event }) => ({
        businessId: shop.id,
        type: 'webhook_test',
        source: 'api' as const,
        objectId: 'object',
        data: { n },
        ...event,
      })),
    ),
  )
const numbers = (events: { data: { n: number } }[]) => events.map(event => event.data.n)

describe('GET /events', () => {
  test('answers every field', async () => {
    const shop = await w.business()
    await tell(shop, { n: 1, source: 'scheduler', at: new Date('2026-02-03T04:05:06.007Z') })
    const { status, body } = await shop.account.get('/events')
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      status: 'success',
      message: 'Events',
      data: {
        events: [
          {
            id: expect.stringMatching(/^[0-9a-f]{24}$/),
            cursor: '1',
            event_type: 'webhook_test',
            event_source: 'scheduler',
            data: { n: 1 },
            create_time: '2026-02-03T04:05:06.007+00:00',
          },
        ],
        nextCursor: '1',
        hasMore: false,
      },
    })
  })

  test('is empty for a new business, and never shows another one’s', async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    await tell(theirs, { n: 1 })
    expect((await mine.account.get('/events')).body.data).toEqual({ events: [], nextCursor: '0', hasMore: false })
    expect((await mine.account.get('/events?after=17')).body.data).toEqual({
      events: [],
      nextCursor: '17',
      hasMore: false,
    })
  })

  test('pages by cursor and filters by type', async () => {
    const shop = await w.business()
    await tell(
      shop,
      ...Array.from({ length: 250 }, (_, n) => ({ n, type: n % 50 ? 'webhook_test' : 'webhook_disabled' })),
    )
    const first = (await shop.account.get('/events')).body.data
    expect([first.events.length, first.hasMore, first.nextCursor]).toEqual([100, true, '100'])
    const capped = (await shop.account.get('/events?limit=5000')).body.data
    expect(capped.events.length).toBe(100)
    const last = (await shop.account.get('/events?after=248&limit=2')).body.data
    expect([numbers(last.events), last.hasMore]).toEqual([[248, 249], false])
    const rare = (await shop.account.get('/events?types=webhook_disabled&limit=3')).body.data
    expect([numbers(rare.events), rare.hasMore]).toEqual([[0, 50, 100], true])
    const rest = (await shop.account.get(`/events?types=webhook_disabled&after=${rare.nextCursor}`)).body.data
    expect([numbers(rest.events), rest.hasMore]).toEqual([[150, 200], false])
    const both = (await shop.account.get('/events?types=webhook_disabled,%20webhook_test&after=98&limit=4')).body.data
    expect(numbers(both.events)).toEqual([98, 99, 100, 101])
    for (const types of ['types=webhook_disabled&types=webhook_test', 'types[]=webhook_disabled&types[]=webhook_test'])
      expect((await shop.account.get(`/events?${types}&after=98&limit=4`)).body.data).toEqual(both)
    expect((await shop.account.get('/events?types=*&limit=1')).body.data.events.length).toBe(1)
  })

  test.each([
    'after=x',
    'after=-1',
    'after=1.5',
    'after=9999999999999999999',
    'limit=0',
    'limit=x',
    'types=nothing',
    'types=',
  ])('refuses %s', async query => {
    const shop = await w.business()
    const { status, body } = await shop.account.get(`/events?${query}`)
    expect([status, body.code]).toEqual([400, 'validation_failed'])
    if (!query.startsWith('limit')) expect((await shop.account.get(`/events/stream?${query}`)).status).toBe(400)
  })
})

describe('GET /events/types', () => {
  test('lists every type of every service with schema and example, and the docs page shows them', async () => {
    const shop = await w.business()
    const { types } = (await shop.account.get('/events/types')).body.data
    const all = w.services.flatMap(service =>
      service.eventTypes.map(one => ({ service: service.name, type: one.type })),
    )
    expect(types.map(({ service, type }: { service: string; type: string }) => ({ service, type }))).toEqual(all)
    expect(new Set(all.map(one => one.type)).size).toBe(all.length)
    const page = (await w.app.inject('/docs')).body
    for (const { type, summary, schema, example } of types) {
      expect(type).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(summary.length).toBeGreaterThan(10)
      expect(schema.type ?? schema.anyOf ?? schema.allOf).toBeDefined()
      expect(Object.keys(example).length).toBeGreaterThan(0)
      expect([type, compileValidator(schema, 'body')(example).error?.message]).toEqual([type, undefined])
      expect(page).toContain(`id="event-${type}"`)
    }
  })
})

/** Reads a stream as a browser's EventSource would; `text` is all that came. */
function listen(shop: TestBusiness, path = '', headers: Record<string, string> = {}) {
  const seen = { status: 0, type: '', text: '', ended: false, close: () => {}, pause: () => {}, resume: () => {} }
  const request = get(
    {
      port,
      host: '127.0.0.1',
      path: `/account/api/v1/events/stream${path}`,
      headers: { authorization: shop.account.authorization, ...headers },
    },
    response => {
      seen.status = response.statusCode ?? 0
      seen.type = String(response.headers['content-type'])
      seen.pause = () => response.pause()
      seen.resume = () => response.resume()
      response.setEncoding('utf8')
      response.on('data', chunk => (seen.text += chunk))
      response.on('close', () => {
        seen.ended = true
      })
    },
  )
  request.on('error', () => {})
  seen.close = () => request.destroy()
  cleanups.push(seen.close)
  return seen
}
const eventsOf = (text: string) =>
  [...text.matchAll(/^id: (\d+)\nevent: (\w+)\ndata: (.*)$/gm)].map(match => ({
    ...JSON.parse(match[3] ?? ''),
    id: match[1],
    type: match[2],
  }))

describe('GET /events/stream', () => {
  test('tells what happens from now on, as it happens, and only what was chosen', async () => {
    const shop = await w.business()
    await tell(shop, { n: 1 })
    const [all, some] = [listen(shop), listen(shop, '?types=webhook_disabled')]
    await expect.poll(() => all.status && some.status).toBe(200)
    expect(all.type).toBe('text/event-stream')
    await tell(shop, { n: 2 }, { n: 3, type: 'webhook_disabled' })
    await expect.poll(() => eventsOf(all.text).length).toBe(2)
    expect(eventsOf(all.text)).toMatchObject([
      { id: '2', type: 'webhook_test', cursor: '2', event_type: 'webhook_test', data: { n: 2 } },
      { id: '3', type: 'webhook_disabled', data: { n: 3 } },
    ])
    await expect.poll(() => numbers(eventsOf(some.text))).toEqual([3])
  })

  test('goes on without a gap after Last-Event-ID, however much was missed', async () => {
    const shop = await w.business()
    await tell(shop, ...Array.from({ length: 700 }, (_, n) => ({ n })))
    const stream = listen(shop, '?after=500', { 'last-event-id': '5' })
    await expect.poll(() => eventsOf(stream.text).length).toBe(695)
    expect(numbers(eventsOf(stream.text))).toEqual(Array.from({ length: 695 }, (_, i) => i + 5))
    const later = listen(shop, '?after=698')
    await expect.poll(() => numbers(eventsOf(later.text))).toEqual([698, 699])
    expect((await shop.account.get('/events/stream', { 'last-event-id': 'x' })).status).toBe(400)
  })

  test('a reader that reads slowly misses nothing and holds up no other', async () => {
    const shop = await w.business()
    const big = 'x'.repeat(20_000)
    const slow = listen(shop, '?after=0')
    await expect.poll(() => slow.status).toBe(200)
    slow.pause()
    const quick = listen(shop, '?after=0')
    await tell(shop, ...Array.from({ length: 600 }, (_, n) => ({ n, data: { n, big } })))
    await expect.poll(() => eventsOf(quick.text).length, { timeout: 10_000 }).toBe(600)
    expect(eventsOf(slow.text).length).toBeLessThan(600)
    slow.resume()
    await expect.poll(() => numbers(eventsOf(slow.text)), { timeout: 10_000 }).toEqual(numbers(eventsOf(quick.text)))
  })

  test('never tells another business’s events, and ends within a second when its key is revoked', async () => {
    const [mine, theirs] = [await w.business(), await w.business()]
    const stream = listen(mine, '?after=0')
    await expect.poll(() => stream.status).toBe(200)
    await tell(theirs, { n: 1 })
    await tell(mine, { n: 2 })
    await expect.poll(() => numbers(eventsOf(stream.text))).toEqual([2])
    const { keys } = (await mine.account.get('/keys')).body.data
    const { id } = keys.find((key: { service: string }) => key.service === 'account')
    await mine.account.delete(`/keys/${id}`)
    await expect.poll(() => stream.ended, { timeout: 1_500 }).toBe(true)
  })

  test('a hundred are open at once, one more is refused, and a closed one makes room', async () => {
    const shop = await w.business()
    const streams = Array.from({ length: 100 }, () => listen(shop))
    await expect.poll(() => streams.filter(stream => stream.status === 200).length, { timeout: 10_000 }).toBe(100)
    expect((await shop.account.get('/events/stream')).body.code).toBe('too_many_streams')
    streams[0]!.close()
    const another = () => {
      const stream = listen(shop)
      return expect
        .poll(() => stream.status)
        .not.toBe(0)
        .then(() => stream.status)
    }
    await expect.poll(another).toBe(200)
  })
})
