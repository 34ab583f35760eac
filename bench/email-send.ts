import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import nodemailer from 'nodemailer'
import { createAccount } from '../src/accounts/accounts.ts'
import { createAuthenticate } from '../src/accounts/authenticate.ts'
import { createApp } from '../src/app.ts'
import { compileContent } from '../src/email/delivery/compile-content.ts'
import { compileMessage, mergeDataOf } from '../src/email/delivery/compile-message.ts'
import { createSigner, makeDkimKey } from '../src/email/delivery/dkim.ts'
import { createEngine } from '../src/email/delivery/engine.ts'
import { queueIndividualSend, queueListSend } from '../src/email/delivery/queue-send.ts'
import { sendOver } from '../src/email/delivery/smtp-client.ts'
import { tokensOf } from '../src/email/delivery/tokens.ts'
import { buildPlatform } from '../src/platform/build.ts'
import { readConfig } from '../src/platform/config.ts'
import { claimDataFolder, openDataFolder } from '../src/platform/data-folder.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { newId } from '../src/platform/ids.ts'
import { createLog } from '../src/platform/log.ts'
import { chooseServices } from '../src/services.ts'
import { buildTemplate } from '../test/template.ts'
import { table } from './measure.ts'

/**
 * How many messages a second go out: 7 KB of personal HTML and text, a durable log per recipient, the sink in its own
 * process and the database on the same machine. Beside it nodemailer's pool and a bare pipelined loop, in the same run.
 * BENCH_PEOPLE=10000,100000 chooses the sizes.
 */
const sizes = (process.env.BENCH_PEOPLE ?? '10000,50000').split(',').map(Number)
const connections = Number(process.env.BENCH_CONNECTIONS ?? 40)

const path = await mkdtemp(join(tmpdir(), 'pennypost-bench-'))
const folder = await openDataFolder(path)
const release = await claimDataFolder(folder)
const server = await startEmbeddedPostgres(folder, { maxConnections: 100 })
await buildTemplate(server.url)
const platform = await buildPlatform(readConfig({ PENNYPOST_RATE_LIMIT: '0' }), {
  databaseUrl: server.url,
  masterKey: Buffer.alloc(32, 7),
  worker: false,
  log: createLog('warn'),
})
const { db } = platform
const child = fork(join(import.meta.dirname, 'part-email-sink.ts'))
const [{ port }] = (await once(child, 'message')) as [{ port: number }]
const ask = <T>(kind: string): Promise<T> =>
  new Promise(resolve => {
    const id = newId()
    const take = (answer: T & { id: string }) => {
      if (answer.id !== id) return
      child.off('message', take as never)
      resolve(answer)
    }
    child.on('message', take as never)
    child.send({ kind, id })
  })
const arrived = async () => (await ask<{ count: number }>('count')).count

const html = `<!doctype html><html><body><h1>Hello {{ firstName | default: "there" }}</h1>
${'<p style="font:16px/1.5 sans-serif;color:#333">Spring is here, {{ firstName }}, and so are our new arrivals for {{ customFields.company }}. Have a look at what we picked for you this week.</p>\n'.repeat(25)}
<a href="https://shop.example/new">New</a> <a href="https://shop.example/sale?c={{ customFields.company }}">Sale</a>
<a href="{{ unsubscribeUrl }}">Unsubscribe</a></body></html>`

const rows: Record<string, string>[] = []
const line = (what: string, count: number, ms: number, more = '') =>
  rows.push({
    what,
    messages: String(count),
    'messages/s': Math.round((count * 1000) / ms).toLocaleString('en'),
    '': more,
  })
const wait = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

const account = await createAccount(db, {
  email: 'bench@example.com',
  business: { name: 'Bench', testMode: false, timeZone: 'UTC', currency: 'USD' },
  publicUrl: '',
})
const business = {
  id: account.businessId,
  userId: account.userId,
  name: 'Bench',
  timeZone: 'UTC',
  currency: 'USD',
  testMode: false,
}
const now = new Date()
const [campaignId, templateId, listId, serverId] = [newId(), newId(), newId(), newId()]
await db`insert into email_template (business_id, id, name, builder_type, content, html_content, created_at, updated_at)
  values (${business.id}, ${templateId}, 't', 'HTML', ${html}, ${html}, ${now}, ${now})`
