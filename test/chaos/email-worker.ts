import { once } from 'node:events'
import { createEngine } from '../../src/email/delivery/engine.ts'
import { buildPlatform } from '../../src/platform/build.ts'
import { readConfig } from '../../src/platform/config.ts'
import { createLog } from '../../src/platform/log.ts'

/**
 * A worker process that only sends, to be killed by tests: node email-worker.ts <database url> <milliseconds until a
 * deferral is due>. It says "ready" and begins when it is told "go".
 */
const [databaseUrl = '', deferMs = ''] = process.argv.slice(2)
const platform = await buildPlatform(readConfig({ PENNYPOST_POOL_SIZE: '4' }), {
  databaseUrl,
  masterKey: Buffer.alloc(32, 7),
  worker: false,
  log: createLog(process.env.TEST_LOG ?? 'silent'),
})
const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdin.destroy()
await createEngine(platform, {
  leaseMs: 3_000,
  pollMs: 200,
  ...(deferMs && { deferMs: () => Number(deferMs) }),
}).run(stop.signal)
await platform.close()
