import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type News,
  receiveSend,
  refuse,
  type SiteAnswer,
  type SiteTemplate,
} from '../src/chat/channel/sandbox-platform.ts'

/**
 * The platform as an HTTP server: the same code as the sandbox, with a wire around it and faults by script.
 * Everything it does follows from its seed and from what it is asked, so a failing test fails again.
 */
export interface FakePlatform {
  baseUrl: string
  /** every send it accepted, in order */
  accepted: { payload: Record<string, unknown>; id: string; path: string }[]
  /** every call, accepted or not */
  calls: { method: string; path: string; body: Record<string, unknown> }[]
  templates: Map<string, SiteTemplate & { id: string; name: string; language: string }>
  /** files: those uploaded, and those put here that people send */
  media: Map<string, { mimeType: string; content: Buffer }>
  /** the next `times` sends (after letting `after` pass) meet this fault */
  script(fault: Fault, options?: { times?: number; after?: number }): void
  /** every nth send meets this fault */
  every(nth: number, fault: Fault): void
  /** messages per second it takes from the number; 0: any number */
  limits: { perSecond: number; pairs: boolean }
  /** what it would report, oldest first; `deliver` empties it */
  news: News[]
  /** Posts the news, signed, in batches; answers how many updates it posted. */
  deliver(post: Post, options?: DeliverOptions): Promise<number>
  close(): Promise<void>
}

export type Fault =
  | { do: 'drop' } // accepts, then cuts the connection without an answer
  | { do: 'reset' } // cuts the connection without looking
  | { do: 'status'; status: number } // an HTTP status without a readable error
  | { do: 'code'; code: number; retryAfter?: number }
  | { do: 'delay'; ms: number }

type Post = (body: string, headers: Record<string, string>) => Promise<{ status: number }>

export interface DeliverOptions {
  secret?: string
  batch?: number
  shuffle?: boolean
  copies?: number
}

export const fakeNumberId = '106540352242922'
export const fakeAccountId = '102290129340398'
const displayNumber = '15550783881'

