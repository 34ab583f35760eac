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
import { Agent } from 'undici'
import { addressCheck } from './addresses.ts'
import {
  type Call,
  decompress,
  exchange,
  type Hop,
  type HopAnswer,
  isRedirect,
  requestHeaders,
} from './outbound-exchange.ts'
import { explain, OutboundRefused, privateAddress, refusal, timedOut, unresolvable } from './outbound-refused.ts'

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

export interface OutboundAnswer extends HopAnswer {
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

type Resolve = (hostname: string) => Promise<string[]>

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
