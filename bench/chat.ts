import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Pool } from 'undici'
import { openDataFolder } from '../src/platform/data-folder.ts'
import { connect } from '../src/platform/database.ts'
import { findEmbeddedPostgres, urlOf } from '../src/platform/embedded-postgres.ts'
import { createAccount, freePort, makeDataFolder, removeDataFolder, startProgram } from '../test/program.ts'
import { table } from './measure.ts'

/** What a send costs over the platform's own time, durable sends a second, webhooks in, and lists of a million contacts. */
const seconds = Number(process.env.BENCH_SECONDS ?? 5)
const contactCount = Number(process.env.BENCH_CONTACTS ?? 1_000_000)
const chosen = process.env.BENCH_ONLY
const data = await makeDataFolder()
const program = await startProgram({
  data,
  env: { PENNYPOST_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1/32', PENNYPOST_SERVICES: 'chat', PENNYPOST_DEMO: 'false' },
})
const account = await createAccount(data)
const connection = await findEmbeddedPostgres(await openDataFolder(data))
if (!connection) throw new Error('The embedded server was not found.')
const db = connect(urlOf(connection), { name: 'bench', max: 2, statementTimeoutMs: 600_000 })
const keyed = { authorization: `Bearer ${account.chat.apiKey}`, 'content-type': 'application/json' }
const ours = new Pool(program.url, { connections: 256 })
const children: { kill(): void }[] = []

async function start(file: string, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  await once(child.stdout, 'data')
}

async function startPlatform(latencyMs: number): Promise<string> {
  const port = await freePort()
  await start('part-chat-platform.ts', String(port), String(latencyMs))
  return `http://127.0.0.1:${port}`
}

async function call(
  pool: Pool,
  path: string,
  options: { method?: string; body?: string; headers?: Record<string, string> },
) {
  const { statusCode, body } = await pool.request({
    path,
    method: (options.method ?? 'GET') as 'GET',
    headers: options.headers,
    body: options.body,
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text.slice(0, 300)}`)
  return text
}

async function connectTo(platform: string): Promise<string> {
  const body = JSON.stringify({
    type: 'cloud',
    baseUrl: `${platform}/v23.0`,
    phoneNumberId: '1',
    accessToken: 'token',
    appSecret: 'secret',
    enforceWindow: false,
    messagesPerSecond: 10_000,
  })
  const answer = JSON.parse(await call(ours, '/chat/api/v1/settings/channel', { method: 'PUT', body, headers: keyed }))
  await new Promise(resolve => setTimeout(resolve, 1_000))
  return new URL(answer.data.webhookUrl).pathname
}

const recipients = 5_000
let next = 0
const textBody = () =>
  JSON.stringify({ to: 14150000000 + (next++ % recipients), type: 'text', text: 'Your order is on its way.' })
const sendOurs = () => call(ours, '/chat/api/v1/messages', { method: 'POST', body: textBody(), headers: keyed })

/** Processor time of the program and of its PostgreSQL so far: it says what a send costs also while other work shares the cores. */
function cpuMs(): { program: number; database: number } {
  const ticks = (pid: string) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      return {
        parent: fields[1]!,
        ms: (Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])) * 10,
      }
    } catch {
      return { parent: '', ms: 0 }
    }
  }
  const all = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  const server = all.find(
    pid =>
      ticks(pid).parent === String(program.child.pid) &&
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres'),
  )
  const children = all.filter(pid => ticks(pid).parent === server)
  return {
    program: ticks(String(program.child.pid)).ms,
    database: [...children, server ?? ''].reduce((sum, pid) => sum + ticks(pid).ms, 0),
  }
}

const at = (sorted: number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

interface Seen {
  times: number[]
  elapsedMs: number
}

/** As many calls at a time as named, each the next one when it is done. */
async function closedLoop(parallel: number, forMs: number, act: () => Promise<unknown>): Promise<Seen> {
  const times: number[] = []
  const from = performance.now()
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (performance.now() - from < forMs) {
        const begun = performance.now()
        await act()
        times.push(performance.now() - begun)
      }
    }),
  )
  return { times: times.sort((a, b) => a - b), elapsedMs: performance.now() - from }
}

/** So many calls a second, whatever they take. */
async function openLoop(perSecond: number, forMs: number, act: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  const calls: Promise<void>[] = []
  const from = performance.now()
  for (let n = 0; performance.now() - from < forMs; n++) {
    const wait = from + (n * 1000) / perSecond - performance.now()
    if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
    const begun = performance.now()
    calls.push(act().then(() => void times.push(performance.now() - begun)))
  }
  await Promise.all(calls)
  return times.sort((a, b) => a - b)
}

/** The platform takes 100 ms; what comes on top is ours. */
async function latency(): Promise<void> {
  const platform = await startPlatform(100)
  const barePort = await freePort()
  await start('part-chat-bare.ts', String(barePort), platform)
  await connectTo(platform)
  const bare = new Pool(`http://127.0.0.1:${barePort}`, { connections: 64 })
  const sendBare = () =>
    call(bare, '/messages', { method: 'POST', body: textBody(), headers: { 'content-type': 'application/json' } })
  await closedLoop(8, 1_500, sendOurs)
  await closedLoop(8, 1_500, sendBare)
  const rows = []
  for (const [name, act] of [
    ['bare pass-through', sendBare],
    ['POST /messages', sendOurs],
    [
      'POST /messages with Idempotency-Key',
      () =>
        call(ours, '/chat/api/v1/messages', {
          method: 'POST',
          body: textBody(),
          headers: { ...keyed, 'idempotency-key': `bench ${next}` },
        }),
    ],
  ] as const) {
    const times = await openLoop(50, seconds * 2_000, act)
    rows.push({
      'at 50/s, platform 100 ms': name,
      'p50 ms': at(times, 0.5).toFixed(1),
      'p99 ms': at(times, 0.99).toFixed(1),
    })
  }
  table(rows)
}

async function throughput(): Promise<void> {
  const platform = await startPlatform(20)
  const barePort = await freePort()
  await start('part-chat-bare.ts', String(barePort), platform)
  await connectTo(platform)
  const bare = new Pool(`http://127.0.0.1:${barePort}`, { connections: 256 })
  await closedLoop(64, 3_000, sendOurs)
  const rows = []
  for (const [name, act] of [
    [
      'bare pass-through',
      () =>
        call(bare, '/messages', { method: 'POST', body: textBody(), headers: { 'content-type': 'application/json' } }),
    ],
    ['POST /messages, durable', sendOurs],
  ] as const) {
    const before = cpuMs()
    const { times, elapsedMs } = await closedLoop(96, seconds * 2_000, act)
    const after = cpuMs()
    const cost = (of: 'program' | 'database') => ((after[of] - before[of]) / times.length).toFixed(2)
    rows.push({
      'platform 20 ms, 96 at a time': name,
      'sends/s': Math.round((times.length * 1000) / elapsedMs),
      'p50 ms': at(times, 0.5).toFixed(1),
      'p99 ms': at(times, 0.99).toFixed(1),
      'program CPU ms/send': name.startsWith('bare') ? '' : cost('program'),
      'PostgreSQL CPU ms/send': name.startsWith('bare') ? '' : cost('database'),
    })
  }
  table(rows)
}

async function webhooks(): Promise<void> {
  const path = await connectTo(await startPlatform(0))
  await closedLoop(32, 2_000, sendOurs)
  const sent = await db<{ id: string; platformId: string }[]>`
    select id, platform_id as "platformId" from chat_message where platform_id is not null limit 20000`
  let turn = 0
  const statuses = (count: number) =>
    Array.from({ length: count }, () => {
      const { id, platformId } = sent[turn++ % sent.length]!
      const status = ['sent', 'delivered', 'read'][Math.floor(turn / sent.length) % 3]
      return { id: platformId, status, timestamp: '1790000000', recipient_id: '1', biz_opaque_callback_data: `${id}.1` }
    })
  const post = (count: number) => {
    const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: '1' }, statuses: statuses(count) }
    const body = JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
    })
    const signature = `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`
    return call(ours, path, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': signature },
    })
  }
  const rows = []
  for (const [name, count, parallel] of [
    ['one status a POST', 1, 32],
    ['1,000 statuses a POST', 1_000, 4],
  ] as const) {
    const begun = performance.now()
    const { times, elapsedMs } = await closedLoop(parallel, seconds * 1_000, () => post(count))
    while ((await db`select 1 from chat_webhook where processed_at is null limit 1`).length > 0)
      await new Promise(resolve => setTimeout(resolve, 50))
    rows.push({
      webhooks: name,
      'events taken/s': Math.round((times.length * count * 1000) / elapsedMs),
      'p50 ms': at(times, 0.5).toFixed(1),
      'p99 ms': at(times, 0.99).toFixed(1),
      'events applied/s, to the last': Math.round((times.length * count * 1000) / (performance.now() - begun)),
    })
  }
  table(rows)
}

