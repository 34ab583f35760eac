import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptBodies, forgetRest, type RouteConfig } from './bodies.ts'
import type { Business } from './business.ts'
import { isPassing } from './database.ts'
import { type Call, type Endpoint, Raw, type Route } from './endpoint.ts'
import { checkKey, type KeyedRequest, runLocalOnce, runOutsideOnce, type StoredAnswer } from './idempotency.ts'
import type { Platform } from './platform.ts'
import { badRequest, failureBody, forbidden, invalidField, Problem, unavailable } from './problem.ts'
import type { RateLimit } from './rate-limit.ts'
import { findUnstorable } from './validation.ts'

/** Who calls, as the service's authentication found out. */
export interface Caller {
  keyId: string
  readOnly: boolean
  business: Business
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined
  }
}

export interface Mounted {
  name: string
  base: string
  routes: readonly Route[]
  /** undefined: open to everyone; the endpoints then find their business themselves, by token or signature */
  authenticate: ((request: FastifyRequest) => Promise<Caller>) | undefined
  rateLimit: RateLimit
}

/** Puts a service's routes under its base URL: authentication in a hook, so that no route can forget it. */
export function mount(app: FastifyInstance, platform: Platform, service: Mounted): void {
  app.register(
    async scope => {
      acceptBodies(scope)
      scope.decorateRequest('caller', undefined)
      const live = new Set<Readable>()
      // A live stream never ends by itself, and closing waits for every answer.
      scope.addHook('preClose', async () => {
        for (const body of live) body.push(null)
      })
      scope.addHook('onRequest', async (request, reply) => {
        if (service.authenticate) request.caller = await service.authenticate(request)
        if ((request.routeOptions.config as RouteConfig).rateLimited !== false)
          reply.headers(service.rateLimit.take(request.caller?.keyId ?? request.ip))
      })
      if (service.authenticate)
        scope.setNotFoundHandler((request, reply) => answerProblem(request, reply, noRoute(request), platform))
      for (const route of service.routes) addRoute(scope, { platform, live }, route)
    },
    { prefix: service.base },
  )
}

const noRoute = (request: FastifyRequest) =>
  new Problem(
    404,
    'route_not_found',
    `There is no ${request.method} ${request.url.split('?')[0]?.slice(0, 200)}. Every route is listed at /docs.`,
  )

interface Scene {
  platform: Platform
  /** answers that go on until someone ends them */
  live: Set<Readable>
}

function addRoute(scope: FastifyInstance, scene: Scene, [method, path, endpoint]: Route): void {
  const { params, query, body, answer } = endpoint
  scope.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { accepts: endpoint.accepts, rateLimited: endpoint.rateLimited } satisfies RouteConfig,
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && endpoint.accepts === 'json' && { body }),
      ...(answer && { response: { '2xx': answer } }),
    },
    ...(endpoint.accepts === 'stream' && {
      bodyLimit: 10 * 1024 ** 3,
      preParsing: refuseJson,
      onResponse: async request => forgetRest(request.raw),
    }),
    ...(endpoint.maxBytes !== undefined && { bodyLimit: endpoint.maxBytes }),
    onRequest: async request => refuseReader(endpoint, request),
    preValidation: async request => refuseUnstorable(request),
    handler: (request, reply) => handle(scene, endpoint, request, reply),
  })
}

const changes = (request: FastifyRequest) => request.method !== 'GET' && request.method !== 'HEAD'

/** Before the body is read: whoever may not change anything need not hear what is wrong with the change. */
function refuseReader(endpoint: Endpoint, request: FastifyRequest): void {
  if (changes(request) && request.caller?.readOnly && !endpoint.readOnly)
    throw forbidden('key_read_only', 'This key may only read.')
}

/** A stream may be large because it is never held as a whole; JSON would be, before anybody looked at it. */
async function refuseJson(request: FastifyRequest): Promise<void> {
  if (request.headers['content-type']?.toLowerCase().startsWith('application/json'))
    throw new Problem(415, 'unsupported_media_type', 'Send the file itself as the body, with its own Content-Type.')
}

