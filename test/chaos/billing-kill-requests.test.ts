import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../../src/billing/audit.ts'
import { type FakeGateway, startFakeGateway } from '../fake-gateway.ts'
import { makeDataFolder, type Program, removeDataFolder, startProgram } from '../program.ts'
import { type TestBusiness, type World, world } from '../world.ts'

/**
 * kill -9 of the real program while cards are charged for plan changes and payments are given back. Clients ask again
 * with the keys of their requests; the gateway's journal says that each was charged and given back once.
 */

let w: World
let fake: FakeGateway
let data: string
beforeAll(async () => {
  fake = await startFakeGateway({ delayMs: 20 })
  w = await world({ stripeUrl: fake.url })
  data = await makeDataFolder()
})
afterAll(async () => {
  await w.close()
  await fake.close()
  await removeDataFolder(data)
})

const start = () =>
  startProgram({
    data,
    env: {
      DATABASE_URL: w.databaseUrl,
      PENNYPOST_SECRET_KEY: Buffer.alloc(32, 7).toString('hex'),
      PENNYPOST_STRIPE_URL: fake.url,
      PENNYPOST_DEMO: 'false',
      PENNYPOST_SERVICES: 'billing',
    },
  })

const count = 16
// Some connections break after the gateway took the money, some before.
const tokens = ['pm_ok', 'pm_reset_after', 'pm_ok', 'pm_reset_before']

async function open(): Promise<{ shop: TestBusiness; ids: string[]; high: string }> {
  const shop = await w.business()
  await shop.billing.put('/gateways/stripe', { secret_key: 'sk_test_1', webhook_secret: 'whsec_1' })
  const product = (await shop.billing.post('/product/create', { product_name: 'Box' })).body.data
  const plan = async (price: number) => {
    const fields = { product_id: product.id, plan_name: `P${price}`, plan_code: `p${price}`, price }
    return (await shop.billing.post('/plan/create', fields)).body.data.id as string
  }
  const [low, high] = [await plan(30), await plan(50)]
  const ids = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const order = { email_id: `c${n}@example.com`, plan_id: low, gateway_type: 'stripe', token: tokens[n % 4] }
      const answer = await shop.billing.post('/subscription', order)
      expect(answer.status, answer.text).toBe(200)
      return answer.body.data.id as string
    }),
  )
  return { shop, ids, high }
}

interface Ask {
  method: 'PUT' | 'POST'
  path: string
  body: object
}

/** The same request always has the same key. 0: the program was killed before it answered. */
async function ask(program: Program, shop: TestBusiness, { method, path, body }: Ask): Promise<number> {
  try {
    const answer = await fetch(`${program.url}${shop.billing.baseUrl}${path}`, {
      method,
      body: JSON.stringify(body),
      headers: {
        authorization: shop.billing.authorization,
        'content-type': 'application/json',
        'idempotency-key': path,
      },
    })
    await answer.text()
    return answer.status
  } catch {
    return 0
  }
}

/** What a killed program held is free again, and payments whose outcome is open are asked about. */
async function lapse(shop: TestBusiness): Promise<void> {
  await w.db`update idempotency_key set running_until = now() - interval '1 second' where business_id = ${shop.id}`
  await w.db`update billing_transaction set check_at = now() - interval '1 second' where business_id = ${shop.id} and check_at is not null`
  await w.db`update billing_due set due_at = now() - interval '1 second' where business_id = ${shop.id}`
}

/** Sends all, kills the program when the gateway did some of it, twice; then goes on until everyone has an answer. */
async function disturbed(shop: TestBusiness, asks: readonly Ask[], done: () => number): Promise<void> {
  const before = done()
  for (const killAt of [before + 4, before + 9]) {
    const program = await start()
    const answers = asks.map(one => ask(program, shop, one))
    await expect.poll(done, { timeout: 30_000, interval: 2 }).toBeGreaterThanOrEqual(killAt)
    await program.kill()
    await Promise.all(answers)
    await lapse(shop)
  }
  const program = await start()
  let open = [...asks]
  await expect
    .poll(
      async () => {
        const statuses = await Promise.all(open.map(one => ask(program, shop, one)))
        open = open.filter((_, i) => statuses[i] !== 200)
        if (open.length > 0) await lapse(shop)
        return open.length
      },
      { timeout: 60_000, interval: 200 },
    )
    .toBe(0)
  await program.stop()
}

/** All that customers and books can tell apart, without ids and moments. */
const stateOf = async ({ id }: TestBusiness) => ({
  subscriptions: await w.db`
    select plan_id = (select id from billing_plan where business_id = ${id} and price_minor = 5000) as high, status,
      deferred_minor, count(*)::int from billing_subscription where business_id = ${id} group by 1, 2, 3 order by 1, 2, 3`,
  invoices: await w.db`
    select kind, status, total_minor, paid_minor, refunded_minor, count(*)::int from billing_invoice
    where business_id = ${id} group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`,
  transactions: await w.db`
    select type, state, amount_minor, refunded_minor, refund_pending_minor, count(*)::int from billing_transaction
    where business_id = ${id} group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`,
  ledger: await w.db`
    select sum(receivable)::int8 as receivable, sum(gateway_cash)::int8 as cash, sum(deferred)::int8 as deferred,
      sum(revenue)::int8 as revenue, sum(customer_credit)::int8 as credit, sum(refund_clearing)::int8 as clearing
    from billing_ledger where business_id = ${id}`,
  events: await w.db`
    select type, count(*)::int from event where business_id = ${id} and type ~ '^(subscription|invoice|payment|credit)_'
    group by 1 order by 1`,
})

test('killed amid plan changes and amid refunds, all ends as if nothing had been', { timeout: 240_000 }, async () => {
  const [calm, shaken] = [await open(), await open()]
  const changesOf = ({ ids, high }: typeof calm): Ask[] =>
    ids.map(id => ({
      method: 'PUT',
      path: `/subscription/${id}/upgrade-downgrade`,
      body: { plan_id: high, payment_mode: 'credit_card' },
    }))
  const refundsOf = async ({ shop }: typeof calm): Promise<Ask[]> => {
    const payments = await w.db<{ id: string }[]>`
      select id from billing_transaction where business_id = ${shop.id} and type = 'payment' and amount_minor = 2000 order by id`
    return payments.map(({ id }) => ({ method: 'POST', path: `/transaction/refund/${id}`, body: { amount: 7 } }))
  }
  const journalOf = (kind: 'charge' | 'refund', amount: number) =>
    fake.journal.filter(entry => entry.kind === kind && entry.amount === amount)
  const send = ({ shop }: typeof calm, { method, path, body }: Ask) =>
    method === 'PUT' ? shop.billing.put(path, body) : shop.billing.post(path, body)

  for (const one of changesOf(calm)) expect((await send(calm, one)).status).toBe(200)
  await disturbed(shaken.shop, changesOf(shaken), () => journalOf('charge', 2000).length)
  expect(journalOf('charge', 2000).length).toBe(2 * count)
  expect(await stateOf(shaken.shop)).toEqual(await stateOf(calm.shop))

  for (const one of await refundsOf(calm)) expect((await send(calm, one)).status).toBe(200)
  await disturbed(shaken.shop, await refundsOf(shaken), () => journalOf('refund', 700).length)
  expect(journalOf('refund', 700).length).toBe(2 * count)
  expect(await stateOf(shaken.shop)).toEqual(await stateOf(calm.shop))
  expect(await audit(w.db, shaken.shop.id)).toEqual([])
})
