import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { Readable } from 'node:stream'
import { openDataFolder } from '../src/platform/data-folder.ts'
import { connect } from '../src/platform/database.ts'
import { findEmbeddedPostgres, urlOf } from '../src/platform/embedded-postgres.ts'
import { createAccount, makeDataFolder, removeDataFolder, startProgram } from '../test/program.ts'
import { table } from './measure.ts'

/**
 * Reads of the email service with exact totals, import and export, at two sizes: flat is the goal. Everything runs on
 * this machine: program, database and load. BENCH_ROWS sets the larger size (10000000 for ten million), BENCH_REQUESTS
 * the number of requests behind each percentile.
 */
const sizes = [10_000, Number(process.env.BENCH_ROWS ?? 1_000_000)]
const requests = Number(process.env.BENCH_REQUESTS ?? 1_000)
const writesPerSecond = 100
/** for each read */
const maxSeconds = 20

const firstNames = [
  'Ann',
  'Bob',
  'Carla',
  'Dmitri',
  'Elena',
  'Farid',
  'Grace',
  'Hiro',
  'Ines',
  'Jonas',
  'Kofi',
  'Lea',
  'Maria',
  'Noor',
  'Olga',
  'Pablo',
]
const syllables = ['ba', 'ne', 'ko', 'ri', 'mu', 'sa', 'to', 'le', 'vi', 'da', 'go', 'pe', 'zu', 'fa', 'hi', 'ju']
const random = (seed: number) => (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0) / 2 ** 32
const lastName = (i: number) => [1, 2, 3].map(k => syllables[Math.floor(random(i * 7 + k) * 16)]).join('')
const emailOf = (i: number) => `${lastName(i)}.${i}@example${i % 50}.com`

function line(i: number): string {
  const lists = [i % 20, (i * 7) % 20].map(n => `List ${n}`).join(';')
  const tags = [i % 50, (i * 3) % 50].map(n => `tag${n}`).join(';')
  const status = i % 12 === 0 ? 'unsubscribed' : i % 97 === 0 ? 'bounced' : 'subscribed'
  return `${emailOf(i)},${firstNames[i % 16]},${lastName(i)},${Math.floor(random(i) * 100)},${status},${tags},${lists}\n`
}

function* csv(rows: number): Generator<string> {
  yield 'email,firstName,lastName,leadScore,status,tags,lists\n'
  for (let i = 0; i < rows; ) {
    let text = ''
    for (const end = Math.min(rows, i + 2_000); i < end; i++) text += line(i)
    yield text
  }
}

const rssMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

interface Measured {
  [what: string]: { p50: number; p99: number; sql: number | undefined }
}

