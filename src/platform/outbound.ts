/**
 * The only way to fetch a URL that a user gave.
 *
 * A call is one or more hops (redirects are followed by hand). At every hop the URL is checked, and the name is resolved
 * and checked inside the lookup of the connection itself: the socket can only go to an address that was just checked, so
 * a name that answers differently a moment later gains nothing. A kept-alive connection stays on the address it was
 * checked for. Proxies from the environment are not used: they would resolve the name again, out of sight.
 */
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { brotliDecompress, unzip, zstdDecompress } from 'node:zlib'
import { Agent, type Dispatcher, errors } from 'undici'
import { addressCheck } from './addresses.ts'

export interface OutboundRules {
  /** Addresses or CIDR blocks that may be reached although they are not public. */
  allowPrivate: string[]
}

export interface OutboundOptions {
  method?: string
  /** Those that steer the connection (host, content-length, accept-encoding and the like) are left out. */
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** The whole call: names, connections, redirects and the last byte of the body. */
  timeoutMs?: number
  /** Of the body, as received and after decompression. */
  maxBytes?: number
  /** refuse (default), or cut: the beginning of the body is enough, and is returned as received. */
  whenTooLarge?: 'refuse' | 'cut'
  /** 0 returns redirects as they are. */
  maxRedirects?: number
  /** When it aborts, the call rejects with its reason, not with OutboundRefused. */
  signal?: AbortSignal
}

export interface OutboundAnswer {
  status: number
  headers: Record<string, string>
  body: Buffer
  /** The last one, after redirects. */
  url: string
  durationMs: number
}

export interface Outbound {
  fetch(url: string, options?: OutboundOptions): Promise<OutboundAnswer>
  /** Refuses what a fetch would refuse before it connects: the form of the URL, and where its name leads now. */
  check(url: string): Promise<void>
  /** Waits for calls under way. */
  close(): Promise<void>
}

export type OutboundReason =
  | 'not_http'
  | 'credentials_in_url'
  | 'private_address'
  | 'unresolvable'
  | 'too_large'
  | 'too_many_redirects'
  | 'bad_redirect'
  | 'timeout'
  | 'connection'

/** The message is a sentence for the user and never names an address; the cause is for the log and may. */
export class OutboundRefused extends Error {
  readonly reason: OutboundReason
  /** True when it is certain that no byte of the request left. */
  readonly notSent: boolean

  constructor(reason: OutboundReason, message: string, options: { notSent: boolean; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'OutboundRefused'
    this.reason = reason
    this.notSent = options.notSent
  }
}

type Resolve = (hostname: string) => Promise<string[]>

/** One call over all its hops. */
interface Call {
  signal: AbortSignal
  maxBytes: number
  cut: boolean
  sent: boolean
}

interface Hop {
  url: URL
  method: string
  headers: Record<string, string>
  body: string | Uint8Array | undefined
}

type HopAnswer = Pick<OutboundAnswer, 'status' | 'headers' | 'body'>

const CONNECTIONS_PER_ORIGIN = 32
const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MAX_MS = 30_000
const MAX_HEADER_BYTES = 16_384

export function createOutbound(
  rules: OutboundRules,
  options: { resolve?: Resolve; connectionsPerOrigin?: number } = {},
): Outbound {
  const isAllowed = addressCheck(rules.allowPrivate)
  const resolveChecked = checkedResolve(options.resolve ?? resolveBySystem, isAllowed)
  const agent = new Agent({
    connections: options.connectionsPerOrigin ?? CONNECTIONS_PER_ORIGIN,
    // One request a connection at a time: a stranger's server cannot hold up the requests of others.
    allowH2: false,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The call's own time limit covers these; a second one would only shorten calls that ask for more time.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      lookup: lookupBy(resolveChecked),
      timeout: CONNECT_TIMEOUT_MS,
      // Named, because NODE_TLS_REJECT_UNAUTHORIZED would switch it off.
      rejectUnauthorized: true,
    },
  })

  return {
    fetch: (url, options = {}) => fetchGuarded(agent, isAllowed, url, options),
    async check(url) {
      const target = parseTarget(url)
      refusePrivateLiteral(target, isAllowed)
      const host = target.hostname.replace(/^\[|\]$/g, '')
      if (!isIP(host)) await resolveChecked(host)
    },
    close: () => agent.close(),
  }
}

async function fetchGuarded(
  agent: Agent,
  isAllowed: (address: string) => boolean,
  url: string,
  { timeoutMs = 10_000, maxBytes = 1_048_576, whenTooLarge, maxRedirects = 3, signal, ...request }: OutboundOptions,
): Promise<OutboundAnswer> {
  const startedAt = performance.now()
  let hop: Hop = {
    url: parseTarget(url),
    method: request.method?.toUpperCase() ?? 'GET',
    headers: requestHeaders(request.headers),
    body: request.body,
  }
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), timeoutMs)
  const call: Call = {
    signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
    maxBytes,
    cut: whenTooLarge === 'cut',
    sent: false,
  }
  try {
    for (let redirects = 0; ; redirects++) {
      refusePrivateLiteral(hop.url, isAllowed)
      const answer = await exchange(agent, call, hop, maxRedirects > 0)
      const next = maxRedirects > 0 ? redirected(hop, answer) : undefined
      if (!next) {
        const durationMs = Math.round(performance.now() - startedAt)
        const read = call.cut ? answer : await decompress(answer, maxBytes, hop.url)
        return { ...read, url: hop.url.href, durationMs }
      }
      if (redirects === maxRedirects) {
        throw refusal('too_many_redirects', `There are more than ${maxRedirects} redirects.`)
      }
      hop = next
    }
  } catch (error) {
    if (signal?.aborted && error === signal.reason) throw error
    const late = timeout.signal.aborted && error === timeout.signal.reason
    throw explain(late ? timedOut(hop.url) : error, hop.url, call.sent)
  } finally {
    clearTimeout(timer)
  }
}

