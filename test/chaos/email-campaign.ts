import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'vitest'
import { queueListSend } from '../../src/email/delivery/queue-send.ts'
import type { Business } from '../../src/platform/business.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Sink, type SinkOptions, startSink } from '../smtp-sink.ts'
import type { World } from '../world.ts'

/** What the chaos tests of sending share: a sink that counts, workers to kill, a campaign, and the audit afterwards. */
export type Ground = Pick<World, 'db' | 'platform' | 'databaseUrl'>

export interface Launched {
  business: Business
  sendId: string
}

const children = new Set<ChildProcess>()
const sinks: Sink[] = []

export async function endAll(): Promise<void> {
  for (const child of children) child.kill('SIGKILL')
  for (const sink of sinks.splice(0)) await sink.close()
}

/** Counts arrivals by Message-ID. */
export async function countingSink(options: SinkOptions = {}) {
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

/** Worker processes that are up but wait for `go`: starting them takes longer than what is tested. */
export function startWorkers({ databaseUrl }: Ground, count: number, deferMs = '') {
  const script = join(import.meta.dirname, 'email-worker.ts')
  return Array.from({ length: count }, () => {
    const child = spawn(process.execPath, [script, databaseUrl, deferMs], { stdio: ['pipe', 'pipe', 'inherit'] })
    children.add(child)
    const exited = new Promise<number | null>(resolve =>
      child.once('exit', code => {
        children.delete(child)
        resolve(code)
      }),
    )
    const ready = new Promise<void>((resolve, reject) => {
      child.stdout?.once('data', () => resolve())
      void exited.then(code => reject(new Error(`the worker ended with ${code}`)))
    })
    ready.catch(() => {})
    return {
      async go() {
        await ready
        child.stdin?.write('go\n')
      },
      end(signal: 'SIGKILL' | 'SIGTERM') {
        child.kill(signal)
        return exited
      },
    }
  })
}

const now = new Date()

/** A campaign to so many people, queued and ready to go. */
export async function launch(
  { db, platform }: Ground,
  business: Business,
  { people, port, connections = 10 }: { people: number; port: number; connections?: number },
): Promise<Launched> {
  const [campaignId, templateId, listId] = [newId(), newId(), newId()]
  const { id } = business
  const html = '<p>Hi {{ firstName }}, <a href="https://shop.example/">look</a></p>'
  await db`insert into email_template (business_id, id, name, builder_type, content, html_content, created_at, updated_at)
    values (${id}, ${templateId}, 't', 'HTML', ${html}, ${html}, ${now}, ${now})`
  await db`insert into email_campaign (business_id, id, name, campaign_type, subject, status, template_id, created_at, updated_at)
    values (${id}, ${campaignId}, 'c', 'Regular', 'For {{ firstName }}', 'live', ${templateId}, ${now}, ${now})`
  await db`insert into email_list (business_id, id, name, created_at, updated_at) values (${id}, ${listId}, 'l', ${now}, ${now})`
  await db`insert into email_subscriber (business_id, id, slot, email, first_name, list_numbers, created_at, updated_at)
    select ${id}, lpad(to_hex(n), 24, '0'), n, 'p' || n || '@example.com', 'Name' || n,
      array(select number from email_list where business_id = ${id} and id = ${listId}), ${now}, ${now}
    from generate_series(1, ${people}::int) n`
  await db`insert into email_delivery_server (business_id, id, name, host, port, security, sender_email, max_connections, created_at, updated_at)
    values (${id}, ${newId()}, 's', '127.0.0.1', ${port}, 'none', 'news@shop.example', ${connections}, ${now}, ${now})`
  const audience = { includedListIds: [listId], includedSegmentIds: [], excludedListIds: [], excludedSegmentIds: [] }
  const { sendId, queued } = await db.begin(tx => queueListSend(tx, platform, business, { campaignId, now }, audience))
  expect(queued).toBe(people)
  return { business, sendId }
}

const stateOf = async ({ db }: Ground, { business, sendId }: Launched) =>
  (await db`select * from email_send where business_id = ${business.id} and id = ${sendId}`)[0]

export const complete = (ground: Ground, launched: Launched, timeout: number) =>
  expect
    .poll(async () => (await stateOf(ground, launched).catch(() => undefined))?.state, { timeout, interval: 100 })
    .toBe('complete')

/** The log, the totals, the subscribers and the arrivals must tell the same story. */
export async function audit(
  ground: Ground,
  launched: Launched,
  people: number,
  arrivals: Map<string, { to: string; times: number }>,
) {
  const { db } = ground
  const { id } = launched.business
  const rows = await db<{ id: string; email: string; state: string }[]>`
    select id, email, state from email_delivery where business_id = ${id}`
  expect(rows.length).toBe(people)
  expect(new Set(rows.map(row => row.email)).size).toBe(people)
  const count = (state: string) => rows.filter(row => row.state === state).length
  const send = await stateOf(ground, launched)
  for (const state of ['sent', 'bounced', 'failed', 'unknown', 'suppressed', 'cancelled'])
    expect(send?.[state]).toBe(count(state))
  expect(await db`select 1 from email_deferral where business_id = ${id}`).toHaveLength(0)
  const [activity] = await db`
    select coalesce(sum(total_sent), 0)::int as sent, coalesce(max(total_sent), 0)::int as most
    from email_subscriber_activity where business_id = ${id}`
  expect(activity).toEqual({ sent: count('sent'), most: 1 })
  const sent = rows.filter(one => one.state === 'sent')
  expect(sent.filter(row => arrivals.get(`<${row.id}@shop.example>`)?.to !== row.email)).toEqual([])
  return { count, rows }
}
