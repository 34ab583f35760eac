import { afterAll, beforeAll, expect, test } from 'vitest'
import { emit } from '../../src/platform/events.ts'
import { makeDataFolder, type Program, removeDataFolder, startProgram } from '../program.ts'
import { type ReceivedCall, startReceiver, verify } from '../receiver.ts'
import { type World, world } from '../world.ts'

let w: World
let data: string
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1/32'] })
  data = await makeDataFolder()
})
afterAll(async () => {
  await removeDataFolder(data)
  await w.close()
})

const worker = (): Promise<Program> =>
  startProgram({
    data,
    args: ['--role', 'worker'],
    env: {
      DATABASE_URL: w.databaseUrl,
      PENNYPOST_SECRET_KEY: '07'.repeat(32),
      PENNYPOST_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1/32',
    },
  })

test('kill -9 while delivering: nothing is lost, what comes twice has the same id and bytes, objects keep their order', async () => {
  const shop = await w.business()
  const to = await startReceiver((_, response) => void setTimeout(() => response.writeHead(200).end(), 10))
  const hooks = await Promise.all(
    ['/a', '/b', '/c'].map(async path => ({
      path,
      ...((await shop.account.post('/webhooks', { url: to.url + path })).body.data as { id: string; secret: string }),
    })),
  )
  const count = 400
  const objects = 20
  const first = await worker()
  const second = await worker()
  try {
    // In small transactions, so that the kill also falls between placing events and sending them.
    const telling = (async () => {
      for (let n = 0; n < count; n++)
        await w.db.begin(tx =>
          emit(tx, {
            businessId: shop.id,
            type: 'webhook_test',
            source: 'api',
            objectId: `object ${n % objects}`,
            data: { n },
          }),
        )
    })()
    await expect.poll(() => to.calls.length, { timeout: 20_000, interval: 5 }).toBeGreaterThan(60)
    await first.kill()
    await telling
    const arrived = (path: string) => new Set(to.to(path).map(call => call.id)).size
    await expect.poll(() => hooks.map(({ path }) => arrived(path)), { timeout: 40_000 }).toEqual([count, count, count])
    await expect
      .poll(
        async () =>
          (await w.db`select 1 from account_webhook_delivery where business_id = ${shop.id} and state <> 'delivered'`)
            .length,
        { timeout: 20_000 },
      )
      .toBe(0)
    for (const { path, secret } of hooks) {
      const calls = to.to(path)
      const firsts = calls.filter((call, index) => calls.findIndex(other => other.id === call.id) === index)
      expectOrder(firsts, objects)
      for (const call of calls) {
        expect(call.body).toBe(firsts.find(one => one.id === call.id)?.body)
        verify(secret, call)
      }
    }
  } finally {
    if (first.child.exitCode === null && first.child.signalCode === null) await first.stop()
    expect(await second.stop()).toBe(0)
  }
}, 90_000)

/** Of each object, events came first in the order they happened. */
function expectOrder(calls: ReceivedCall[], objects: number): void {
  for (let object = 0; object < objects; object++) {
    const seen = calls.map(call => call.event.data.n as number).filter(n => n % objects === object)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
  }
}
