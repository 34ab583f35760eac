import type { FastifyInstance } from 'fastify'
import { createAccount } from '../src/accounts/accounts.ts'
import { createAuthenticate } from '../src/accounts/authenticate.ts'
import { createApp } from '../src/app.ts'
import { audit } from '../src/billing/audit.ts'
import type { BuiltPlatform } from '../src/platform/build.ts'
import { chooseServices } from '../src/services.ts'
import { table } from './measure.ts'

type Call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => Promise<Response>

async function serve(platform: BuiltPlatform) {
  const services = chooseServices(['billing'], () => platform)
  const app = createApp({
    platform,
    services,
    authenticate: createAuthenticate(platform.db),
    metricsText: async () => '',
  }) as FastifyInstance
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const made = await createAccount(platform.db, {
    email: `bench-${Math.random()}@example.com`,
    business: { name: 'Bench' },
    publicUrl: '',
  })
  const { apiKey, secretKey } = made.billing
  const authorization = `Basic ${Buffer.from(`${apiKey}:${secretKey}`).toString('base64')}`
  const call: Call = (method, path, body) =>
    fetch(`${url}/billing/api/v1${path}`, {
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
  return { app, call, must, businessId: made.businessId }
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

/** Plan changes at a steady 150 requests a second, each on a subscription of its own: drafted, charged, applied. */
export async function changes(platform: BuiltPlatform): Promise<void> {
  const { app, call, must, businessId } = await serve(platform)
  const { low, high } = await shop(call, must)
  const count = Number(process.env.BENCH_CHANGES ?? 600)
  const ids: string[] = []
  for (let n = 0; n < count; n++)
    ids.push((await must(call('POST', '/subscription', { email_id: `c${n}@example.com`, plan_id: low.id, card }))).id)
  const perSecond = 150
  const times: number[] = []
  const start = performance.now()
  await Promise.all(
    ids.map(async (id, n) => {
      await new Promise(resolve => setTimeout(resolve, (n * 1_000) / perSecond))
      const from = performance.now()
      await must(
        call('PUT', `/subscription/${id}/upgrade-downgrade`, { plan_id: high.id, payment_mode: 'credit_card' }),
      )
      times.push(performance.now() - from)
    }),
  )
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.floor(times.length * part)]!.toFixed(1)
  const rate = Math.round((count / (performance.now() - start)) * 1_000)
  console.log('')
  table([{ 'plan changes': count, 'per second': rate, 'p50 ms': at(0.5), 'p99 ms': at(0.99) }])
  await sound(platform, businessId)
  await app.close()
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
