import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../../src/billing/audit.ts'
import { type Ground, openChaosShop, openGround } from '../billing-chaos.ts'
import type { Program } from '../program.ts'
import type { TestBusiness, World } from '../world.ts'

/**
 * kill -9 of the real program while cards are charged for plan changes and payments are given back. Clients ask again
 * with the keys of their requests; the gateway's journal says that each was charged and given back once.
 */

let ground: Ground
let w: World
beforeAll(async () => {
  ground = await openGround({ delayMs: 20 })
  w = ground.w
})
afterAll(() => ground.close())

const count = 16

async function open(): Promise<{ shop: TestBusiness; ids: string[]; high: string }> {
  const { shop, plans, sell } = await openChaosShop(ground, { prices: [30, 50] })
  const [low, high] = plans
  return { shop, ids: await sell(low!, count), high: high! }
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

/** Sends all, kills the program when the gateway did some of it, twice; then goes on until everyone has an answer. */
async function disturbed(shop: TestBusiness, asks: readonly Ask[], done: () => number): Promise<void> {
  const before = done()
  for (const killAt of [before + 4, before + 9]) {
    const program = await ground.start()
    const answers = asks.map(one => ask(program, shop, one))
    await expect.poll(done, { timeout: 30_000, interval: 2 }).toBeGreaterThanOrEqual(killAt)
    await program.kill()
    await Promise.all(answers)
    await ground.lapse(shop)
  }
  const program = await ground.start()
  let open = [...asks]
  await expect
    .poll(
      async () => {
        const statuses = await Promise.all(open.map(one => ask(program, shop, one)))
        open = open.filter((_, i) => statuses[i] !== 200)
        if (open.length > 0) await ground.lapse(shop)
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
    ground.fake.journal.filter(entry => entry.kind === kind && entry.amount === amount)
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