function refuseUnstorable(request: FastifyRequest): void {
  if (request.url.includes('%00'))
    throw badRequest('validation_failed', 'The address must not contain null characters.')
  if (request.body === undefined || request.body instanceof Readable || Buffer.isBuffer(request.body)) return
  const found = findUnstorable(request.body)
  if (found !== undefined) throw invalidField(found.field, found.message)
}

async function handle(
  { platform, live }: Scene,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const call: Call = {
    platform,
    method: request.method,
    db: platform.db,
    // Open routes have no business until their endpoint found it; they never read this.
    business: request.caller?.business as Business,
    params: request.params,
    query: request.query,
    body: request.body ?? (endpoint.accepts === 'form' ? {} : undefined),
    headers: request.headers,
    ip: request.ip,
    log: request.log as unknown as Call['log'],
    requestId: request.id,
    idempotencyKey: undefined,
    created: () => void reply.code(201),
  }
  const key = changes(request) && request.caller ? request.headers['idempotency-key'] : undefined
  if (key === undefined || endpoint.accepts === 'stream') return send(reply, await endpoint.run(call), live)

  const keyed: KeyedRequest = {
    businessId: call.business.id,
    method: request.method,
    // With and without the last slash it is one route.
    path: (request.url.split('?')[0] ?? '').replace(/\/$/, ''),
    key: checkKey(String(key)),
    requestHash: createHash('sha256')
      .update(JSON.stringify([request.query, request.body ?? null]))
      .digest(),
  }
  // Answers are kept for a day, and some show a key or secret that is otherwise kept only as a hash: so they are sealed.
  const context = `idempotency ${keyed.businessId}`
  const seal = (body: string) => platform.secrets.encrypt(body, context)
  const act = async (db: Call['db']): Promise<StoredAnswer> => {
    const result = await endpoint.run({ ...call, db, idempotencyKey: keyed.key })
    if (result instanceof Raw) throw new Error('An endpoint that answers raw content cannot be keyed.')
    return {
      status: reply.statusCode,
      contentType: 'application/json; charset=utf-8',
      body: seal(String(reply.serialize(result))),
    }
  }
  const stored =
    endpoint.effects === 'local'
      ? await runLocalOnce(platform.db, keyed, act)
      : await runOutsideOnce(platform.db, keyed, act, problem => ({
          status: problem.status,
          contentType: 'application/json; charset=utf-8',
          body: seal(JSON.stringify(failureBody(problem, request.id))),
        }))
  const body = platform.secrets.decrypt(stored.body, context)
  return reply.code(stored.status).header('content-type', stored.contentType).serializer(String).send(body)
}

function send(reply: FastifyReply, result: unknown, live: Set<Readable>): FastifyReply {
  if (!(result instanceof Raw)) return reply.send(result)
  const { body } = result
  if (body instanceof Readable && result.contentType === 'text/event-stream') {
    live.add(body)
    body.once('close', () => live.delete(body))
  }
  return reply
    .code(result.status)
    .headers(result.headers)
    .header('content-type', result.contentType)
    .serializer((x: unknown) => x as string)
    .send(result.body)
}

/** The one place where a failure becomes an answer. */
export function answerProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  platform: Pick<Platform, 'log'>,
): FastifyReply {
  const problem = toProblem(error, request.routeOptions?.bodyLimit)
  if (problem.status >= 500)
    platform.log.error(
      { err: error, requestId: request.id, method: request.method, route: request.routeOptions?.url },
      'request failed',
    )
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(failureBody(problem, request.id))
}

function toProblem(error: unknown, bodyLimit?: number): Problem {
  if (error instanceof Problem) return error
  if (isPassing(error))
    return unavailable(
      'database_unavailable',
      'The database is not available right now. Nothing was changed; try again in a moment.',
    )
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new Problem(413, 'body_too_large', `The body is larger than ${bodyLimit ?? 'the allowed'} bytes.`)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new Problem(415, 'unsupported_media_type', 'The body must be JSON: send Content-Type: application/json.')
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY') return badRequest('invalid_json', 'The body is not valid JSON.')
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new Problem(statusCode, 'bad_request', sentence((error as Error).message))
  return new Problem(
    500,
    'internal_error',
    'Something went wrong on our side. Nothing was half-done; the request id names it in the log.',
  )
}

const sentence = (text: string) => (text.endsWith('.') ? text : `${text}.`)