await db`insert into email_campaign (business_id, id, name, campaign_type, subject, status, template_id, created_at, updated_at)
  values (${business.id}, ${campaignId}, 'c', 'Regular', 'For {{ firstName }}', 'live', ${templateId}, ${now}, ${now})`
await db`insert into email_delivery_server (business_id, id, name, host, port, security, sender_email, max_connections, is_default, created_at, updated_at)
  values (${business.id}, ${serverId}, 's', '127.0.0.1', ${port}, 'none', 'news@shop.example', ${connections}, true, ${now}, ${now})`
await db`insert into email_list (business_id, id, name, created_at, updated_at) values (${business.id}, ${listId}, 'l', ${now}, ${now})`

async function nodemailerPool(count: number) {
  const pool = nodemailer.createTransport({
    pool: true,
    maxConnections: 20,
    host: '127.0.0.1',
    port,
    secure: false,
    ignoreTLS: true,
  } as never)
  const begin = performance.now()
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      pool.sendMail({
        from: 'news@shop.example',
        to: `n${i}@example.com`,
        subject: `For Name${i}`,
        html: html.replaceAll('{{ firstName }}', `Name${i}`),
        text: 'Hello',
      }),
    ),
  )
  line('nodemailer, pool of 20', count, performance.now() - begin, 'builds MIME each time, no log')
  pool.close()
}

async function bareLoop(count: number) {
  const content = await compileContent({ builderType: 'HTML', source: html, preheader: '', footer: false })
  const message = await compileMessage(content, {
    from: { name: 'Bench', address: 'news@shop.example' },
    subject: 'x',
    attachments: [],
    headers: {},
    publicUrl: 'https://m.example',
    messageIdDomain: 'x.example',
  })
  const recipient = {
    deliveryId: 'd',
    email: 'x@example.com',
    trackToken: 't'.repeat(48),
    unsubscribeToken: 'u'.repeat(48),
    data: {},
  }
  mergeDataOf(recipient, 'https://m.example')
  const filled = message.fill(recipient, now, Buffer.alloc(0), 3)
  const bytes = Buffer.concat([filled.buffer.subarray(0, filled.length), Buffer.from('.\r\n')])
  let left = count
  const take = () => (left-- > 0 ? { from: 'a@x.example', to: 'b@example.com', bytes, eightBit: false } : undefined)
  const smtp = { host: '127.0.0.1', port, security: 'none' as const, username: '', password: '', clientName: 'bench' }
  const begin = performance.now()
  await Promise.all(
    Array.from({ length: connections }, () =>
      sendOver(
        smtp,
        { next: async () => take(), take, mayFinish: () => true, settle: async () => {} },
        { messagesPerConnection: 1e9 },
      ),
    ),
  )
  line('bare pipelined loop', count, performance.now() - begin, `${bytes.length} bytes each, no database`)
}

async function addPeople(count: number) {
  await db`delete from email_subscriber where business_id = ${business.id}`
  await db`insert into email_subscriber (business_id, id, slot, email, first_name, custom_fields, list_numbers, created_at, updated_at)
    select ${business.id}, lpad(to_hex(n), 24, '0'), n, 'p' || n || '@example.com', 'Name' || n, '{"company":"Acme"}',
      array(select number from email_list where business_id = ${business.id} and id = ${listId}), ${now}, ${now}
    from generate_series(1, ${count}::int) n`
  await db`vacuum analyze email_subscriber`
}

async function campaign(count: number, what: string, during?: () => Promise<void>) {
  await addPeople(count)
  const audience = { includedListIds: [listId], includedSegmentIds: [], excludedListIds: [], excludedSegmentIds: [] }
  const freezing = performance.now()
  const { sendId } = await db.begin(tx => queueListSend(tx, platform, business, { campaignId, now }, audience))
  const frozenMs = performance.now() - freezing
  const before = await arrived()
  const stop = new AbortController()
  const cpu = process.cpuUsage()
  const begin = performance.now()
  const running = createEngine(platform).run(stop.signal)
  const more = during?.()
  while ((await arrived()) - before < count) await wait(20)
  const ms = performance.now() - begin
  const used = process.cpuUsage(cpu)
  const memory = process.memoryUsage().rss / 1e6
  await more
  for (;;) {
    const [send] = await db`select state from email_send where business_id = ${business.id} and id = ${sendId}`
    if (send?.state === 'complete') break
    await wait(20)
  }
  const counted = performance.now() - begin
  stop.abort()
  await running
  line(
    what,
    count,
    ms,
    `${((used.user + used.system) / 1000 / count).toFixed(3)} ms CPU each, ${memory.toFixed(0)} MB, frozen in ${frozenMs.toFixed(0)} ms, counted ${(counted - ms).toFixed(0)} ms later`,
  )
}

