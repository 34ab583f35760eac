import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { publish } from '../../src/accounts/events/publish.ts'
import { createDeliverer } from '../../src/accounts/webhooks/deliver.ts'
import { emit } from '../../src/platform/events.ts'
import { type Behave, startReceiver, verify } from '../receiver.ts'
import { type TestBusiness, type World, world } from '../world.ts'

/** Whatever a receiver does: the others are served meanwhile, nothing is lost, repetitions carry the same id. */
let w: World
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1/32'] })
})
afterAll(() => w.close())

const objects = 5
async function tell(shop: TestBusiness, count: number) {
  await w.db.begin(tx =>
    emit(
      tx,
      ...Array.from({ length: count }, (_, n) => ({
        businessId: shop.id,
        type: 'webhook_test',
        source: 'api' as const,
        objectId: `object ${n % objects}`,
        data: { n },
      })),
    ),
  )
  await publish(w.db, [shop.id], new Date())
}

async function hook(shop: TestBusiness, url: string): Promise<{ id: string; secret: string }> {
  const { status, body } = await shop.account.post('/webhooks', { url })
  expect(status).toBe(200)
  return body.data
}

/** A deliverer that goes on by itself, in a time that can be moved. */
function running() {
  let ahead = 0
  const stop = new AbortController()
  const deliverer = createDeliverer({
    db: w.db,
    outbound: w.platform.outbound,
    platform: w.platform,
    now: () => new Date(Date.now() + ahead),
    timeoutMs: 400,
  })
  const done = deliverer.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await done
  })
  return {
    later(ms: number) {
      ahead += ms
      deliverer.wake()
    },
  }
}

const faults: Record<string, Behave> = {
  'hangs and never answers': () => {},
  'answers 500': (_, response) => void response.writeHead(500).end(),
  'redirects to where it would succeed': (_, response) => void response.writeHead(307, { location: '/healthy' }).end(),
  'trickles its answer byte by byte': (_, response) => {
    response.writeHead(200, { 'content-length': '100000' })
    const timer = setInterval(() => response.write('.'), 50)
    response.on('close', () => clearInterval(timer))
  },
  'cuts the connection': (_, response) => void response.destroy(),
  'answers with endless headers': (_, response) =>
    void response
      .writeHead(500, Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`x-${i}`, 'y'.repeat(400)])))
      .end(),
}

test.each(Object.keys(faults))('an endpoint that %s', async fault => {
  let healthy = false
  const shop = await w.business()
  const ill = await startReceiver((call, response) =>
    healthy || call.path === '/healthy' ? void response.writeHead(200).end() : faults[fault]!(call, response),
  )
  const well = await startReceiver()
  const { id, secret } = await hook(shop, `${ill.url}/ill`)
  await hook(shop, `${well.url}/well`)
  const post = running()
  await tell(shop, 20)
  await expect.poll(() => well.calls.length).toBe(20)
  await expect.poll(() => ill.calls.length).toBeGreaterThan(0)
  await expect
    .poll(async () => (await shop.account.get(`/webhooks/${id}`)).body.data.lastFailureAt, { timeout: 8_000 })
    .not.toBeNull()
  expect(ill.to('/healthy')).toEqual([])
  healthy = true
  await expect
    .poll(
      async () => {
        post.later(5_000)
        const { deliveries } = (await shop.account.get(`/webhooks/${id}/deliveries?state=delivered`)).body.data
        return deliveries.length
      },
      { timeout: 15_000 },
    )
    .toBe(20)
  for (const call of ill.calls) {
    const [first] = ill.calls.filter(one => one.id === call.id)
    expect([call.body, verify(secret, call)]).toEqual([first?.body, first?.event])
  }
  // The last time each came is when it succeeded; these follow the order of their object.
  const last = [...new Map(ill.calls.map(call => [call.event.data.n as number, call])).keys()]
  const arrivals = ill.calls.map(call => call.event.data.n as number)
  const lastArrival = (n: number) => arrivals.lastIndexOf(n)
  expect(last.length).toBe(20)
  for (let n = objects; n < 20; n++) expect(lastArrival(n)).toBeGreaterThan(lastArrival(n - objects))
  expect(well.calls.length).toBe(20)
})

test('an endpoint with a certificate nobody trusts, and one that is no HTTP at all', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pennypost-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  execFileSync(
    'openssl',
    `req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -keyout ${folder}/key -out ${folder}/cert`.split(
      ' ',
    ),
    { stdio: 'ignore' },
  )
  let asked = 0
  const tls = createTlsServer(
    { key: readFileSync(`${folder}/key`), cert: readFileSync(`${folder}/cert`) },
    () => asked++,
  )
  const noise = createServer(socket => {
    socket.on('error', () => {})
    socket.end('SSH-2.0-OpenSSH_9.9\r\n')
  })
  for (const server of [tls, noise]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
  }
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port
  const shop = await w.business()
  const well = await startReceiver()
  const untrusted = await hook(shop, `https://127.0.0.1:${portOf(tls)}/`)
  const babble = await hook(shop, `http://127.0.0.1:${portOf(noise)}/`)
  await hook(shop, `${well.url}/well`)
  running()
  await tell(shop, 3)
  await expect.poll(() => well.calls.length).toBe(3)
  const errorOf = async (id: string) =>
    (await shop.account.get(`/webhooks/${id}/deliveries`)).body.data.deliveries
      .map((one: { answer: { error: string } }) => one.answer.error)
      .find(Boolean)
  await expect.poll(() => errorOf(untrusted.id)).toMatch(/certificate of 127\.0\.0\.1:\d+ is not valid/)
  await expect.poll(() => errorOf(babble.id)).toMatch(/connection to 127\.0\.0\.1:\d+ failed/)
  expect(asked).toBe(0)
})

test('an address that has become private since it was given gets nothing', async () => {
  const shop = await w.business()
  const to = await startReceiver()
  const { id } = await hook(shop, 'https://192.0.43.7/')
  // 127.0.0.2 is not allowed here; it stands for what a name may lead to later.
  await w.db`update account_webhook set url = ${to.url.replace('127.0.0.1', '127.0.0.2')} where id = ${id}`
  running()
  await tell(shop, 1)
  await expect
    .poll(async () => (await shop.account.get(`/webhooks/${id}/deliveries`)).body.data.deliveries[0]?.answer.error)
    .toMatch(/not on the public internet/)
  expect(to.calls.length).toBe(0)
})

test('the database goes away in the middle: deliveries go on when it is back, none is lost', async () => {
  const shop = await w.business()
  const to = await startReceiver((_, response) => void setTimeout(() => response.writeHead(200).end(), 5))
  const { id } = await hook(shop, `${to.url}/in`)
  running()
  await tell(shop, 300)
  await expect.poll(() => to.calls.length).toBeGreaterThan(20)
  const watcher = w.platform.connect({ name: 'watcher', max: 1 })
  for (let round = 0; round < 5; round++) {
    await watcher`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  await expect
    .poll(
      async () =>
        (
          await watcher<{ count: number }[]>`select count(*)::int as count from account_webhook_delivery
          where endpoint_id = ${id} and state = 'delivered'`
        )[0]?.count,
      { timeout: 20_000 },
    )
    .toBe(300)
  expect(new Set(to.calls.map(call => call.id)).size).toBe(300)
})
