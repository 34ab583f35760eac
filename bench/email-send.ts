import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import nodemailer from 'nodemailer'
import { compileContent } from '../src/email/delivery/compile-content.ts'
import { compileMessage, mergeDataOf } from '../src/email/delivery/compile-message.ts'
import { sendOver } from '../src/email/delivery/smtp-client.ts'
import { tokensOf } from '../src/email/delivery/tokens.ts'
import { openDataFolder } from '../src/platform/data-folder.ts'
import { connect } from '../src/platform/database.ts'
import { findEmbeddedPostgres, urlOf } from '../src/platform/embedded-postgres.ts'
import { newId } from '../src/platform/ids.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { createAccount, makeDataFolder, removeDataFolder, startProgram } from '../test/program.ts'
import { table } from './measure.ts'
import { childrenOf, familyCpuSeconds, ownCpuSeconds, residentMb } from './part-processes.ts'
import { signingCeiling } from './part-signing.ts'

/**
 * How many messages a second go out: 7 KB of personal HTML and text, a durable log per recipient. The program runs as
 * `npm start` runs it, with its own PostgreSQL and durable commits; the sink and the load for tracking are processes of
 * their own. Beside it nodemailer's pool and a bare pipelined loop, in the same run. BENCH_PEOPLE=10000,100000 chooses
 * the sizes, BENCH_CONNECTIONS the connections, BENCH_ONLY=references,campaigns,individual,dkim,tracking the parts.
 */
const sizes = (process.env.BENCH_PEOPLE ?? '10000,100000').split(',').map(Number)
const connections = Number(process.env.BENCH_CONNECTIONS ?? 40)
const seconds = Number(process.env.BENCH_SECONDS ?? 5)
const parts = (process.env.BENCH_ONLY ?? 'references,campaigns,individual,dkim,tracking').split(',')

const secretKey = Buffer.alloc(32, 7)
const data = await makeDataFolder()
const program = await startProgram({
  data,
  env: {
    PENNYPOST_DEMO: 'false',
    PENNYPOST_SECRET_KEY: secretKey.toString('hex'),
    PENNYPOST_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1',
    ...(process.env.BENCH_NODE_OPTIONS && { NODE_OPTIONS: process.env.BENCH_NODE_OPTIONS }),
  },
})
// A measurement that fails must not leave the program running.
process.on('exit', () => program.child.kill())
const programPid = program.child.pid as number
const postgresPid = childrenOf(programPid)[0] as number
const connection = await findEmbeddedPostgres(await openDataFolder(data))
if (!connection) throw new Error('The program started no database.')
const db = connect(urlOf(connection), { name: 'bench', max: 2, statementTimeoutMs: 600_000 })
const sink = fork(join(import.meta.dirname, 'part-email-sink.ts'))
const [{ port }] = (await once(sink, 'message')) as [{ port: number }]
const ask = <T>(kind: string): Promise<T> =>
  new Promise(resolve => {
    const id = newId()
    const take = (answer: T & { id: string }) => {
      if (answer.id !== id) return
      sink.off('message', take as never)
      resolve(answer)
    }
    sink.on('message', take as never)
    sink.send({ kind, id })
  })
const arrived = async () => (await ask<{ count: number }>('count')).count
const wait = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

const html = `<!doctype html><html><body><h1>Hello {{ firstName | default: "there" }}</h1>
${'<p style="font:16px/1.5 sans-serif;color:#333">Spring is here, {{ firstName }}, and so are our new arrivals for {{ customFields.company }}. Have a look at what we picked for you this week.</p>\n'.repeat(25)}
<a href="https://shop.example/new">New</a> <a href="https://shop.example/sale?c={{ customFields.company }}">Sale</a>
<a href="{{ unsubscribeUrl }}">Unsubscribe</a></body></html>`

