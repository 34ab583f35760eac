import { command, makeDataFolder, removeDataFolder, startProgram } from '../test/program.ts'
import { load, table } from './measure.ts'

/** How quickly the pages of a shop answer at the server; the goal is under 50 ms. */
const seconds = Number(process.env.BENCH_SECONDS ?? 4)
const data = await makeDataFolder()
const program = await startProgram({ data })
const { stdout } = await command(data, ['demo'])
const checkout = /\/checkout\/\w+/.exec(stdout)?.[0]
const enter = /\/portal\/(\w+)\/enter\/\S+/.exec(stdout)
if (!checkout || !enter) throw new Error('The demo printed no pages to measure.')
const entered = await fetch(program.url + enter[0], { redirect: 'manual' })
const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';')

const shown = await fetch(program.url + checkout)
const page = await shown.text()
const [visit = ''] = (shown.headers.get('set-cookie') ?? '').split(';')
const plan = /name="plan" value="(\w+)"/.exec(page)?.[1] ?? ''
const body = new URLSearchParams({ action: 'update', plan, quantity: '3', coupon: 'WELCOME20', country: 'DE' })

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const pages = {
  'checkout page, a new visitor': { url: program.url + checkout },
  'checkout page, a known visitor': { url: program.url + checkout, headers: { cookie: visit } },
  'total with coupon and tax': {
    url: program.url + checkout,
    method: 'POST' as const,
    headers: { cookie: visit, ...form },
    body: body.toString(),
  },
  'portal of a customer': { url: `${program.url}/portal/${enter[1]}`, headers: { cookie } },
}
const rows: Record<string, string | number>[] = []
for (const [name, one] of Object.entries(pages)) {
  // One at a time tells how long a page takes; many at once how many a process serves.
  const alone = await load({ ...one, connections: 1, seconds: Math.max(1, seconds / 2) })
  const many = await load({ ...one, connections: 16, seconds })
  rows.push({
    page: name,
    'p50 ms alone': alone.p50,
    'p99 ms alone': alone.p99,
    'pages/s': many.perSecond,
    'p99 ms at 16': many.p99,
    errors: alone.errors + many.errors,
  })
}
await program.stop()
await removeDataFolder(data)
table(rows)