export async function startFakePlatform(options: { seed?: number; latencyMs?: number } = {}): Promise<FakePlatform> {
  const random = randomFrom(options.seed ?? 1)
  const faults: { fault: Fault; times: number; after: number }[] = []
  const regular: { nth: number; fault: Fault }[] = []
  const recent: number[] = []
  const pairs = new Map<string, { tokens: number; at: number }>()
  let sends = 0

  const nextFault = (): Fault | undefined => {
    sends++
    const waiting = faults.find(one => one.after <= 0 && one.times > 0)
    for (const one of faults) one.after--
    if (waiting) waiting.times--
    return waiting?.fault ?? regular.find(({ nth }) => sends % nth === 0)?.fault
  }

  const overLimit = (to: unknown): number | undefined => {
    const now = performance.now()
    if (fake.limits.perSecond > 0) {
      while (recent.length > 0 && recent[0]! < now - 1000) recent.shift()
      if (recent.length >= fake.limits.perSecond) return 130429
      recent.push(now)
    }
    if (!fake.limits.pairs) return undefined
    const pair = pairs.get(String(to)) ?? { tokens: 45, at: now }
    pair.tokens = Math.min(45, pair.tokens + (now - pair.at) / 6000)
    pair.at = now
    pairs.set(String(to), pair)
    if (pair.tokens < 1) return 131056
    pair.tokens--
    return undefined
  }

  const send = async (path: string, payload: Record<string, unknown>, reply: Reply): Promise<void> => {
    const seed = `${options.seed ?? 1}:${sends}`
    const fault = nextFault()
    if (fault?.do === 'reset') return reply.cut()
    if (fault?.do === 'status') return reply.text(fault.status, 'upstream said no')
    if (fault?.do === 'code')
      return reply.json(
        refuse(fault.code, 'scripted', { seed }),
        fault.retryAfter ? { 'retry-after': String(fault.retryAfter) } : {},
      )
    if (fault?.do === 'delay') await wait(fault.ms)
    const limit = overLimit(payload.to)
    if (limit) return reply.json(refuse(limit, 'too fast', { seed }))
    if (payload.status === 'read') return reply.json({ status: 200, body: { success: true }, news: [] })
    const answer = await receiveSend(payload, {
      phoneNumberId: fakeNumberId,
      displayNumber,
      now: new Date(),
      seed,
      findTemplate: async (name, language) => fake.templates.get(`${name}:${language}`),
    })
    if (answer.status === 200) {
      const id = (answer.body as { messages: { id: string }[] }).messages[0]!.id
      fake.accepted.push({ payload, id, path })
      fake.news.push(...answer.news)
    }
    if (options.latencyMs) await wait(options.latencyMs)
    if (fault?.do === 'drop') return reply.cut()
    reply.json(answer)
  }

  const server = createServer((request, response) => {
    readBody(request)
      .then(async bytes => {
        const form = request.headers['content-type']?.startsWith('multipart/form-data')
        const body = bytes.length === 0 || form ? {} : JSON.parse(bytes.toString())
        const url = new URL(request.url ?? '/', 'http://fake')
        const reply = replyTo(response)
        fake.calls.push({ method: request.method ?? '', path: url.pathname + url.search, body })
        if (request.headers.authorization !== 'Bearer good-token')
          return reply.json(refuse(190, 'Bad token', { seed: 'x' }))
        if (/\/(messages|marketing_messages)$/.test(url.pathname))
          return send(url.pathname.split('/').at(-1)!, body, reply)
        if (url.pathname.endsWith('/message_templates'))
          return request.method === 'POST' ? createTemplate(fake, body, reply) : listTemplates(fake, url, reply)
        if (url.pathname.endsWith('/media') && form)
          return takeMedia(fake, bytes, String(request.headers['content-type']), reply)
        const mediaId = url.pathname.split('/').at(-1)!
        const media = fake.media.get(mediaId)
        if (media && url.pathname.includes('/download/'))
          return void response.writeHead(200, { 'content-type': media.mimeType }).end(media.content)
        if (media) return describeMedia(media, { id: mediaId, origin: `http://${request.headers.host}` }, reply)
        reply.json(refuse(100, 'No such object', { seed: 'x' }))
      })
      .catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const fake: FakePlatform = {
    baseUrl: `http://127.0.0.1:${port}/v23.0`,
    accepted: [],
    calls: [],
    templates: new Map(),
    media: new Map(),
    limits: { perSecond: 0, pairs: false },
    news: [],
    script: (fault, { times = 1, after = 0 } = {}) => void faults.push({ fault, times, after }),
    every: (nth, fault) => void regular.push({ nth, fault }),
    deliver: (post, deliverOptions = {}) => deliverNews(fake, random, post, deliverOptions),
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return fake
}

interface Reply {
  json(answer: SiteAnswer, headers?: Record<string, string>): void
  text(status: number, body: string): void
  cut(): void
}

const replyTo = (response: ServerResponse): Reply => ({
  json: ({ status, body }, headers = {}) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body)),
  text: (status, body) => void response.writeHead(status, { 'content-type': 'text/html' }).end(body),
  cut: () => void response.destroy(),
})

const readBody = async (request: IncomingMessage) => Buffer.concat(await Array.fromAsync<Buffer>(request))

async function takeMedia(fake: FakePlatform, bytes: Buffer, contentType: string, reply: Reply): Promise<void> {
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData()
  const file = form.get('file')
  if (form.get('messaging_product') !== 'whatsapp' || !(file instanceof File) || file.type !== form.get('type'))
    return reply.json(refuse(100, 'The form is not complete', { seed: 'media' }))
  const id = String(800_000_000_000_000 + fake.media.size)
  fake.media.set(id, { mimeType: file.type, content: Buffer.from(await file.arrayBuffer()) })
  reply.json({ status: 200, body: { id }, news: [] })
}

const describeMedia = (
  { mimeType, content }: { mimeType: string; content: Buffer },
  { id, origin }: { id: string; origin: string },
  reply: Reply,
) =>
  reply.json({
    status: 200,
    body: {
      messaging_product: 'whatsapp',
      url: `${origin}/download/${id}`,
      mime_type: mimeType,
      sha256: createHash('sha256').update(content).digest('hex'),
      file_size: String(content.length),
      id,
    },
    news: [],
  })

const wait = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

function createTemplate(fake: FakePlatform, body: Record<string, unknown>, reply: Reply): void {
  const { name, language, category, parameter_format: parameterFormat, components } = body as Record<string, string>
  const key = `${name}:${language}`
  if (fake.templates.has(key)) {
    reply.json(refuse(100, 'There is already content in this language', { seed: key }))
    return
  }
  const id = String(700_000_000_000_000 + fake.templates.size)
  fake.templates.set(key, {
    id,
    name: name!,
    language: language!,
    category: category!,
    status: 'PENDING',
    parameterFormat: parameterFormat ?? 'POSITIONAL',
    components: components as never,
  })
  reply.json({ status: 200, body: { id, status: 'PENDING', category }, news: [] })
}

function listTemplates(fake: FakePlatform, url: URL, reply: Reply): void {
  const all = [...fake.templates.values()]
  const limit = 2
  const from = Number(url.searchParams.get('after') ?? 0)
  const data = all
    .slice(from, from + limit)
    .map(({ parameterFormat, ...rest }) => ({ ...rest, parameter_format: parameterFormat }))
  const after = String(from + limit)
  const more = from + limit < all.length
  const paging = { cursors: { after }, ...(more && { next: `${url.href}&after=${after}` }) }
  reply.json({ status: 200, body: { data, paging }, news: [] })
}

async function deliverNews(
  fake: FakePlatform,
  random: () => number,
  post: Post,
  { secret = 'app-secret', batch = 1, shuffle = false, copies = 1 }: DeliverOptions,
): Promise<number> {
  const updates = fake.news.splice(0).flatMap(news => new Array<News>(copies).fill(news))
  if (shuffle) shuffleInPlace(updates, random)
  for (let i = 0; i < updates.length; i += batch) {
    const changes = updates.slice(i, i + batch).map(news => news.change)
    const body = webhookBody(changes)
    const { status } = await post(body, { 'content-type': 'application/json', ...signature(body, secret) })
    if (status !== 200) throw new Error(`The webhook answered ${status}.`)
  }
  return updates.length
}

/** Non-ASCII is escaped before signing, as the platform does. */
export const webhookBody = (changes: object[]): string =>
  JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: fakeAccountId, time: Math.floor(Date.now() / 1000), changes }],
  }).replaceAll(/[\u0080-\uffff]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

export const signature = (body: string, secret: string) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
})

/** mulberry32 */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function shuffleInPlace<T>(items: T[], random: () => number): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[items[i], items[j]] = [items[j]!, items[i]!]
  }
}

export const incomingChange = (message: object, contacts?: object[]) => ({
  field: 'messages',
  value: {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: displayNumber, phone_number_id: fakeNumberId },
    ...(contacts && { contacts }),
    messages: [message],
  },
})
