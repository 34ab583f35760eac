import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { queueListSend } from '../../src/email/delivery/queue-send.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Sink, type SinkOptions, startSink } from '../smtp-sink.ts'
import { type TestBusiness, type World, world } from '../world.ts'

/**
 * Real worker processes, a real database and a real SMTP server, and what goes wrong in the night: whatever happens,
 * every recipient ends in exactly one final state, nobody is lost, and only what was in flight may arrive twice, with
 * the same Message-ID.
 */

let house: World
beforeAll(async () => {
  house = await world()
})
afterAll(() => house.close())

const children = new Set<ChildProcess>()
const sinks: Sink[] = []
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const sink of sinks.splice(0)) await sink.close()
})

/** Counts arrivals by Message-ID. */
async function countingSink(options: SinkOptions = {}) {
  const arrivals = new Map<string, { to: string; times: number }>()
  const sink = await startSink({
    ...options,
    onReceived: ({ messageId, to }) => {
      const known = arrivals.get(messageId)
      if (known) known.times++
      else arrivals.set(messageId, { to, times: 1 })
    },
  })
  sinks.push(sink)
  const total = () => [...arrivals.values()].reduce((sum, one) => sum + one.times, 0)
  return { sink, arrivals, total }
}

function startWorker(deferMs = ''): Promise<ChildProcess> {
  const script = join(import.meta.dirname, 'email-worker.ts')
  const child = spawn(process.execPath, [script, house.databaseUrl, deferMs], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.add(child)
  child.on('exit', () => children.delete(child))
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve(child))
    child.once('exit', code => reject(new Error(`the worker ended with ${code}`)))
  })
}
const ended = (child: ChildProcess) =>
  new Promise<number | null>(resolve =>
    child.exitCode !== null ? resolve(child.exitCode) : child.once('exit', resolve),
  )

const now = new Date()

async function launch(people: number, port: number, connections = 10): Promise<{ shop: TestBusiness; sendId: string }> {
  const shop = await house.business()
  const { db } = house
  const [campaignId, templateId, listId] = [newId(), newId(), newId()]
  const html = '<p>Hi {{ firstName }}, <a href="https://shop.example/">look</a></p>'
  await db`insert into email_template (business_id, id, name, builder_type, content, html_content, created_at, updated_at)
    values (${shop.id}, ${templateId}, 't', 'HTML', ${html}, ${html}, ${now}, ${now})`
  await db`insert into email_campaign (business_id, id, name, campaign_type, subject, status, template_id, created_at, updated_at)
    values (${shop.id}, ${campaignId}, 'c', 'Regular', 'For {{ firstName }}', 'live', ${templateId}, ${now}, ${now})`
  await db`insert into email_list (business_id, id, name, created_at, updated_at) values (${shop.id}, ${listId}, 'l', ${now}, ${now})`
  await db`insert into email_subscriber (business_id, id, slot, email, first_name, list_numbers, created_at, updated_at)
    select ${shop.id}, lpad(to_hex(n), 24, '0'), n, 'p' || n || '@example.com', 'Name' || n,
      array(select number from email_list where business_id = ${shop.id} and id = ${listId}), ${now}, ${now}
    from generate_series(1, ${people}::int) n`
  await db`insert into email_delivery_server (business_id, id, name, host, port, security, sender_email, max_connections, created_at, updated_at)
    values (${shop.id}, ${newId()}, 's', '127.0.0.1', ${port}, 'none', 'news@shop.example', ${connections}, ${now}, ${now})`
  const audience = { includedListIds: [listId], includedSegmentIds: [], excludedListIds: [], excludedSegmentIds: [] }
  const { sendId, queued } = await db.begin(tx =>
    queueListSend(tx, house.platform, shop, { campaignId, now }, audience),
  )
  expect(queued).toBe(people)
  return { shop, sendId }
}

const stateOf = async (shop: TestBusiness, sendId: string) =>
  (await house.db`select * from email_send where business_id = ${shop.id} and id = ${sendId}`)[0]!
const complete = (shop: TestBusiness, sendId: string, timeout: number) =>
  expect.poll(async () => (await stateOf(shop, sendId)).state, { timeout, interval: 100 }).toBe('complete')

