import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { type BuiltPlatform, buildPlatform } from '../../src/platform/build.ts'
import { readConfig } from '../../src/platform/config.ts'
import { claimDataFolder, type DataFolder, openDataFolder } from '../../src/platform/data-folder.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts'
import { createLog } from '../../src/platform/log.ts'
import { buildTemplate } from '../template.ts'
import { audit, complete, countingSink, endAll, type Ground, launch, startWorkers } from './email-campaign.ts'

/** A database of its own, because it is stopped: a campaign waits for it, and goes on as if nothing had been. */
let folder: DataFolder
let release: () => Promise<void>
let server: EmbeddedPostgres
let platform: BuiltPlatform
let ground: Ground

beforeAll(async () => {
  folder = await openDataFolder(await mkdtemp(join(tmpdir(), 'pennypost-test-')))
  release = await claimDataFolder(folder)
  server = await startEmbeddedPostgres(folder)
  await buildTemplate(server.url)
  platform = await buildPlatform(readConfig({ PENNYPOST_RATE_LIMIT: '0' }), {
    databaseUrl: server.url,
    masterKey: Buffer.alloc(32, 7),
    worker: false,
    log: createLog('silent'),
  })
  ground = { db: platform.db, platform, databaseUrl: server.url }
})
afterEach(endAll)
afterAll(async () => {
  await platform.close()
  await server.stop()
  await release()
  await rm(folder.path, { recursive: true, force: true })
})

test('a campaign goes on when its database was stopped and started again, twice', { timeout: 90_000 }, async () => {
  const people = 12_000
  const connections = 10
  const [worker] = startWorkers(ground, 1)
  const { sink, arrivals, total } = await countingSink()
  const { businessId, userId } = await createAccount(platform.db, {
    email: 'chaos@example.com',
    business: { name: 'Chaos', testMode: false, timeZone: 'UTC', currency: 'USD' },
    publicUrl: '',
  })
  const business = { id: businessId, userId, name: 'Chaos', timeZone: 'UTC', currency: 'USD', testMode: false }
  const launched = await launch(ground, business, { people, port: sink.port, connections })
  await worker?.go()
  const stops = [2_000, 6_000]
  for (const goal of stops) {
    await expect.poll(total, { timeout: 30_000, interval: 5 }).toBeGreaterThan(goal)
    await server.stop()
    const during = total()
    server = await startEmbeddedPostgres(folder)
    // Without a database nothing more than what was under way can have gone out.
    expect(total() - during).toBeLessThanOrEqual(connections)
  }
  await complete(ground, launched, 60_000)
  expect(await worker?.end('SIGTERM')).toBe(0)
  const { count } = await audit(ground, launched, people, arrivals)
  expect(count('sent') + count('unknown')).toBe(people)
  expect(arrivals.size).toBe(people)
  expect(total() - people).toBeLessThanOrEqual(stops.length * connections)
})
