import { setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import { Type } from 'typebox'
import type { Authenticate } from './accounts/authenticate.ts'
import { endpoint, Raw, type Route } from './platform/endpoint.ts'
import { newId } from './platform/ids.ts'
import { answerProblem, mount } from './platform/mount.ts'
import { openApi } from './platform/openapi.ts'
import type { Platform } from './platform/platform.ts'
import { notFound, unavailable } from './platform/problem.ts'
import { createRateLimit } from './platform/rate-limit.ts'
import { referencePage } from './platform/reference-page.ts'
import type { Service } from './platform/service.ts'
import { serveAssets } from './platform/site/assets.ts'
import { siteAssets } from './platform/site/page.ts'
import { answerUnreadable } from './platform/unreadable.ts'
import { compileSerializer, compileValidator } from './platform/validation.ts'

export interface AppParts {
  platform: Platform
  services: readonly Service[]
  authenticate: Authenticate
  /** Prometheus text; of all processes where there are several */
  metricsText: () => Promise<string>
}

/** The Fastify app: the services under their base URLs, and the pages about the program itself. */
export function createApp({ platform, services, authenticate, metricsText }: AppParts): FastifyInstance {
  const { config, log } = platform
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newId(),
    bodyLimit: config.bodyLimitBytes,
    trustProxy: config.trustProxy,
    requestTimeout: 300_000,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_000 },
    frameworkErrors: (error, request, reply) => void answerProblem(request, reply, error, platform),
    clientErrorHandler: answerUnreadable,
  }) as unknown as FastifyInstance
  app.setValidatorCompiler(({ schema, httpPart }) => compileValidator(schema as object, httpPart))
  app.setSerializerCompiler(({ schema }) => compileSerializer(schema as object))
  app.setErrorHandler((error, request, reply) => answerProblem(request, reply, error, platform))
  app.setNotFoundHandler((request, reply) => answerProblem(request, reply, notFound('Route'), platform))
  observe(app, platform, services)

  const rateLimit = createRateLimit({ perSecond: config.rateLimit, burst: config.rateBurst })
  const strangers = createRateLimit({ perSecond: config.rateLimit * 10, burst: config.rateBurst * 10 })
  for (const service of services) {
    const { name, base, routes, openRoutes, pages } = service
    // Checkout is pages only: it has no API to call or to describe.
    if (name !== 'checkout') {
      mount(app, platform, { name, base, routes, authenticate: authenticate(name), rateLimit })
      const open: Route[] = [['GET', '/openapi.json', describe(service, config.publicUrl)], ...openRoutes]
      mount(app, platform, { name, base, routes: open, authenticate: undefined, rateLimit: strangers })
    }
    if (pages.length > 0)
      mount(app, platform, { name, base: '', routes: pages, authenticate: undefined, rateLimit: strangers })
  }
  mount(app, platform, {
    name: 'program',
    base: '',
    routes: programRoutes(services, metricsText),
    authenticate: undefined,
    rateLimit: strangers,
  })
  return app
}

const describe = (service: Service, publicUrl: string) =>
  endpoint({
    summary: 'This API as an OpenAPI document',
    run: async () => new Raw('application/json; charset=utf-8', JSON.stringify(openApi(service, publicUrl))),
  })

/** Every answer carries its request id and is timed by route. */
function observe(app: FastifyInstance, platform: Platform, services: readonly Service[]): void {
  app.addHook('onRequest', async (request, reply) => void reply.header('x-request-id', request.id))
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown'
    const service = services.find(one => route.startsWith(one.base))?.name ?? 'program'
    platform.metrics.requestSeconds.observe(
      { service, method: request.method, route, status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
    platform.log.info(
      {
        requestId: request.id,
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'request',
    )
  })
}

const readyTimeoutMs = 3_000

const programRoutes = (services: readonly Service[], metricsText: () => Promise<string>): Route[] => [
  [
    'GET',
    '/health',
    endpoint({
      summary: 'The program runs',
      answer: Type.Object({ status: Type.String() }),
      run: async () => ({ status: 'ok' }),
    }),
  ],
  [
    'GET',
    '/ready',
    endpoint({
      summary: 'The program and its database answer',
      answer: Type.Object({ status: Type.String() }),
      run: async ({ platform }) => {
        const answers = platform.db`select 1`.then(
          () => true,
          () => false,
        )
        // A database that hangs answers neither yes nor no; whoever asks must not hang with it.
        if (!(await Promise.race([answers, delay(readyTimeoutMs, false, { ref: false })])))
          throw unavailable('not_ready', 'The database does not answer.')
        return { status: 'ready' }
      },
    }),
  ],
  [
    'GET',
    '/metrics',
    endpoint({
      summary: 'Prometheus metrics',
      run: async () => new Raw('text/plain; version=0.0.4; charset=utf-8', await metricsText()),
    }),
  ],
  ['GET', '/site/{file}', serveAssets(siteAssets)],
  [
    'GET',
    '/',
    endpoint({
      summary: 'To the reference: who opens the address that the start tells finds what is there',
      run: async () => new Raw('text/plain; charset=utf-8', '', { status: 302, headers: { location: '/docs' } }),
    }),
  ],
  [
    'GET',
    '/docs',
    endpoint({
      summary: 'The reference of all APIs',
      run: async ({ platform }) =>
        new Raw('text/html; charset=utf-8', referencePage(services, platform.config.publicUrl), {
          headers: { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" },
        }),
    }),
  ],
]
