import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { emit, type NewEvent } from '../../platform/events.ts'
import { createPublisher, publish } from './publish.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const event = (shop: TestBusiness, n: number, more: Partial<NewEvent> = {}): NewEvent => ({
  businessId: shop.id,
  type: 'webhook_disabled',
  source: 'api',
  objectId: 'object',
  data: { n },
  ...more,
})
const numbers = (answer: { body: { data: { events: { data: { n: number } }[] } } }) =>
  answer.body.data.events.map(one => one.data.n)

describe('the feed', () => {
  test('an event exists exactly when its transaction commits', async () => {
    const shop = await w.business()
    await w.db.begin(tx => emit(tx, event(shop, 1)))
    await expect(
      w.db.begin(async tx => {
        await emit(tx, event(shop, 2))
        throw new Error('changed my mind')
      }),
    ).rejects.toThrow()
    expect(numbers(await shop.account.get('/events'))).toEqual([1])
  })

  test('a reader that follows the cursor misses nothing, however late a transaction commits', async () => {
    const shop = await w.business()
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    let started = () => {}
    const begun = new Promise<void>(resolve => {
      started = resolve
    })
    const slow = w.db.begin(async tx => {
      await emit(tx, event(shop, 1))
      started()
      await held
    })
    await begun
    await w.db.begin(tx => emit(tx, event(shop, 2)))
    const first = await shop.account.get('/events')
    expect(numbers(first)).toEqual([2])
    release()
    await slow
    const second = await shop.account.get(`/events?after=${first.body.data.nextCursor}`)
    expect(numbers(second)).toEqual([1])
    expect(numbers(await shop.account.get(`/events?after=${second.body.data.nextCursor}`))).toEqual([])
  })

  test('the story of one object is told in the order its changes were made, though the later one began earlier', async () => {
    const shop = await w.business()
    const elsewhere = await w.platform.connect({ name: 'elsewhere', max: 1 }).reserve()
    await elsewhere`begin`
    // The transaction that changes the object last is the one that was first to write anything.
    await elsewhere`select pg_current_xact_id()`
    await w.db.begin(tx => emit(tx, event(shop, 1)))
    await emit(elsewhere as never, event(shop, 2))
    await elsewhere`commit`
    elsewhere.release()
    expect(numbers(await shop.account.get('/events'))).toEqual([1, 2])
  })

  test('many writers, many publishers: every event once, in gapless places, each writer in its own order', async () => {
    const shop = await w.business()
    const publisher = [createPublisher(w.db, () => new Date()), createPublisher(w.db, () => new Date())]
    let writing = true
    const publishing = publisher.map(async one => {
      while (writing) await one.round()
    })
    await Promise.all(
      [0, 1, 2, 3].map(async writer => {
        for (let n = 0; n < 40; n++)
          await w.db.begin(tx => emit(tx, event(shop, n, { objectId: `object ${writer}`, data: { n, writer } })))
      }),
    )
    writing = false
    await Promise.all(publishing)
    await publish(w.db, [shop.id], new Date())
    const rows = await w.db<{ position: number; data: { n: number; writer: number } }[]>`
      select position::int as position, data from event where business_id = ${shop.id} order by position`
    expect(rows.map(row => row.position)).toEqual(Array.from({ length: 160 }, (_, i) => i + 1))
    for (const writer of [0, 1, 2, 3])
      expect(rows.filter(row => row.data.writer === writer).map(row => row.data.n)).toEqual(
        Array.from({ length: 40 }, (_, i) => i),
      )
  })

  test('thousands of events in one call keep their order and what JSON can hold', async () => {
    const shop = await w.business()
    const strange = { quote: '"\'\\', lines: 'a\nb', half: '\ud800', empty: {}, list: [1, null], zero: '\u0000' }
    await w.db.begin(tx =>
      emit(tx, ...Array.from({ length: 12_000 }, (_, n) => event(shop, n, { data: { n, strange } }))),
    )
    const seen: number[] = []
    for (let after = '0'; ; ) {
      const { data } = (await shop.account.get(`/events?after=${after}&limit=100`)).body
      seen.push(...data.events.map((one: { data: { n: number } }) => one.data.n))
      after = data.nextCursor
      expect(data.events[0].data.strange).toEqual(strange)
      if (!data.hasMore) break
    }
    expect(seen).toEqual(Array.from({ length: 12_000 }, (_, i) => i))
  })
})
