import { Worker } from 'node:worker_threads'
import type { FastifyInstance } from 'fastify'
import { createAccount } from '../src/accounts/accounts.ts'
import { createAuthenticate } from '../src/accounts/authenticate.ts'
import { createApp } from '../src/app.ts'
import { audit } from '../src/billing/audit.ts'
import type { BuiltPlatform } from '../src/platform/build.ts'
import { chooseServices } from '../src/services.ts'
import { table } from './measure.ts'
import type { Load } from './part-billing-load.ts'
import { childrenOf, familyCpuSeconds } from './part-processes.ts'

type Call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => Promise<Response>

async function serve(platform: BuiltPlatform) {
  const services = chooseServices(['billing'], () => platform)
  const app = createApp({
    platform,
    services,
    authenticate: createAuthenticate(platform.db),
    metricsText: async () => '',
  }) as FastifyInstance
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/billing/api/v1`
  const made = await createAccount(platform.db, {
    email: `bench-${Math.random()}@example.com`,
    business: { name: 'Bench' },
    publicUrl: '',
  })
  const { apiKey, secretKey } = made.billing
  const authorization = `Basic ${Buffer.from(`${apiKey}:${secretKey}`).toString('base64')}`
  const call: Call = (method, path, body) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const must = async (answer: Promise<Response>) => {
    const response = await answer
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return JSON.parse(text).data
  }
  return { app, call, must, businessId: made.businessId, url, authorization }
}

async function shop(call: Call, must: (answer: Promise<Response>) => Promise<{ id: string }>) {
  const product = await must(call('POST', '/product/create', { product_name: 'Box' }))
  const plan = (price: number) =>
    must(
      call('POST', '/plan/create', { product_id: product.id, plan_name: `P${price}`, plan_code: `p${price}`, price }),
    )
  return { low: await plan(30), high: await plan(50) }
}

const card = { number: '4242424242424242', exp_month: 12, exp_year: 2060, cvc: '123' }

const load = (work: Load) =>
  new Promise<{ times: number[]; seconds: number }>((resolve, reject) => {
    new Worker(new URL('./part-billing-load.ts', import.meta.url), { workerData: work })
      .once('message', resolve)
      .once('error', reject)
  })

/**
 * Plan changes at a steady rate, each on a subscription of its own: drafted, charged, applied. The first ones warm the
 * program up, and the database knows its tables, as both do when they have run for a few minutes.
 */
export async function changes(platform: BuiltPlatform): Promise<void> {
  const { app, call, must, businessId, url, authorization } = await serve(platform)
  const { low, high } = await shop(call, must)
  const warming = 600
  const count = Number(process.env.BENCH_CHANGES ?? 900)
  const ids: string[] = []
  for (let n = 0; n < warming + count; n++)
    ids.push((await must(call('POST', '/subscription', { email_id: `c${n}@example.com`, plan_id: low.id, card }))).id)
  const body = JSON.stringify({ plan_id: high.id, payment_mode: 'credit_card' })
  const requests = ids.map(id => ({ method: 'PUT', url: `${url}/subscription/${id}/upgrade-downgrade`, body }))
  // What the database learns makes it plan every statement anew, on every connection: that is warming up, too.
  const half = warming / 2
  await load({ requests: requests.slice(0, half), authorization, perSecond: 75 })
  await platform.db`analyze`
  await load({ requests: requests.slice(half, warming), authorization, perSecond: 75 })
  const perSecond = Number(process.env.BENCH_RATE ?? 150)
  const before = cpuMs()
  const { times, seconds } = await load({ requests: requests.slice(warming), authorization, perSecond })
  const after = cpuMs()
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.floor(times.length * part)]!.toFixed(1)
  console.log('')
  table([
    {
      'plan changes': count,
      'asked a second': perSecond,
      'made a second': Math.round(count / seconds),
      'p50 ms': at(0.5),
      'p99 ms': at(0.99),
      'program CPU ms': ((after.program - before.program) / count).toFixed(1),
      'PostgreSQL CPU ms': ((after.database - before.database) / count).toFixed(1),
    },
  ])
  await sound(platform, businessId)
  await app.close()
}

/** Of the thread that answers, and of the database with all its sessions. */
function cpuMs(): { program: number; database: number } {
  const { user, system } = process.threadCpuUsage()
  const servers = childrenOf(process.pid).map(familyCpuSeconds)
  return { program: (user + system) / 1_000, database: servers.reduce((sum, one) => sum + one, 0) * 1_000 }
}

/** A thousand refunds of one payment at once: accepted ones add up to the payment, and the gateway gave back no more. */
export async function refunds(platform: BuiltPlatform): Promise<void> {
  const { app, call, must, businessId } = await serve(platform)
  const { low } = await shop(call, must)
  await must(call('POST', '/subscription', { email_id: 'r@example.com', plan_id: low.id, card }))
  const [payment] = await platform.db<{ id: string }[]>`
    select id from billing_transaction where business_id = ${businessId} and type = 'payment'`
  const from = performance.now()
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, () => call('POST', `/transaction/refund/${payment!.id}`, { amount: 0.07 })),
  )
  const seconds = ((performance.now() - from) / 1_000).toFixed(1)
  const accepted = answers.filter(answer => answer.status === 200).length
  const [given] = await platform.db<{ count: number }[]>`
    select count(*)::int as count from billing_test_charge where business_id = ${businessId} and kind = 'refund'`
  console.log('')
  table([{ refunds: 1_000, seconds, accepted, 'expected (30.00 / 0.07)': 428, 'given by the gateway': given!.count }])
  await sound(platform, businessId)
  await app.close()
}

async function sound(platform: BuiltPlatform, businessId: string): Promise<void> {
  const findings = await audit(platform.db, businessId)
  if (findings.length > 0) throw new Error(findings.join('\n'))
}
