import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Client } from 'undici'
import { openDataFolder, readMasterKey } from '../src/platform/data-folder.ts'
import { connect, type Database } from '../src/platform/database.ts'
import { findEmbeddedPostgres, urlOf } from '../src/platform/embedded-postgres.ts'
import { emit } from '../src/platform/events.ts'
import { createAccount, freePort, makeDataFolder, removeDataFolder, startProgram } from '../test/program.ts'
import { table } from './measure.ts'

/** What telling costs a request, how many deliveries a second one worker makes, and whether dead endpoints delay live ones. */
const seconds = Number(process.env.BENCH_SECONDS ?? 4)
const only = process.env.BENCH_ONLY
const data = await makeDataFolder()
const program = await startProgram({ data, env: { PENNYPOST_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1/32' } })
const first = await createAccount(data)
const folder = await openDataFolder(data)
const connection = await findEmbeddedPostgres(folder)
if (!connection) throw new Error('The embedded server was not found.')
const db = connect(urlOf(connection), { name: 'bench', max: 4 }) as unknown as Database & { end(): Promise<void> }

interface Shop {
  businessId: string
  apiKey: string
}
const start = async (file: string, ...args: string[]) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}
const call = async (shop: Shop, path: string, body: object) => {
  const response = await fetch(`${program.url}/account/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shop.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(await response.text())
  return ((await response.json()) as { data: { business: { id: string }; account: { apiKey: string } } }).data
}
const owner: Shop = { businessId: first.businessId, apiKey: first.account.apiKey }
const newShop = async (): Promise<Shop> => {
  const made = await call(owner, '/businesses', { name: 'Bench' })
  return { businessId: made.business.id, apiKey: made.account.apiKey }
}
const receiverPort = await freePort()
const receiver = await start('part-events-receiver.ts', String(receiverPort))
const at = (path: string) => `http://127.0.0.1:${receiverPort}${path}`
const report = async (): Promise<{ latencies: number[]; firstAt: number; lastAt: number }> =>
  (await fetch(at('/report'))).json() as never
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const tell = (shop: Shop, count: number, objects: number) =>
  db.begin(tx =>
    emit(
      tx,
      ...Array.from({ length: count }, (_, n) => ({
        businessId: shop.businessId,
        type: 'webhook_test',
        source: 'api' as const,
        objectId: `object ${n % objects}`,
        data: { sentAt: Date.now(), n, note: 'x'.repeat(300) },
      })),
    ),
  )
const percentile = (sorted: number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

/** Requests in turn over one connection, so that what else the machine does hurts both alike; its quick tenth shows them undisturbed. */
async function cost(): Promise<void> {
  const port = await freePort()
  const key = (await readMasterKey(folder)).toString('hex')
  const app = await start('part-events-app.ts', urlOf(connection!), key, String(port))
  const shop = await newShop()
  const client = new Client(`http://127.0.0.1:${port}`)
  const once = async (path: string) => {
    const from = performance.now()
    const { statusCode, body } = await client.request({
      path: `/bench/${path}`,
      method: 'POST',
      headers: { authorization: `Bearer ${shop.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'thing' }),
    })
    if (statusCode !== 200) throw new Error(await body.text())
    await body.dump()
    return performance.now() - from
  }
  const rows = []
  for (const size of ['small', 'usual']) {
    const seen: Record<string, number[]> = { quiet: [], telling: [] }
    const until = performance.now() + seconds * 2_000
    for (let n = 0; performance.now() < until; n++)
      for (const [name, times] of Object.entries(seen)) {
        const ms = await once(`${size}-${name}`)
        if (n >= 50) times.push(ms)
      }
    for (const times of Object.values(seen)) times.sort((x, y) => x - y)
    for (const part of [0.1, 0.5]) {
      const [quiet = 0, telling = 0] = Object.values(seen).map(times => percentile(times, part))
      rows.push({
        request: size,
        of: part === 0.5 ? 'median' : 'quick tenth',
        'quiet ms': quiet.toFixed(2),
        'telling ms': telling.toFixed(2),
        cost: `${((100 * (telling - quiet)) / quiet).toFixed(1)} %`,
      })
    }
  }
  await client.close()
  app.kill()
  table(rows)
}

async function throughput(): Promise<void> {
  const rows = []
  for (const [endpoints, objects] of [
    [1, 1_000],
    [20, 50],
  ] as const) {
    const shop = await newShop()
    for (let i = 0; i < endpoints; i++) await call(shop, '/webhooks', { url: at(`/live/${i}`) })
    const count = Math.round((seconds * 4_000) / endpoints)
    await report()
    await tell(shop, count, objects)
    let got = 0
    let firstAt = 0
    for (;;) {
      await sleep(250)
      const seen = await report()
      got += seen.latencies.length
      firstAt ||= seen.firstAt
      if (got >= count * endpoints) {
        rows.push({ endpoints, deliveries: got, 'deliveries/s': Math.round((got * 1_000) / (seen.lastAt - firstAt)) })
        break
      }
    }
  }
  table(rows)
}

async function halfDead(): Promise<void> {
  const shops: Shop[] = []
  for (let i = 0; i < 20; i++) {
    const shop = await newShop()
    shops.push(shop)
    for (let n = 0; n < 50; n++) await call(shop, '/webhooks', { url: at(`/${n % 2 ? 'hang' : 'live'}/${i}/${n}`) })
  }
  const rows = []
  await report()
  for (let second = 1; second <= 12; second++) {
    await Promise.all(shops.map(shop => tell(shop, 1, 1)))
    await sleep(2_500)
    const latencies = (await report()).latencies.sort((a, b) => a - b)
    rows.push({
      second,
      'live endpoints served': latencies.length,
      'p50 ms': percentile(latencies, 0.5),
      'p99 ms': percentile(latencies, 0.99),
      'slowest ms': latencies.at(-1) ?? 0,
    })
  }
  table(rows)
}

const parts = { cost, throughput, halfDead }
for (const [name, run] of Object.entries(parts)) if (!only || only === name) await run()
receiver.kill()
await db.end()
await program.stop()
await removeDataFolder(data)