async function imports(): Promise<void> {
  await call(ours, '/chat/api/v1/settings/tags', { method: 'POST', body: '{"name":"imported"}', headers: keyed })
  const rows = Array.from({ length: 100_000 }, (_, i) => `${4_930_000_000_000 + i},Person ${i},imported,Imported`)
  const begun = performance.now()
  const before = cpuMs()
  const answer = await call(ours, '/chat/api/v1/contacts/import', {
    method: 'POST',
    body: `mobile,name,tags,list\n${rows.join('\n')}`,
    headers: { ...keyed, 'content-type': 'text/csv' },
  })
  const elapsedMs = performance.now() - begun
  const after = cpuMs()
  const cost = (of: 'program' | 'database') => ((after[of] - before[of]) / rows.length).toFixed(3)
  table([
    {
      'CSV rows': rows.length,
      created: JSON.parse(answer).data.created,
      'rows/s': Math.round((rows.length * 1000) / elapsedMs),
      'program CPU ms/row': cost('program'),
      'PostgreSQL CPU ms/row': cost('database'),
    },
  ])
}

async function contacts(): Promise<void> {
  console.log(`\nWriting ${contactCount.toLocaleString('en')} contacts …`)
  const { businessId } = account
  // Built once over all contacts: the writing is not what is measured.
  const indexes = await db<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes where tablename = 'chat_contact' and indexdef like '%USING gin%'`
  for (const { name } of indexes) await db.unsafe(`drop index ${name}`)
  for (let from = 0; from < contactCount; from += 100_000)
    await db`
      insert into chat_contact (business_id, id, name, country_code, mobile, source, optin, tags, list, attributes, created_at, updated_at)
      select ${businessId}, lpad(to_hex(n), 24, '0'), (array['Asha','Ben','Cleo','Dieter','Elisa','Farid'])[1 + n % 6] || ' ' ||
          (array['Rao','Ortiz','Marsh','Kraus','Souza','Benali','Okafor'])[1 + n % 7] || ' ' || n, '49', '49' || (1500000000 + n * 7),
        'csv', n % 100 <> 0, case when n % 3 = 0 then array['regular'] when n % 1000 = 1 then array['vip'] else '{}' end,
        case when n % 2 = 0 then array['Customers'] else '{}' end,
        case when n % 10 = 0 then jsonb_build_array(jsonb_build_object('_id', lpad(to_hex(n), 24, '0'), 'name', 'city', 'value', 'C' || n % 1000)) else '[]' end,
        now() - n * interval '1 second', now()
      from generate_series(${from}::int, ${Math.min(from + 100_000, contactCount) - 1}::int) n`
  for (const { definition } of indexes) await db.unsafe(definition)
  await db`delete from chat_tally where business_id = ${businessId}`
  await db`
    insert into chat_tally (business_id, name, shard, count)
    select ${businessId}, name, 0, count(*) from (
      select 'contacts' as name from chat_contact where business_id = ${businessId}
      union all select 'optin:' || optin from chat_contact where business_id = ${businessId}
      union all select 'source:' || source from chat_contact where business_id = ${businessId}
      union all select 'blocked:' || incoming_blocked from chat_contact where business_id = ${businessId}
      union all select 'tag:' || tag from chat_contact, unnest(tags) tag where business_id = ${businessId}
      union all select 'list:' || list_name from chat_contact, unnest(list) list_name where business_id = ${businessId}) counted group by name`
  await db`
    insert into chat_group (business_id, key, optin, source, incoming_blocked, tags, list)
    select distinct on (key) ${businessId}, key, optin, source, incoming_blocked, tags, list
    from (select *, chat_group_key(optin, source, incoming_blocked, tags, list) as key from chat_contact) keyed on conflict do nothing`
  await db`
    insert into chat_tally (business_id, name, shard, count)
    select ${businessId}, 'group:' || chat_group_key(optin, source, incoming_blocked, tags, list), 0, count(*) from chat_contact group by 2`
  await db`vacuum analyze chat_contact`
  const rows = []
  for (const query of [
    '',
    '?page=40',
    '?name=Asha Rao 10',
    '?mobile=1503456',
    '?tags=regular',
    '?tags=vip',
    '?list=Customers',
    '?optin=false',
    '?optin=true&order=1',
    '?attributes[0][name]=city&attributes[0][value]=C10',
    '?tags=vip&optin=true',
    '?tags=regular&optin=true',
    '?tags=regular,vip&list=Customers&optin=true&source=csv',
  ]) {
    const path = `/chat/api/v1/contacts/${encodeURI(query)}`
    const first = JSON.parse(await call(ours, path, { headers: keyed }))
    const { times } = await closedLoop(1, Math.min(2_000, seconds * 500), () => call(ours, path, { headers: keyed }))
    rows.push({
      'GET /contacts/': query || '(no filter)',
      total: first.data.total,
      'p50 ms': at(times, 0.5).toFixed(1),
      'p99 ms': at(times, 0.99).toFixed(1),
    })
  }
  table(rows)
}

/** The usual recipient is known already. */
for (let from = 0; from < recipients; from += 1_000)
  await call(ours, '/chat/api/v1/contacts', {
    method: 'POST',
    body: JSON.stringify(Array.from({ length: 1_000 }, (_, i) => ({ mobile: 14150000000 + from + i }))),
    headers: keyed,
  })

const parts = { latency, throughput, webhooks, imports, contacts }
try {
  for (const [name, run] of Object.entries(parts))
    if (!chosen || chosen.split(',').includes(name)) {
      await run()
      console.log()
    }
} finally {
  for (const child of children) child.kill()
  await ours.close()
  await db.end()
  await program.stop()
  await removeDataFolder(data)
}
