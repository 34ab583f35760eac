import { promisify } from 'node:util'
import { brotliDecompress, unzip, zstdDecompress } from 'node:zlib'
import type { Agent, Dispatcher } from 'undici'
import { codeOf, OutboundRefused, tooLarge } from './outbound-refused.ts'

/** One hop of a guarded call: a request and its answer, with a bound on the body. */
/** One call over all its hops. */
export interface Call {
  signal: AbortSignal
  maxBytes: number
  cut: boolean
  sent: boolean
}

export interface Hop {
  url: URL
  method: string
  headers: Record<string, string>
  body: string | Uint8Array | undefined
}

export interface HopAnswer {
  status: number
  headers: Record<string, string>
  body: Buffer
}

export function exchange(agent: Agent, call: Call, hop: Hop, followed: boolean): Promise<HopAnswer> {
  return new Promise<HopAnswer>((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    const answer = { status: 0, headers: {} as Record<string, string> }
    const chunks: Buffer[] = []
    let size = 0

    const stop = () => {
      done(() => reject(call.signal.reason))
      controller?.abort(call.signal.reason)
    }
    const done = (settle: () => void) => {
      call.signal.removeEventListener('abort', stop)
      settle()
    }
    if (call.signal.aborted) return reject(call.signal.reason)
    call.signal.addEventListener('abort', stop)

    agent.dispatch(requestOf(hop), {
      // Comes just before the first byte is written. A call that ended while it waited for a connection stops here.
      onRequestStart(started) {
        call.signal.throwIfAborted()
        controller = started
        call.sent = true
      },
      onResponseStart(started, status, headers) {
        if (status < 200) return
        answer.status = status
        answer.headers = textHeaders(headers)
        if (followed && isRedirect(answer)) {
          // Nobody reads the page that comes with a redirect, and it may be endless.
          done(() => resolve({ ...answer, body: Buffer.alloc(0) }))
          started.abort(new Error('Redirected'))
        } else if (!call.cut && hop.method !== 'HEAD' && Number(answer.headers['content-length']) > call.maxBytes) {
          throw tooLarge(hop.url, call.maxBytes)
        }
      },
      onResponseData(started, chunk) {
        size += chunk.length
        if (size > call.maxBytes && !call.cut) throw tooLarge(hop.url, call.maxBytes)
        chunks.push(chunk)
        if (size > call.maxBytes) {
          done(() => resolve({ ...answer, body: Buffer.concat(chunks).subarray(0, call.maxBytes) }))
          started.abort(new Error('Enough was read'))
        }
      },
      onResponseEnd: () => done(() => resolve({ ...answer, body: Buffer.concat(chunks) })),
      onResponseError: (_, error) => done(() => reject(error)),
    })
  })
}

function requestOf({ url, method, headers, body }: Hop): Dispatcher.DispatchOptions {
  return { origin: url.origin, path: url.pathname + url.search, method, headers, body }
}

export function isRedirect(answer: Pick<HopAnswer, 'status' | 'headers'>): boolean {
  return [301, 302, 303, 307, 308].includes(answer.status) && answer.headers.location !== undefined
}

const STEERING_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export function requestHeaders(given: Record<string, string> = {}): Record<string, string> {
  const entries = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  return {
    'user-agent': 'Pennypost',
    ...Object.fromEntries(entries.filter(([name]) => !STEERING_HEADERS.has(name))),
    'accept-encoding': 'identity',
  }
}

function textHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const DECODERS = new Map<string, Decoder>([
  ['gzip', promisify(unzip)],
  ['x-gzip', promisify(unzip)],
  ['deflate', promisify(unzip)],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
])

/** Identity is asked for; stores that keep files compressed answer compressed all the same. */
export async function decompress(answer: HopAnswer, maxBytes: number, url: URL): Promise<HopAnswer> {
  const { 'content-encoding': encoding = 'identity', ...headers } = answer.headers
  if (answer.body.length === 0 || encoding.toLowerCase() === 'identity') return answer
  const decode = DECODERS.get(encoding.trim().toLowerCase())
  try {
    if (!decode) throw new Error(`Unknown content-encoding ${encoding}`)
    const body = await decode(answer.body, { maxOutputLength: maxBytes })
    return { status: answer.status, headers: { ...headers, 'content-length': String(body.length) }, body }
  } catch (cause) {
    if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(url, maxBytes)
    const message = `The answer of ${url.host} is compressed in a way that cannot be read.`
    throw new OutboundRefused('connection', message, { notSent: false, cause })
  }
}
