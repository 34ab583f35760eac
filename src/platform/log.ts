import { type Logger, pino } from 'pino'

export type Log = Logger

/** Never in the log: credentials, and what identifies a person. */
const hidden = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'secretKey',
  'apiKey',
  'accessToken',
  'appSecret',
  'token',
  'card',
  'number',
  'cvc',
  'email',
  'emails',
  'email_id',
  'mobile',
  'to',
  'phone',
]
const redacted = hidden.flatMap(name => [name, `*.${name}`, `*.*.${name}`, `req.headers.${name}`])

export function createLog(level: string, destination?: { write(line: string): void }): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redacted, censor: '[hidden]' },
    serializers: { err: describeError },
  }
  return destination ? pino(options, destination as never) : pino(options)
}

const emailLike = /[^\s"'<>@]+@[^\s"'<>@]+/g
const keyLike = /\bpp[a-z]{1,2}_[A-Za-z0-9]{8,}/g
const withoutPeople = (text: string) => text.replaceAll(keyLike, '[key]').replaceAll(emailLike, '[email]')

/** The job engine tells its errors as plain copies. */
const isErrorLike = (error: unknown): error is Error =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'

/** Errors of the database quote rows in `detail`, `parameters` and messages; only what names the fault is kept. */
export function describeError(error: unknown): object {
  if (!isErrorLike(error)) return { message: withoutPeople(String(error)) }
  const code = 'code' in error ? { code: String(error.code) } : {}
  const where = 'constraint_name' in error ? { constraint: String(error.constraint_name) } : {}
  return {
    type: error.name,
    message: withoutPeople(error.message),
    ...code,
    ...where,
    stack: withoutPeople(error.stack ?? ''),
  }
}