/** The log, the totals, the subscribers and the arrivals must tell the same story. */
async function audit(
  shop: TestBusiness,
  sendId: string,
  people: number,
  arrivals: Map<string, { to: string; times: number }>,
) {
  const rows = await house.db<{ id: string; email: string; state: string }[]>`
    select id, email, state from email_delivery where business_id = ${shop.id}`
  expect(rows.length).toBe(people)
  expect(new Set(rows.map(row => row.email)).size).toBe(people)
  const count = (state: string) => rows.filter(row => row.state === state).length
  const send = await stateOf(shop, sendId)
  for (const state of ['sent', 'bounced', 'failed', 'unknown', 'suppressed', 'cancelled'])
    expect(send[state]).toBe(count(state))
  expect(await house.db`select 1 from email_deferral where business_id = ${shop.id}`).toHaveLength(0)
  const [activity] = await house.db`
    select coalesce(sum(total_sent), 0)::int as sent, coalesce(max(total_sent), 0)::int as most
    from email_subscriber_activity where business_id = ${shop.id}`
  expect(activity).toEqual({ sent: count('sent'), most: 1 })
  for (const row of rows.filter(one => one.state === 'sent'))
    expect(arrivals.get(`<${row.id}@shop.example>`)?.to).toBe(row.email)
  return { count, rows }
}

describe('a campaign', () => {
  test('of 20,000 survives workers that are killed in the middle of it', { timeout: 120_000 }, async () => {
    const people = 20_000
    const connections = 10
    const { sink, arrivals, total } = await countingSink()
    const { shop, sendId } = await launch(people, sink.port, connections)
    const kills = 5
    for (let i = 1; i <= kills; i++) {
      const worker = await startWorker()
      const goal = (people * i) / (kills + 2)
      await expect.poll(total, { timeout: 30_000, interval: 5 }).toBeGreaterThan(goal + Math.random() * 500)
      worker.kill('SIGKILL')
      await ended(worker)
    }
    const worker = await startWorker()
    await complete(shop, sendId, 60_000)
    worker.kill('SIGTERM')
    await ended(worker)
    const { count } = await audit(shop, sendId, people, arrivals)
    expect(count('sent')).toBe(people)
    expect(arrivals.size).toBe(people)
    const twice = total() - people
    console.log(`${kills} kills, ${twice} messages arrived twice (at most ${kills * connections} were in flight)`)
    expect(twice).toBeLessThanOrEqual(kills * connections)
  })

  test('is stopped by SIGTERM without loss or doubles, and goes on with several workers', {
    timeout: 60_000,
  }, async () => {
    const people = 6_000
    const { sink, arrivals, total } = await countingSink()
    const { shop, sendId } = await launch(people, sink.port)
    for (const goal of [500, 2_000]) {
      const workers = await Promise.all([startWorker(), startWorker()])
      await expect.poll(total, { timeout: 30_000, interval: 5 }).toBeGreaterThan(goal)
      const asked = Date.now()
      for (const worker of workers) worker.kill('SIGTERM')
      expect(await Promise.all(workers.map(ended))).toEqual([0, 0])
      expect(Date.now() - asked).toBeLessThan(6_000)
      expect(total()).toBeLessThan(people)
    }
    const workers = await Promise.all([startWorker(), startWorker()])
    await complete(shop, sendId, 30_000)
    for (const worker of workers) worker.kill('SIGTERM')
    await Promise.all(workers.map(ended))
    await audit(shop, sendId, people, arrivals)
    expect(total()).toBe(people)
  })

  test('bears a server that greylists, drops, stalls and says 421 above a rate', { timeout: 90_000 }, async () => {
    const people = 2_000
    const greylisted = new Set<string>()
    const number = (to: string) => Number(to.slice(1, to.indexOf('@')))
    let second = 0
    let thisSecond = 0
    const { sink, arrivals, total } = await countingSink({
      at(stage, { to }) {
        const n = number(to)
        if (stage === 'mail') {
          const present = Math.floor(Date.now() / 1000)
          thisSecond = present === second ? thisSecond + 1 : 1
          second = present
          if (thisSecond > 400) return { reply: '421 4.7.0 too fast', drop: true }
        }
        if (stage === 'rcpt' && n % 5 === 0 && !greylisted.has(to)) {
          greylisted.add(to)
          return { reply: '451 4.7.1 greylisted, try again later' }
        }
        if (stage === 'end' && n % 400 === 1) return { drop: true }
        if (stage === 'end' && n % 400 === 2) return { drop: true, accept: true }
        if (stage === 'end' && n % 100 === 3) return { stallMs: 300 }
        return undefined
      },
    })
    const { shop, sendId } = await launch(people, sink.port)
    const workers = await Promise.all([startWorker('1000'), startWorker('1000')])
    await complete(shop, sendId, 80_000)
    for (const worker of workers) worker.kill('SIGTERM')
    await Promise.all(workers.map(ended))
    const { count, rows } = await audit(shop, sendId, people, arrivals)
    // Who was cut off after the end dot is known to be unknown, and was not mailed again.
    expect(
      rows
        .filter(row => row.state === 'unknown')
        .map(row => number(row.email) % 400)
        .sort(),
    ).toEqual([...Array(5).fill(1), ...Array(5).fill(2)])
    expect(count('sent')).toBe(people - 10)
    expect(total()).toBe(people - 5)
  })
})
