import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../../test/world.ts'
import { emit } from '../../platform/events.ts'
import { publish } from '../events/publish.ts'
import { purgeEvents } from './jobs.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const day = 86_400_000

test('events and their deliveries go after 30 days, except what an enabled endpoint waits for', async () => {
  const shop = await w.business({ testMode: true })
  const urls = ['https://192.0.43.7/waits', 'https://192.0.43.7/disabled']
  const [waits, disabled] = await Promise.all(
    urls.map(async url => (await shop.account.post('/webhooks', { url, types: ['webhook_test'] })).body.data.id),
  )
  const tell = (type: string) =>
    w.db.begin(tx =>
      // A test clock far back in the past: what counts is when the event was written.
      emit(tx, {
        businessId: shop.id,
        type,
        source: 'api',
        objectId: 'o',
        data: {},
        at: new Date('2001-01-01T00:00:00Z'),
      }),
    )
  await tell('webhook_test')
  await tell('webhook_disabled')
  await publish(w.db, [shop.id], new Date())
  await shop.account.post(`/webhooks/${disabled}/disable`)
  const kept = async () => ({
    events: (await shop.account.get('/events')).body.data.events.map(
      (event: { event_type: string }) => event.event_type,
    ),
    waits: (await shop.account.get(`/webhooks/${waits}/deliveries`)).body.data.deliveries.length,
    disabled: (await shop.account.get(`/webhooks/${disabled}/deliveries`)).body.data.deliveries.length,
  })
  await purgeEvents(w.db, new Date(Date.now() + 29 * day))
  expect(await kept()).toEqual({ events: ['webhook_test', 'webhook_disabled'], waits: 1, disabled: 1 })
  await purgeEvents(w.db, new Date(Date.now() + 31 * day))
  expect(await kept()).toEqual({ events: ['webhook_test'], waits: 1, disabled: 0 })
  await w.db`update account_webhook_delivery set state = 'delivered' where endpoint_id = ${waits}`
  await purgeEvents(w.db, new Date(Date.now() + 31 * day))
  expect(await kept()).toEqual({ events: [], waits: 0, disabled: 0 })
  await tell('webhook_test')
  expect((await shop.account.get('/events')).body.data).toMatchObject({ nextCursor: '3' })
})
