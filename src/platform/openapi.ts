import { type TSchema, Type } from 'typebox'
import type { Endpoint } from './endpoint.ts'
import { FailureSchema } from './schema.ts'
import type { Service } from './service.ts'

/** The OpenAPI document of a service, from the schemas its endpoints validate and answer with. */
export function openApi(service: Service, publicUrl: string): object {
  const basic = service.name === 'billing'
  const paths: Record<string, Record<string, object>> = {}
  for (const [method, path, endpoint] of service.routes) {
    paths[path] ??= {}
    paths[path][method.toLowerCase()] = operation(method, path, endpoint)
  }
  return {
    openapi: '3.1.0',
    info: { title: service.title, version: /v(\d+)$/.exec(service.base)?.[1] ?? '1' },
    servers: [{ url: publicUrl + service.base }],
    security: [{ key: [] }],
    components: {
      securitySchemes: {
        key: basic
          ? { type: 'http', scheme: 'basic', description: 'API key as user, secret key as password' }
          : { type: 'http', scheme: 'bearer' },
      },
      schemas: { Failure: FailureSchema },
    },
    paths,
  }
}

function operation(method: string, path: string, endpoint: Endpoint): object {
  const failure = {
    description: 'Refused',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
  }
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+(.)?/g, (_, letter = '') => letter.toUpperCase())}`,
    summary: endpoint.summary,
    ...(endpoint.description && { description: endpoint.description }),
    parameters: [...parameters(endpoint.params, 'path'), ...parameters(endpoint.query, 'query')],
    ...(endpoint.body && {
      requestBody: {
        required: !Type.IsOptional(endpoint.body),
        content: { 'application/json': { schema: bodySchema(endpoint) } },
      },
    }),
    responses: {
      200: {
        description: 'Done',
        ...(endpoint.answer && { content: { 'application/json': { schema: endpoint.answer } } }),
      },
      '4XX': failure,
      '5XX': failure,
    },
  }
}

const bodySchema = ({ body, bodies }: Endpoint) =>
  bodies.length > 0 ? { anyOf: bodies.map(({ title, schema }) => ({ title, ...schema })) } : body

function parameters(schema: TSchema | undefined, place: 'path' | 'query'): object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, object>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
  }))
}
