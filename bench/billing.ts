import { createAccount } from '../src/accounts/accounts.ts'
import { audit } from '../src/billing/audit.ts'
import type { Context } from '../src/billing/context.ts'
import { createPlan } from '../src/billing/plans/plans.ts'
import { createProduct } from '../src/billing/products/products.ts'
import { renewDue } from '../src/billing/subscriptions/renew.ts'
import { buildPlatform } from '../src/platform/build.ts'
import { readConfig } from '../src/platform/config.ts'
import { claimDataFolder, openDataFolder } from '../src/platform/data-folder.ts'
import { connect } from '../src/platform/database.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { createLog } from '../src/platform/log.ts'
import { migrate } from '../src/platform/migrate.ts'
import { makeDataFolder, removeDataFolder } from '../test/program.ts'
import { table } from './measure.ts'
import { changes, refunds } from './part-billing-requests.ts'

/**
 * Renewals with invoices, lines, ledger and events, durable, beside one transaction a renewal; plan changes under load;
 * a thousand refunds of one payment at once. `BENCH_ONLY=renewals`, `changes` or `refunds` measures one of them;
 * `BENCH_RENEWALS=1000000` for a million.
 */
const total = Number(process.env.BENCH_RENEWALS ?? 100_000)
const data = await makeDataFolder()
const folder = await openDataFolder(data)
const release = await claimDataFolder(folder)
const server = await startEmbeddedPostgres(folder, { durable: true })
const migrating = connect(server.url, { name: 'bench', max: 1 })
await migrate(migrating)
await migrating.end()
const platform = await buildPlatform(readConfig({ PENNYPOST_RATE_LIMIT: '0' }), {
  databaseUrl: server.url,
  masterKey: Buffer.alloc(32, 7),
  worker: false,
  log: createLog('error'),
})
const { db } = platform

async function open(): Promise<Context> {
  const made = await createAccount(db, {
    email: `bench-${Math.random()}@example.com`,
    business: { name: 'Bench', testMode: true },
    publicUrl: '',
  })
  const business = {
    id: made.businessId,
    userId: made.userId,
    name: 'Bench',
    timeZone: 'UTC',
    currency: 'USD',
    testMode: true,
  }
  return { platform, db, business, now: new Date('2026-05-01T00:00:00Z'), source: 'scheduler' }
}

/** Subscriptions that are all due at once, each with a customer of its own. */
async function fill(context: Context, count: number): Promise<void> {
  const { business } = context
  const product = await createProduct(db, business, { product_name: 'Box' })
  const plan = await createPlan(db, business, {
    product_id: product.id,
    plan_name: 'Basic',
    plan_code: 'basic',
    price: 30,
  })
  await db`
    insert into billing_customer (business_id, id, first_name, last_name, email_id, company_name, phone, website,
      billing_address, shipping_address, tax_exempt, tax_id, created_at, updated_at)
    select ${business.id}, 'c' || lpad(to_hex(n), 23, '0'), 'Ada', 'Byron', 'ada' || n || '@example.com', '', '', '',
      '{"country":"DE"}', '{}', false, '', now(), now() from generate_series(1, ${count}::int) n`
  await db`
    insert into billing_tax (business_id, id, name, country, state, rate_ppm, created_at, updated_at)
    values (${business.id}, ${'0'.repeat(24)}, 'VAT', 'DE', '', 190000, now(), now())`
  await db`
    insert into billing_subscription (business_id, id, customer_id, product_id, plan_id, status, currency, quantity,
      plan_type, unit_price_minor, period_unit, period_count, anchor_date, next_billing_at, starts_at, gateway, created_at, updated_at)
    select ${business.id}, lpad(to_hex(n), 24, '0'), 'c' || lpad(to_hex(n), 23, '0'), ${product.id}, ${plan.id}, 'live', 'USD', 1,
      'flat_fee', 3000, 'm', 1, '2026-05-01', '2026-05-01', '2026-05-01', 'test', now(), now()
    from generate_series(1, ${count}::int) n`
  await db`
    insert into billing_mrr_movement (business_id, subscription_id, no, customer_id, currency, type, amount_minor, mrr_minor, created_at)
    select business_id, id, 1, customer_id, currency, 'new', unit_price_minor, unit_price_minor, created_at
    from billing_subscription where business_id = ${business.id}`
  await db`
    insert into billing_mrr_day (business_id, day, currency, type, amount_minor, movements)
    values (${business.id}, '2026-05-01', 'USD', 'new', ${count * 3000}, ${count})`
  await db`analyze billing_subscription, billing_customer, billing_mrr_movement`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return (performance.now() - from) / 1_000
}

const rows: Record<string, string | number>[] = []
const measure = (name: string, count: number, seconds: number) =>
  rows.push({ run: name, renewals: count, seconds: seconds.toFixed(1), 'per second': Math.round(count / seconds) })

async function renewals(): Promise<void> {
  const few = await open()
  await fill(few, 2_000)
  const single = 500
  const seconds = await timed(async () => {
    for (let n = 1; n <= single; n++) await renewDue(few, [n.toString(16).padStart(24, '0')])
  })
  measure('one transaction a renewal', single, seconds)
  for (const count of [total / 10, total]) {
    const context = await open()
    await fill(context, count)
    measure('batches', count, await timed(() => renewDue(context)))
    await db`analyze`
    const findings = await audit(db, context.business.id)
    if (findings.length > 0) throw new Error(findings.join('\n'))
    if (count === total)
      for (const month of ['2026-06-01', '2026-07-01'])
        measure(
          `batches, ${month.slice(0, 7)}`,
          count,
          await timed(() => renewDue({ ...context, now: new Date(month) })),
        )
  }
  table(rows)
}

const parts = { renewals, changes: () => changes(platform), refunds: () => refunds(platform) }
for (const [name, run] of Object.entries(parts)) if ((process.env.BENCH_ONLY ?? name) === name) await run()
await platform.close()
await server.stop()
await release()
await removeDataFolder(data)