const account = await createAccount(data, { PENNYPOST_SECRET_KEY: secretKey.toString('hex') })
// biome-ignore lint/suspicious/noExplicitAny: looks into answers of every shape
async function call(method: string, path: string, body?: object): Promise<any> {
  const answer = await fetch(`${program.url}/email/api/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${account.email.apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}
const campaignDetails = {
  campaignName: 'Spring',
  subject: 'For {{ firstName }}',
  campaignType: 'API / Workflow Campaign',
}
const campaignId: string = (await call('POST', '/campaigns', { campaignDetails, builderType: 'HTML', content: html }))
  .data._id
await call('PUT', `/campaigns/${campaignId}`, { status: 'live' })
const listId: string = (await call('POST', '/lists', { name: 'Everybody' })).data.list.id
const server = { name: 'sink', host: '127.0.0.1', port, security: 'none', senderEmail: 'news@shop.example' }
const serverId: string = (
  await call('POST', '/delivery-servers', { ...server, maxConnections: connections, isDefault: true })
).data.deliveryServer.id
const [business] = await db<
  { businessId: string }[]
>`select business_id as "businessId" from email_list where id = ${listId}`
const businessId = business?.businessId ?? ''

const rows: Record<string, string>[] = []
const add = (row: Record<string, string>) => {
  rows.push(row)
  // Told at once as well: a long measurement that is cut off has still said something.
  console.error(Object.values(row).filter(Boolean).join(' | '))
}
const line = (what: string, count: number, ms: number, more: Record<string, string> = {}) =>
  add({
    what,
    messages: count.toLocaleString('en'),
    'per second': Math.round((count * 1000) / ms).toLocaleString('en'),
    'CPU ms each: program, PostgreSQL, sink': more.cpu ?? '',
    'program MB': more.memory ?? '',
    '': more.note ?? '',
  })

/** What each process used while something ran, a message. */
function watch() {
  const read = () => [ownCpuSeconds(programPid), familyCpuSeconds(postgresPid), ownCpuSeconds(sink.pid as number)]
  const before = read()
  let most = residentMb(programPid)
  const timer = setInterval(() => {
    most = Math.max(most, residentMb(programPid))
  }, 100)
  return (count: number) => {
    clearInterval(timer)
    const used = read().map((value, i) => ((value - (before[i] ?? 0)) * 1000) / count)
    return { cpu: used.map(value => value.toFixed(3)).join(', '), memory: most.toFixed(0) }
  }
}

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
  line('nodemailer, pool of 20', count, performance.now() - begin, { note: 'builds MIME each time, no log' })
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
  const filled = message.fill(recipient, new Date(), Buffer.alloc(0), 3)
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
  line('bare pipelined loop', count, performance.now() - begin, { note: `${bytes.length} bytes each, no database` })
}

async function addPeople(count: number) {
  const now = new Date()
  await db`delete from email_subscriber where business_id = ${businessId}`
  await db`insert into email_subscriber (business_id, id, slot, email, first_name, custom_fields, list_numbers, created_at, updated_at)
    select ${businessId}, lpad(to_hex(n), 24, '0'), n, 'p' || n || '@example.com', 'Name' || n, '{"company":"Acme"}',
      array(select number from email_list where business_id = ${businessId} and id = ${listId}), ${now}, ${now}
    from generate_series(1, ${count}::int) n`
  await db`vacuum analyze email_subscriber`
  await db`checkpoint`
}

async function campaign(count: number, what: string, during?: () => Promise<void>) {
  await addPeople(count)
  const before = await arrived()
  const used = watch()
  const asked = performance.now()
  await call('POST', '/campaigns/send-to-list', { campaignId, includedList: ['Everybody'] })
  const begin = performance.now()
  const more = during?.()
  while ((await arrived()) - before < count) await wait(20)
  const ms = performance.now() - begin
  const cost = used(count)
  await more
  for (;;) {
    const [open] = await db`select 1 from email_send where business_id = ${businessId} and completed_at is null limit 1`
    if (!open) break
    await wait(20)
  }
  const counted = performance.now() - begin
  const note = `audience frozen and answered in ${(begin - asked).toFixed(0)} ms; complete ${(counted - ms).toFixed(0)} ms after the last message`
  line(what, count, ms, { ...cost, note })
}

/** From the answer of the API to the 250 of the sink. */
async function quickOnes(count: number) {
  const asked = new Map<string, number>()
  await wait(500)
  for (let i = 0; i < count; i++) {
    const email = `quick${newId()}@example.com`
    await call('POST', '/campaigns/send-to-individual', { campaignId, emails: [email] })
    asked.set(email, Date.now())
    await wait(15)
  }
  await wait(1_000)
  const { quick } = await ask<{ quick: [string, number][] }>('quick')
  const times = quick
    .filter(([email]) => asked.has(email))
    .map(([email, at]) => Math.max(0, at - (asked.get(email) ?? at)))
    .sort((a, b) => a - b)
  add({
    what: 'individual sends during it',
    messages: String(times.length),
    'per second': '',
    'CPU ms each: program, PostgreSQL, sink': '',
    'program MB': '',
    '': `API answer to accepted: p50 ${times[Math.floor(times.length / 2)]} ms, p99 ${times[Math.floor(times.length * 0.99)]} ms`,
  })
}

async function signing() {
  const { perSecond, total } = await signingCeiling(3_000)
  line('RSA-2048 signatures alone', total, (total * 1000) / perSecond, { note: 'both cores sign and do nothing else' })
  await call('PUT', `/delivery-servers/${serverId}/dkim`, { domain: 'shop.example', selector: 's' })
  await campaign(Math.round(perSecond * 5), 'campaign with DKIM RSA-2048')
  await call('DELETE', `/delivery-servers/${serverId}/dkim`)
}

async function tracking(kind: 'open' | 'click') {
  const secrets = createSecrets(secretKey)
  const ids = await db<{ id: string }[]>`
    select id from email_delivery where business_id = ${businessId} and state = 'sent' order by id desc limit 50000`
  const requests = ids.map(({ id }) => {
    const { track } = tokensOf(secrets, { businessId, deliveryId: id })
    const path = kind === 'open' ? `/e/o/${track}` : `/e/c/${track}/0`
    return `GET ${path} HTTP/1.1\r\nhost: mail.example\r\nuser-agent: Mozilla/5.0 (X11) Firefox/130.0\r\n\r\n`
  })
  const events = async () =>
    Number(
      (await db<{ count: bigint }[]>`select count(*) from email_event where business_id = ${businessId}`)[0]?.count,
    )
  const before = await events()
  const load: ChildProcess = fork(join(import.meta.dirname, 'part-http-load.ts'))
  const used = watch()
  load.send({ port: Number(new URL(program.url).port), connections: 64, seconds, requests })
  const [seen] = (await once(load, 'message')) as [
    { total: number; failed: number; p50: number; p99: number; seconds: number },
  ]
  const cost = used(seen.total)
  await wait(1_000)
  const written = (await events()) - before
  line(`tracking: ${kind}`, seen.total, seen.seconds * 1000, {
    ...cost,
    note: `p50 ${seen.p50.toFixed(1)} ms, p99 ${seen.p99.toFixed(1)} ms, ${seen.failed} failed, ${written} events written`,
  })
}

try {
  if (parts.includes('references')) {
    await nodemailerPool(2_000)
    await bareLoop(50_000)
  }
  await campaign(10_000, 'first campaign after the start')
  if (parts.includes('individual'))
    await campaign(50_000, 'campaign with individual sends beside it', () => quickOnes(200))
  if (parts.includes('dkim')) await signing()
  if (parts.includes('tracking')) {
    await tracking('open')
    await tracking('click')
  }
  if (parts.includes('campaigns'))
    for (const size of sizes) await campaign(size, `campaign to ${size.toLocaleString('en')}`)
} finally {
  table(rows)
  if (process.env.BENCH_OUTPUT) console.log(program.output())
  sink.kill()
  await db.end()
  await program.stop()
  await removeDataFolder(data)
}
