import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDataFolder } from '../src/platform/data-folder.ts'
import { findEmbeddedPostgres, urlOf } from '../src/platform/embedded-postgres.ts'
import { createAccount, freePort, makeDataFolder, removeDataFolder, startProgram } from '../test/program.ts'
import { compare, table } from './measure.ts'

/** The whole stack against a bare Fastify route with the same statement; start times; idle memory. */
const seconds = Number(process.env.BENCH_SECONDS ?? 4)
const data = await makeDataFolder()
const times: Record<string, string | number>[] = []
const timed = async (what: string) => {
  const from = performance.now()
  const program = await startProgram({ data })
  times.push({ start: what, ms: Math.round(performance.now() - from) })
  return program
}
await (await timed('first')).stop()
const program = await timed('second')
const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${program.child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
const account = await createAccount(data)
const connection = await findEmbeddedPostgres(await openDataFolder(data))
if (!connection) throw new Error('The embedded server was not found.')
const port = await freePort()
const bare = spawn(process.execPath, [join(import.meta.dirname, 'bare.ts'), urlOf(connection), String(port)], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
await once(bare.stdout, 'data')

const seen = await compare(3, {
  bare: { url: `http://127.0.0.1:${port}/business/${account.businessId}`, seconds },
  whole: {
    url: `${program.url}/account/api/v1/business`,
    headers: { authorization: `Bearer ${account.account.apiKey}` },
    seconds,
  },
})
bare.kill()
await program.stop()
await removeDataFolder(data)
table(
  Object.entries(seen).map(([name, { perSecond, p50, p99, errors }]) => ({
    route: name,
    'requests/s': perSecond,
    'p50 ms': p50,
    'p99 ms': p99,
    errors,
  })),
)
console.log(
  `\nThe whole stack reaches ${Math.round((100 * (seen.whole?.perSecond ?? 0)) / (seen.bare?.perSecond ?? 1))} % of the bare route.\n`,
)
table(times)
console.log(`\nIdle memory of the Node process: ${Math.round(memory)} MB`)
