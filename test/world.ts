import { randomBytes } from 'node:crypto'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { inject } from 'vitest'
import { createAccount, type NewAccount } from '../src/accounts/accounts.ts'
import { createAuthenticate } from '../src/accounts/authenticate.ts'
import { createApp } from '../src/app.ts'
import { type BuiltPlatform, buildPlatform } from '../src/platform/build.ts'
import type { Business } from '../src/platform/business.ts'
import { type Config, readConfig } from '../src/platform/config.ts'
import { connect } from '../src/platform/database.ts'
import type { Work } from '../src/platform/jobs.ts'
import { createLog } from '../src/platform/log.ts'
import type { Service } from '../src/platform/service.ts'
import { chooseServices } from '../src/services.ts'
import { workOf } from '../src/worker.ts'
import { withDatabase } from './database.ts'
import { templateName } from './template.ts'

/** What every test starts from: a database of its own, the app, and as many businesses as it likes. */
export interface World {
  platform: BuiltPlatform
  db: BuiltPlatform['db']
  databaseUrl: string
  app: FastifyInstance
  services: readonly Service[]
  work: Work[]
  /** A new business with its keys: isolates a test, and tests tenancy for free. */
  business(options?: { testMode?: boolean; timeZone?: string; currency?: string }): Promise<TestBusiness>
  /** Does all jobs that are due; answers how many. */
  drain(): Promise<number>
  close(): Promise<void>
}

export interface TestBusiness extends Business {
  keys: NewAccount
  account: Client
  email: Client
  chat: Client
  billing: Client
}

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
  headers: LightMyRequestResponse['headers']
  text: string
}

/** Calls one service with its key: `await shop.email.post('/lists', { name: 'News' })`. */
export interface Client {
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  put(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  delete(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  baseUrl: string
  authorization: string
}

export async function world(settings: Partial<Config> = {}): Promise<World> {
  const serverUrl = inject('databaseUrl')
  const name = `world_${randomBytes(8).toString('hex')}`
  const admin = connect(serverUrl, { name: 'world', max: 1 })
  await admin.unsafe(`create database ${name} template ${templateName}`)
  const databaseUrl = withDatabase(serverUrl, name)
  const config = { ...readConfig({ PENNYPOST_RATE_LIMIT: '0' }), ...settings }
  const platform = await buildPlatform(config, {
    databaseUrl,
    masterKey: Buffer.alloc(32, 7),
    worker: false,
    log: createLog(process.env.TEST_LOG ?? 'silent'),
  })
  const services = chooseServices(config.services, () => platform)
  const { work } = workOf(services, platform)
  await platform.jobs.prepare(work)
  const app = createApp({
    platform,
    services,
    authenticate: createAuthenticate(platform.db),
    metricsText: () => platform.metrics.registry.metrics(),
  })
  await app.ready()
  return {
    platform,
    db: platform.db,
    databaseUrl,
    app,
    services,
    work,
    business: options => makeBusiness(platform, app, options),
    drain: () => platform.jobs.drain(work),
    async close() {
      await app.close()
      await platform.close()
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.end()
    },
  }
}

async function makeBusiness(
  platform: BuiltPlatform,
  app: FastifyInstance,
  options: { testMode?: boolean; timeZone?: string; currency?: string } = {},
): Promise<TestBusiness> {
  const { testMode = false, timeZone = 'UTC', currency = 'USD' } = options
  const email = `owner-${randomBytes(6).toString('hex')}@example.com`
  const keys = await createAccount(platform.db, {
    email,
    business: { name: 'Test shop', testMode, timeZone, currency },
    publicUrl: '',
  })
  const bearer = (part: { baseUrl: string; apiKey: string }) => client(app, part.baseUrl, `Bearer ${part.apiKey}`)
  return {
    id: keys.businessId,
    userId: keys.userId,
    name: 'Test shop',
    timeZone,
    currency,
    testMode,
    keys,
    account: bearer(keys.account),
    email: bearer(keys.email),
    chat: bearer(keys.chat),
    billing: client(
      app,
      keys.billing.baseUrl,
      `Basic ${Buffer.from(`${keys.billing.apiKey}:${keys.billing.secretKey}`).toString('base64')}`,
    ),
  }
}

export function client(app: FastifyInstance, baseUrl: string, authorization: string): Client {
  const call = async (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const response = await app.inject({
      method,
      url: baseUrl + path,
      headers: { ...(authorization && { authorization }), ...headers },
      ...(body !== undefined && { payload: body as object }),
    })
    return { status: response.statusCode, body: parse(response), headers: response.headers, text: response.payload }
  }
  return {
    get: (path, headers) => call('GET', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    put: (path, body, headers) => call('PUT', path, body, headers),
    delete: (path, body, headers) => call('DELETE', path, body, headers),
    baseUrl,
    authorization,
  }
}

const parse = (response: LightMyRequestResponse) =>
  String(response.headers['content-type']).includes('json') && response.payload
    ? JSON.parse(response.payload)
    : undefined