function exchange(agent: Agent, call: Call, hop: Hop, followed: boolean): Promise<HopAnswer> {
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

function parseTarget(text: string): URL {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw refusal('not_http', 'The address must be a URL that begins with http:// or https://.')
  }
  if (url.username || url.password) {
    throw refusal('credentials_in_url', 'The URL must not contain a user name or password.')
  }
  return url
}

// Redirects

function isRedirect(answer: Pick<HopAnswer, 'status' | 'headers'>): boolean {
  return [301, 302, 303, 307, 308].includes(answer.status) && answer.headers.location !== undefined
}

function redirected(hop: Hop, answer: HopAnswer): Hop | undefined {
  if (!isRedirect(answer)) return undefined
  const url = redirectTarget(answer.headers.location!, hop.url)
  const becomesGet = answer.status === 303 ? hop.method !== 'HEAD' : answer.status <= 302 && hop.method === 'POST'
  const dropped = (name: string) =>
    (becomesGet && name.startsWith('content-')) ||
    (url.origin !== hop.url.origin && (name === 'authorization' || name === 'cookie'))
  return {
    url,
    method: becomesGet ? 'GET' : hop.method,
    headers: Object.fromEntries(Object.entries(hop.headers).filter(([name]) => !dropped(name))),
    body: becomesGet ? undefined : hop.body,
  }
}

function redirectTarget(location: string, base: URL): URL {
  try {
    return parseTarget(new URL(location, base).href)
  } catch (cause) {
    throw new OutboundRefused('bad_redirect', `${base.host} redirects to a URL that cannot be followed.`, {
      notSent: false,
      cause,
    })
  }
}

// Headers and bodies

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

function requestHeaders(given: Record<string, string> = {}): Record<string, string> {
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
async function decompress(answer: HopAnswer, maxBytes: number, url: URL): Promise<HopAnswer> {
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

// Addresses

const resolveBySystem: Resolve = async hostname =>
  (await systemLookup(hostname, { all: true })).map(({ address }) => address)

/** Every address must pass, not just one: which of them is connected to is up to chance and the network. */
function checkedResolve(resolve: Resolve, isAllowed: (address: string) => boolean) {
  return async (hostname: string) => {
    const addresses = await resolve(hostname).catch(cause => {
      throw unresolvable(hostname, cause)
    })
    if (addresses.length === 0) throw unresolvable(hostname)
    if (!addresses.every(isAllowed)) throw privateAddress(hostname)
    return addresses.map(address => ({ address, family: isIP(address) }))
  }
}

function lookupBy(resolveChecked: ReturnType<typeof checkedResolve>): LookupFunction {
  return (hostname, options, callback) => {
    resolveChecked(hostname).then(
      checked => (options.all ? callback(null, checked) : callback(null, checked[0]!.address, checked[0]!.family)),
      error => callback(error, ''),
    )
  }
}

/** Addresses written in the URL are connected to without a lookup. */
function refusePrivateLiteral(url: URL, isAllowed: (address: string) => boolean) {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) && !isAllowed(host)) throw privateAddress(url.hostname)
}

// Refusals

/** Says notSent for its own place; `explain` takes it back where an earlier hop was sent. */
function refusal(reason: OutboundReason, message: string, cause?: unknown): OutboundRefused {
  return new OutboundRefused(reason, message, { notSent: true, cause })
}

const privateAddress = (host: string) =>
  refusal('private_address', `${host} is not on the public internet, so it is not fetched.`)

const unresolvable = (host: string, cause?: unknown) =>
  refusal('unresolvable', `The name ${host} was not found.`, cause)

const timedOut = (url: URL, cause?: unknown) => refusal('timeout', `${url.host} did not answer in time.`, cause)

const tooLarge = (url: URL, maxBytes: number) =>
  refusal('too_large', `The answer of ${url.host} is larger than ${maxBytes} bytes.`)

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')

function explain(error: unknown, url: URL, sent: boolean): unknown {
  // A method or header that HTTP cannot carry is a mistake of the caller.
  if (error instanceof errors.InvalidArgumentError) return error
  const { reason, message, cause } = error instanceof OutboundRefused ? error : refusalOf(error, url)
  return new OutboundRefused(reason, message, { notSent: !sent, cause })
}

function refusalOf(error: unknown, url: URL): OutboundRefused {
  const code = codeOf(error)
  if (error instanceof errors.ConnectTimeoutError || code === 'ETIMEDOUT') return timedOut(url, error)
  if (error instanceof errors.HeadersOverflowError) return tooLargeHeaders(url, error)
  if (/CERT|^ERR_TLS|^UNABLE_TO_/.test(code)) {
    return refusal('connection', `The certificate of ${url.host} is not valid.`, error)
  }
  if (code === 'ECONNREFUSED') return refusal('connection', `${url.host} refused the connection.`, error)
  return refusal('connection', `The connection to ${url.host} failed.`, error)
}

const tooLargeHeaders = (url: URL, cause: unknown) =>
  refusal('too_large', `The headers of ${url.host} are larger than ${MAX_HEADER_BYTES} bytes.`, cause)
