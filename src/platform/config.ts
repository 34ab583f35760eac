import { availableParallelism } from 'node:os'
import { parseAddressRules } from './addresses.ts'

export const serviceNames = ['email', 'chat', 'billing'] as const
export type ServiceName = (typeof serviceNames)[number]
export type Role = 'all' | 'api' | 'worker'

export interface Config {
  port: number
  host: string
  /** undefined: the embedded server in the data folder */
  databaseUrl: string | undefined
  replicaUrl: string | undefined
  dataFolder: string
  publicUrl: string
  secretKey: Buffer | undefined
  logLevel: string
  role: Role
  services: readonly ServiceName[]
  processes: number
  poolSize: number
  statementTimeoutMs: number
  bodyLimitBytes: number
  /** requests per second and key; 0 switches the limit off */
  rateLimit: number
  rateBurst: number
  trustProxy: boolean
  allowPrivateAddresses: string[]
  demo: boolean
  /** 0 switches the inbound mail listener off */
  inboundSmtpPort: number
  mailDomain: string
  /** where the Stripe API answers; set only to point at a stand-in for tests */
  stripeUrl: string | undefined
}

/** The settings are wrong; the message lists every wrong one with what is expected. */
export class ConfigError extends Error {}

export type Environment = Record<string, string | undefined>

/** Reads every setting, and reports all wrong ones together, so that a person mends them in one go. */
export function readConfig(env: Environment): Config {
  const wrong: string[] = []
  const read = <T>(name: string, fallback: T, expected: string, parse: (text: string) => T | undefined): T => {
    const text = env[name]?.trim()
    if (text === undefined || text === '') return fallback
    const value = parse(text)
    if (value === undefined) wrong.push(`${name} is "${hide(name, text)}"; expected ${expected}.`)
    return value ?? fallback
  }
  const whole = (min: number, max: number) => (text: string) =>
    /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined
  const number = (name: string, fallback: number, min: number, max: number) =>
    read(name, fallback, `a whole number from ${min} to ${max}`, whole(min, max))
  const oneOf = <T extends string>(name: string, fallback: T, values: readonly T[]) =>
    read(name, fallback, `one of ${values.join(', ')}`, text => values.find(value => value === text))
  const flag = (name: string, fallback: boolean) =>
    oneOf(name, fallback ? 'true' : 'false', ['true', 'false']) === 'true'

  const port = number('PORT', 8420, 0, 65_535)
  const host = read('HOST', 'localhost', 'a host name or address', text => (/\s/.test(text) ? undefined : text))
  const rateLimit = number('PENNYPOST_RATE_LIMIT', 100, 0, 1_000_000)
  const config: Config = {
    port,
    host,
    databaseUrl: read('DATABASE_URL', undefined, 'postgres://user:password@host:5432/database', postgresUrl),
    replicaUrl: read('PENNYPOST_REPLICA_URL', undefined, 'postgres://user:password@host:5432/database', postgresUrl),
    dataFolder: read('PENNYPOST_DATA', 'data', 'a folder', text => text),
    publicUrl: read(
      'PENNYPOST_PUBLIC_URL',
      `http://localhost:${port}`,
      'a URL such as https://mail.example.com, without a path',
      publicUrl,
    ),
    secretKey: read('PENNYPOST_SECRET_KEY', undefined, '64 hexadecimal characters (32 random bytes)', secretKey),
    logLevel: oneOf('PENNYPOST_LOG_LEVEL', 'warn', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    role: oneOf<Role>('PENNYPOST_ROLE', 'all', ['all', 'api', 'worker']),
    services: read(
      'PENNYPOST_SERVICES',
      serviceNames,
      `a comma-separated choice of ${serviceNames.join(', ')}`,
      services,
    ),
    processes: read('PENNYPOST_PROCESSES', 1, 'a whole number from 1 to 256, or "cores"', text =>
      text === 'cores' ? availableParallelism() : whole(1, 256)(text),
    ),
    poolSize: number('PENNYPOST_POOL_SIZE', 10, 2, 500),
    statementTimeoutMs: number('PENNYPOST_STATEMENT_TIMEOUT_MS', 30_000, 100, 3_600_000),
    bodyLimitBytes: number('PENNYPOST_BODY_LIMIT_BYTES', 1_048_576, 1_024, 104_857_600),
    rateLimit,
    rateBurst: number('PENNYPOST_RATE_BURST', Math.max(1, rateLimit * 2), 1, 10_000_000),
    trustProxy: flag('PENNYPOST_TRUST_PROXY', false),
    allowPrivateAddresses: read(
      'PENNYPOST_ALLOW_PRIVATE_ADDRESSES',
      [] as string[],
      'addresses or CIDR blocks, comma-separated',
      addressRules,
    ),
    demo: flag('PENNYPOST_DEMO', true),
    inboundSmtpPort: number('PENNYPOST_INBOUND_SMTP_PORT', 0, 0, 65_535),
    stripeUrl: read('PENNYPOST_STRIPE_URL', undefined, 'a URL such as http://127.0.0.1:12111', publicUrl),
    mailDomain: read('PENNYPOST_MAIL_DOMAIN', 'localhost', 'a domain name', text =>
      /^[a-z0-9.-]+$/i.test(text) ? text : undefined,
    ),
  }
  if (wrong.length > 0) throw new ConfigError(wrong.join('\n'))
  return config
}

const secretNames = new Set(['DATABASE_URL', 'PENNYPOST_REPLICA_URL', 'PENNYPOST_SECRET_KEY'])
const hide = (name: string, text: string) => (secretNames.has(name) ? '(hidden)' : text)

function postgresUrl(text: string): string | undefined {
  return /^postgres(ql)?:\/\/\S+$/.test(text) ? text : undefined
}

function publicUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const plain =
    (url.protocol === 'http:' || url.protocol === 'https:') && url.pathname === '/' && !url.search && !url.hash
  return plain ? url.origin : undefined
}

function secretKey(text: string): Buffer | undefined {
  return /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : undefined
}

function services(text: string): readonly ServiceName[] | undefined {
  const asked = text.split(',').map(part => part.trim())
  return asked.every(name => serviceNames.some(known => known === name))
    ? serviceNames.filter(name => asked.includes(name))
    : undefined
}

function addressRules(text: string): string[] | undefined {
  try {
    return parseAddressRules(text)
  } catch {
    return undefined
  }
}