async function measureSize(
  rows: number,
): Promise<{ reads: Measured; importRows: number; exportRows: number; writes: number; rss: number }> {
  const data = await makeDataFolder()
  const program = await startProgram({ data, env: { PENNYPOST_RATE_LIMIT: '0' } })
  const account = await createAccount(data)
  const base = `${program.url}/email/api/v2`
  const headers = { authorization: `Bearer ${account.email.apiKey}` }
  // biome-ignore lint/suspicious/noExplicitAny: looks into answers of every shape
  const call = async (path: string, init: RequestInit = {}): Promise<any> => {
    const answer = await fetch(base + path, {
      ...init,
      headers: { ...headers, 'content-type': 'application/json', ...init.headers },
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  // What is timed is asked by the plainest client there is: load and program share two cores.
  const agent = new Agent({ keepAlive: true })
  const ask = (path: string, method = 'GET', change?: object) =>
    new Promise<void>((resolve, reject) => {
      const text = change && JSON.stringify(change)
      const asked = request(`${base}${path}`, {
        agent,
        method,
        headers: { ...headers, ...(text && { 'content-type': 'application/json', 'content-length': text.length }) },
      })
      asked.on('error', reject)
      asked.on('response', answer => {
        answer.resume()
        answer.on('end', () =>
          answer.statusCode === 200 ? resolve() : reject(new Error(`${path}: ${answer.statusCode}`)),
        )
      })
      asked.end(text)
    })
  for (let i = 0; i < 20; i++) await call('/lists', { method: 'POST', body: JSON.stringify({ name: `List ${i}` }) })

  let rss = 0
  const watch = setInterval(() => {
    rss = Math.max(rss, rssMb(program.child.pid!))
  }, 200)
  const body = Readable.toWeb(Readable.from(csv(rows))) as ReadableStream
  const from = performance.now()
  let {
    data: { import: record },
  } = await call('/subscribers/import', {
    method: 'POST',
    body,
    headers: { 'content-type': 'text/csv' },
    duplex: 'half',
  } as RequestInit)
  while (record.status !== 'done') {
    await sleep(100)
    record = (await call(`/subscribers/imports/${record.id}`)).data.import
    if (record.status === 'failed') throw new Error(record.error)
  }
  const importRows = rows / ((performance.now() - from) / 1000)
  if (record.created !== rows) throw new Error(`created ${record.created} of ${rows}`)
  clearInterval(watch)

  const connection = await findEmbeddedPostgres(await openDataFolder(data))
  const db = connect(urlOf(connection!), { name: 'bench', max: 1, statementTimeoutMs: 600_000 })
  const rules = {
    match: 'all',
    conditions: [
      { field: 'leadScore', operator: 'gte', value: 40 },
      { field: 'tags', operator: 'in', value: ['tag3', 'tag7', 'tag11'] },
      { match: 'none', conditions: [{ field: 'lists', operator: 'equals', value: 'List 5' }] },
    ],
  }
  await call('/segments', { method: 'POST', body: JSON.stringify({ name: 'Warm', rules }) })
  await db`vacuum analyze`

  let writing = true
  let writes = 0
  const writer = (async () => {
    for (let i = 0; writing; i++) {
      const due = performance.now() + 1000 / writesPerSecond
      const change = { leadScore: i % 100, tagsToAdd: [`tag${i % 50}`], tagsToRemove: [`tag${(i + 1) % 50}`] }
      void ask(`/subscribers/${emailOf((i * 7919) % rows)}`, 'PUT', change)
        .then(() => writes++)
        .catch(() => undefined)
      await sleep(Math.max(0, due - performance.now()))
    }
  })()

  const id = account.businessId
  const count = (condition: string) =>
    `select count(*) from email_subscriber s where business_id = '${id}' and delete_after is null and ${condition}`
  const list = `list_numbers && array(select number from email_list where business_id = '${id}' and name = 'List 3')`
  const tag = `tag_numbers && array(select number from email_tag where business_id = '${id}' and name = 'tag4')`
  const reads: [string, (i: number) => string, string | undefined][] = [
    ['by email', i => `/subscribers/${emailOf((i * 7919) % rows)}`, undefined],
    ['no filter', () => '/subscribers', count('true')],
    ['status', () => '/subscribers?status=unsubscribed', count("status = 'unsubscribed'")],
    ['one list', i => `/subscribers?lists=List%20${i % 20}`, count(list)],
    ['one tag', i => `/subscribers?tags=tag${i % 50}`, count(tag)],
    [
      'score range',
      i => `/subscribers?leadScoreMin=${i % 50}&leadScoreMax=${50 + (i % 50)}`,
      count('lead_score between 20 and 70'),
    ],
    [
      'three lists',
      i => `/subscribers?lists=List%20${i % 20},List%20${(i + 3) % 20},List%20${(i + 7) % 20}`,
      count(list),
    ],
    [
      'list, tag, status and score',
      i =>
        `/subscribers?lists=List%20${i % 20}&tags=tag${i % 50}&status=subscribed&leadScoreMin=${i % 40}&leadScoreMax=80`,
      count(`${list} and ${tag} and status = 'subscribed' and lead_score between 10 and 80`),
    ],
    [
      'all filters with search',
      i => `/subscribers?search=${lastName(i)}&lists=List%20${i % 20}&status=subscribed&leadScoreMin=10`,
      undefined,
    ],
    [
      'search',
      i => `/subscribers?search=${lastName(i * 13)}`,
      count("(lower(email) || ' ' || lower(first_name) || ' ' || lower(last_name)) like '%bakori%'"),
    ],
    ['search a common name', () => '/subscribers?search=maria', undefined],
    ['search a domain', i => `/subscribers?search=example${i % 50}.com`, undefined],
    ['search what all have', () => '/subscribers?search=example', undefined],
    ['search two letters', i => `/subscribers?search=${syllables[i % 16]}`, undefined],
    ['search one letter', i => `/subscribers?search=${'aeiou'[i % 5]}`, undefined],
    ['segment of score, tags and lists', () => '/subscribers?segments=Warm', undefined],
    [
      'statistics',
      () => '/subscribers/stats',
      `select count(*), count(*) filter (where status = 'subscribed'), avg(lead_score) from email_subscriber where business_id = '${id}' and delete_after is null`,
    ],
    [
      'page 1,000',
      () => '/subscribers?page=1000&limit=10',
      `select id from email_subscriber where business_id = '${id}' and delete_after is null order by created_at desc, id desc limit 10 offset 9990`,
    ],
    ['page 1,000 of 100', () => '/subscribers?page=1000&limit=100', undefined],
  ]
  const measured: Measured = {}
  const readsFrom = performance.now()
  for (const [what, path, sql] of reads) {
    if (rows < 100_000 && what.startsWith('page 1,000 of')) continue
    for (let i = 0; i < 20; i++) await ask(path(i))
    const times: number[] = []
    const until = performance.now() + maxSeconds * 1_000
    for (let i = 0; i < requests && performance.now() < until; i++) {
      const start = performance.now()
      await ask(path(i))
      times.push(performance.now() - start)
    }
    times.sort((a, b) => a - b)
    let plain: number | undefined
    for (let i = 0; sql && i < 3; i++) {
      const start = performance.now()
      await db.unsafe(sql)
      plain = Math.min(plain ?? Number.POSITIVE_INFINITY, performance.now() - start)
    }
    measured[what] = {
      p50: times[Math.floor(times.length / 2)]!,
      p99: times[Math.floor(times.length * 0.99)]!,
      sql: plain,
    }
    console.log(
      `${rows} ${what}: p50 ${measured[what].p50.toFixed(1)} p99 ${measured[what].p99.toFixed(1)} ms (${times.length} requests)`,
    )
  }
  writing = false
  await writer
  const seconds = (performance.now() - readsFrom) / 1_000

  const exportFrom = performance.now()
  const answer = await fetch(`${base}/subscribers/export`, { headers })
  let lines = -1
  for await (const part of answer.body!) for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) lines++
  const exportRows = lines / ((performance.now() - exportFrom) / 1000)
  await db.end()
  await program.stop()
  await removeDataFolder(data)
  return { reads: measured, importRows, exportRows, writes: writes / seconds, rss }
}

const [small, large] = [await measureSize(sizes[0]!), await measureSize(sizes[1]!)]
const ms = (value: number | undefined) => (value === undefined ? '' : value.toFixed(1))
table(
  Object.entries(large.reads).map(([read, { p50, p99, sql }]) => ({
    read,
    [`p50 ms at ${sizes[0]}`]: ms(small.reads[read]?.p50),
    [`p50 ms at ${sizes[1]}`]: ms(p50),
    [`p99 ms at ${sizes[1]}`]: ms(p99),
    growth: small.reads[read] ? `${(p50 / small.reads[read].p50).toFixed(1)}×` : '',
    'plain count ms': ms(sql),
  })),
)
for (const [rows, seen] of [
  [sizes[0], small],
  [sizes[1], large],
] as const)
  console.log(
    `${rows}: import ${Math.round(seen.importRows)} rows/s, most memory of the program ${Math.round(seen.rss)} MB; export ${Math.round(seen.exportRows)} rows/s; ${Math.round(seen.writes)} writes/s during the reads`,
  )
