import { errors } from 'undici'

/** Why a guarded call failed, in words for the user. */
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

/** Says notSent for its own place; `explain` takes it back where an earlier hop was sent. */
export function refusal(reason: OutboundReason, message: string, cause?: unknown): OutboundRefused {
  return new OutboundRefused(reason, message, { notSent: true, cause })
}

export const privateAddress = (host: string) =>
  refusal('private_address', `${host} is not on the public internet, so it is not fetched.`)

export const unresolvable = (host: string, cause?: unknown) =>
  refusal('unresolvable', `The name ${host} was not found.`, cause)

export const timedOut = (url: URL, cause?: unknown) => refusal('timeout', `${url.host} did not answer in time.`, cause)

export const tooLarge = (url: URL, maxBytes: number) =>
  refusal('too_large', `The answer of ${url.host} is larger than ${maxBytes} bytes.`)

export const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')

export function explain(error: unknown, url: URL, sent: boolean): unknown {
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
  refusal('too_large', `The headers of ${url.host} are larger than allowed.`, cause)
