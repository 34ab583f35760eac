import autocannon from 'autocannon'

export interface Load {
  url: string
  headers?: Record<string, string>
  method?: 'GET' | 'POST' | 'PUT'
  body?: string
  connections?: number
  seconds?: number
}

export interface Seen {
  perSecond: number
  p50: number
  p99: number
  errors: number
}

export async function load({
  url,
  headers = {},
  method = 'GET',
  body,
  connections = 32,
  seconds = 5,
}: Load): Promise<Seen> {
  const result = await autocannon({
    url,
    headers,
    method,
    connections,
    duration: seconds,
    ...(body !== undefined && { body }),
  })
  return {
    perSecond: Math.round(result.requests.average),
    p50: result.latency.p50,
    p99: result.latency.p99,
    errors: result.non2xx + result.errors,
  }
}

/** Rounds of each in turn, the best of each: what else the machine does hurts both alike. */
export async function compare(rounds: number, loads: Record<string, Load>): Promise<Record<string, Seen>> {
  const best: Record<string, Seen> = {}
  for (let round = 0; round < rounds; round++)
    for (const [name, one] of Object.entries(loads)) {
      const seen = await load(one)
      if (!best[name] || seen.perSecond > best[name].perSecond) best[name] = seen
    }
  return best
}

export function table(rows: Record<string, string | number>[]): void {
  const names = Object.keys(rows[0] ?? {})
  console.log(`| ${names.join(' | ')} |\n|${names.map(() => '---|').join('')}`)
  for (const row of rows) console.log(`| ${names.map(name => row[name] ?? '').join(' | ')} |`)
}
