import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditEmail } from '../../src/email/audit.ts'
import { type World, world } from '../world.ts'

let house: World
beforeAll(async () => {
  house = await world()
})
afterAll(() => house.close())

const people = 25_000
const refusedEvery = 1_000

/** Every thousandth line is refused; every third of the people is there already, under another name. */
function file(): string {
  let csv = 'email,firstName,lists,tags,status\n'
  for (let i = 0; i < people; i++)
    csv +=
      i % refusedEvery === 0
        ? `nonsense ${i},,,,\n`
        : `p${i}@example.com,Name${i % 7},News,t${i % 5},${i % 11 === 0 ? 'unsubscribed' : ''}\n`
  return csv
}

async function startWorker(businessId: string, importId: string): Promise<ChildProcess> {
  const script = join(import.meta.dirname, 'email-import-worker.ts')
  const child = spawn(process.execPath, [script, house.databaseUrl, businessId, importId], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout!, 'data')
  return child
}

test('an import killed at any moment is gone on with: nobody twice, nobody lost, counts and report exact', {
  timeout: 120_000,
}, async () => {
  const shop = await house.business()
  await shop.email.post('/lists', { name: 'News' })
  await house.db`
    insert into email_subscriber (business_id, id, slot, email, first_name, created_at, updated_at)
    select ${shop.id}, lpad(to_hex(n), 24, '0'), n, 'P' || n * 3 || '@example.com', 'Old', now(), now()
    from generate_series(1, ${Math.floor((people - 1) / 3)}::int) n`
  await house.db`
    insert into email_change (business_id, slot, at, new_status, new_score, new_lists, new_tags, text_changed)
    select ${shop.id}, slot, now(), 'subscribed', 0, '{}', '{}', true from email_subscriber where business_id = ${shop.id}`
  await house.db`insert into email_slot (business_id, next) values (${shop.id}, ${people})`
  const uploaded = await shop.email.post('/subscribers/import', file(), { 'content-type': 'text/csv' })
  expect(uploaded.status).toBe(201)
  const { id } = uploaded.body.data.import
  const record = async () => (await shop.email.get(`/subscribers/imports/${id}`)).body.data.import

  let kills = 0
  while ((await record()).status !== 'done') {
    const child = await startWorker(shop.id, id)
    const over = once(child, 'exit')
    // After four kills it may end, so that the test does however slow the machine is.
    const timer = kills < 4 ? setTimeout(() => child.kill('SIGKILL'), Math.random() * 400 * (1 + kills)) : undefined
    await over
    clearTimeout(timer)
    if (child.signalCode === 'SIGKILL') kills++
  }
  expect(kills).toBeGreaterThan(0)

  const refused = people / refusedEvery
  const known = Array.from({ length: people }, (_, i) => i).filter(i => i % 3 === 0 && i > 0 && i % refusedEvery !== 0)
  expect(await record()).toMatchObject({
    status: 'done',
    rows: people,
    refused,
    updated: known.length,
    created: people - refused - known.length,
  })
  const { refusals, pagination } = (await shop.email.get(`/subscribers/imports/${id}/refusals?limit=100`)).body.data
  expect(pagination.totalItems).toBe(refused)
  expect(refusals.map((one: { line: number }) => one.line)).toEqual(
    Array.from({ length: refused }, (_, i) => i * refusedEvery + 2),
  )
  const [rows] = await house.db`
    select count(*)::int as all, count(distinct lower(email))::int as different, count(distinct slot)::int as slots,
      count(*) filter (where cardinality(list_numbers) = 1)::int as listed
    from email_subscriber where business_id = ${shop.id}`
  const everyone = people - refused + Math.floor((people - 1) / 3) - known.length
  expect(rows).toEqual({ all: everyone, different: everyone, slots: everyone, listed: people - refused })
  expect((await shop.email.get('/subscribers?lists=News&limit=1')).body.data.pagination.totalItems).toBe(
    people - refused,
  )
  expect((await shop.email.get('/subscribers?search=name3&limit=1')).body.data.pagination.totalItems).toBe(
    Array.from({ length: people }, (_, i) => i).filter(i => i % 7 === 3 && i % refusedEvery !== 0).length,
  )
  expect(await auditEmail(house.platform, shop.id)).toEqual([])
})