async function quickOnes(count: number) {
  const asked = new Map<string, number>()
  await wait(500)
  for (let i = 0; i < count; i++) {
    const email = `quick${newId()}@example.com`
    await db.begin(tx => queueIndividualSend(tx, platform, business, { campaignId, now: new Date() }, [email]))
    asked.set(email, Date.now())
    await wait(15)
  }
  await wait(1_000)
  const { quick } = await ask<{ quick: [string, number][] }>('quick')
  const times = quick
    .filter(([email]) => asked.has(email))
    .map(([email, at]) => Math.max(0, at - (asked.get(email) ?? at)))
    .sort((a, b) => a - b)
  rows.push({
    what: 'individual send during a campaign',
    messages: String(times.length),
    'messages/s': '',
    '': `queued to accepted: p50 ${times[Math.floor(times.length / 2)]} ms, p99 ${times[Math.floor(times.length * 0.99)]} ms`,
  })
}

async function signing() {
  const { privateKey, publicKey } = await makeDkimKey()
  const sign = createSigner({ domain: 'shop.example', selector: 's', privateKey })
  const message = Buffer.from(`From: a@x.example\r\nSubject: x\r\n\r\n${'x'.repeat(70)}\r\n`.repeat(1))
  const begin = performance.now()
  let signed = 0
  const until = begin + 2_000
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (performance.now() < until) {
        await sign(message)
        signed++
      }
    }),
  )
  const ceiling = (signed * 1000) / (performance.now() - begin)
  rows.push({
    what: 'RSA-2048 signatures alone',
    messages: String(signed),
    'messages/s': Math.round(ceiling).toLocaleString('en'),
    '': 'the ceiling of this machine',
  })
  await db`insert into email_server_signing (business_id, server_id, dkim_domain, dkim_selector, sealed_key, public_key, created_at)
    values (${business.id}, ${serverId}, 'shop.example', 's', ${platform.secrets.encrypt(privateKey, `email_dkim:${business.id}:${serverId}`)}, ${publicKey}, ${now})`
  await campaign(Math.round(ceiling * 4), 'campaign with DKIM RSA-2048')
  await db`delete from email_server_signing`
}

async function tracking() {
  const services = chooseServices(['email'], () => platform)
  await platform.jobs.prepare([])
  const app = createApp({ platform, services, authenticate: createAuthenticate(db), metricsText: async () => '' })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const at = (app.server.address() as { port: number }).port
  const ids = await db<{ id: string }[]>`select id from email_delivery where business_id = ${business.id} limit 1000`
  const requests = ids.map(({ id }) => ({
    path: `/e/o/${tokensOf(platform.secrets, { businessId: business.id, deliveryId: id }).track}`,
    headers: { 'user-agent': 'Mozilla/5.0 (X11) Firefox/130.0' },
  }))
  const result = await autocannon({ url: `http://127.0.0.1:${at}`, connections: 50, duration: 5, requests } as never)
  rows.push({
    what: 'tracking pixel (requests)',
    messages: String(result.requests.total),
    'messages/s': Math.round(result.requests.average).toLocaleString('en'),
    '': `p99 ${result.latency.p99} ms, events written`,
  })
  await app.close()
}

try {
  await nodemailerPool(2_000)
  await bareLoop(50_000)
  for (const size of sizes) await campaign(size, `campaign to ${size.toLocaleString('en')}`)
  await campaign(sizes.at(-1) ?? 50_000, 'campaign with individual sends beside it', () => quickOnes(200))
  await signing()
  await tracking()
} finally {
  table(rows)
  child.kill()
  await platform.close()
  await server.stop()
  await release()
  await rm(path, { recursive: true, force: true })
}
