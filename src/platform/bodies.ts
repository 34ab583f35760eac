import { isUtf8 } from 'node:buffer'
import { PassThrough, type Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Endpoint, Form } from './endpoint.ts'
import { badRequest, Problem } from './problem.ts'

/** What of an endpoint the hooks and parsers of its route must know. */
export interface RouteConfig {
  accepts?: Endpoint['accepts']
  rateLimited?: boolean
}

/** JSON by default; forms, bytes and streams only where an endpoint asks for them. An empty JSON body is no body. */
export function acceptBodies(scope: FastifyInstance): void {
  const parseJson = scope.getDefaultJsonParser('error', 'error')
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    if (bytes.length === 0) return done(null, undefined)
    const { accepts } = request.routeOptions.config as RouteConfig
    if (accepts === 'form') return done(notAForm())
    if (accepts === 'bytes') return done(null, bytes)
    if (isPacked(request)) return done(packed())
    if (!isUtf8(bytes)) return done(badRequest('invalid_json', 'The body is not valid JSON: it is not in UTF-8.'))
    parseJson(request, bytes.toString(), done)
  })
  scope.addContentTypeParser('*', (request, payload, done) => {
    const accepts = (request.routeOptions.config as RouteConfig).accepts
    if (accepts !== 'bytes' && isPacked(request)) return done(packed())
    if (accepts === 'stream') return done(null, apartFromConnection(payload))
    if (accepts === 'bytes')
      return void collect(payload, request.routeOptions.bodyLimit).then(body => done(null, body), done)
    if (accepts === 'form' && request.headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
      return void collect(payload, request.routeOptions.bodyLimit).then(body => done(null, parseForm(body)), done)
    // A body that is announced but empty is no body, whatever its type.
    if (request.headers['content-length'] === '0') return done(null, undefined)
    if (accepts === 'form') return done(notAForm())
    done(new Problem(415, 'unsupported_media_type', 'The body must be JSON: send Content-Type: application/json.'))
  })
}

/** Whoever stops reading an upload half-way, to refuse it, must not break the connection that the answer goes over. */
function apartFromConnection(upload: Readable): Readable {
  const body = new PassThrough()
  upload.once('error', error => body.destroy(error))
  return upload.pipe(body)
}

/** As much of a refused upload is read and forgotten, so that the connection serves the next request; more ends it. */
const longestRest = 64 * 1024 ** 2

export function forgetRest(upload: Readable): void {
  let rest = 0
  upload.unpipe()
  upload.on('data', (bytes: Buffer) => {
    rest += bytes.length
    if (rest > longestRest) upload.destroy()
  })
  upload.resume()
}

const isPacked = ({ headers }: FastifyRequest) =>
  !['', 'identity'].includes(headers['content-encoding']?.toLowerCase() ?? '')
const packed = () =>
  new Problem(415, 'unsupported_media_type', 'Send the body as it is: Content-Encoding (gzip and such) is not read.')
const notAForm = () => new Problem(415, 'unsupported_media_type', 'Send this page’s form as a browser does.')

function parseForm(body: Buffer): Form {
  const fields: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(body.toString())) fields[name] = value
  return fields
}

async function collect(payload: Readable, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of payload) {
    size += chunk.length
    if (size > limit) throw new Problem(413, 'body_too_large', `The body is larger than ${limit} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
