import type { Readable } from 'node:stream'
import type { Static, TObject, TSchema } from 'typebox'
import type { Business } from './business.ts'
import type { Database } from './database.ts'
import type { Log } from './log.ts'
import type { Platform } from './platform.ts'

/**
 * One operation of an API: its shapes and what it does. The schema at the door gives validation, types, serialisation
 * and the reference page; `run` only unpacks, calls a rule and wraps.
 */
export interface Endpoint {
  summary: string
  description: string | undefined
  params: TSchema | undefined
  query: TSchema | undefined
  body: TSchema | undefined
  bodies: readonly BodyKind[]
  answer: TSchema | undefined
  accepts: 'json' | 'form' | 'bytes' | 'stream'
  effects: 'local' | 'outside'
  readOnly: boolean
  maxBytes: number | undefined
  rateLimited: boolean
  run(call: Call): Promise<unknown>
}

/** One of several bodies that an endpoint takes. */
export interface BodyKind {
  title: string
  schema: TSchema
}

/** One request, unpacked. */
export interface Call<P = unknown, Q = unknown, B = unknown> {
  platform: Platform
  /** HEAD comes to the endpoint of GET */
  method: string
  /** With an Idempotency-Key, a transaction that also stores the answer; so use this handle, not the platform's. */
  db: Database
  business: Business
  params: P
  query: Q
  body: B
  headers: Record<string, string | string[] | undefined>
  /** address of the caller */
  ip: string
  log: Log
  requestId: string
  /** given only to endpoints with outside effects, which keep it with their own rows */
  idempotencyKey: string | undefined
  /** answers 201 instead of 200 */
  created(): void
}

interface Definition<P extends TSchema, Q extends TSchema, B extends TSchema, A extends TSchema> {
  summary: string
  description?: string
  params?: P
  query?: Q
  body?: B
  /** for the documents, where the endpoint takes several kinds of body and `body` checks only what they have in common */
  bodies?: readonly BodyKind[]
  /** shape of the success answer; omitted for raw answers */
  answer?: A
  /**
   * json (default); form: what a page's form sends, as a `Form`; bytes: the body as a Buffer, for signatures;
   * stream: the body as a Readable, for uploads
   */
  accepts?: 'json' | 'form' | 'bytes' | 'stream'
  /**
   * local (default): all effects are in `call.db`, so an Idempotency-Key makes act and stored answer one transaction.
   * outside: calls another system in the middle; the endpoint recovers from its own rows by `call.idempotencyKey`.
   */
  effects?: 'local' | 'outside'
  /** a POST that changes nothing may be called with a read-only key */
  readOnly?: boolean
  /** of the body, where it differs from the limit of all */
  maxBytes?: number
  /** false: for callers whose pace is not ours to set, such as a platform that tells us what happened */
  rateLimited?: boolean
  run(call: Call<Static<P>, Static<Q>, Static<B>>): Promise<Static<A> | Raw>
}

export function endpoint<
  P extends TSchema = TObject<Record<never, never>>,
  Q extends TSchema = TObject<Record<never, never>>,
  B extends TSchema = TSchema,
  A extends TSchema = TSchema,
>(definition: Definition<P, Q, B, A>): Endpoint {
  const { summary, description, params, query, body, answer } = definition
  return {
    summary,
    description,
    params,
    query,
    body,
    bodies: definition.bodies ?? [],
    answer,
    accepts: definition.accepts ?? 'json',
    effects: definition.effects ?? 'local',
    readOnly: definition.readOnly ?? false,
    maxBytes: definition.maxBytes,
    rateLimited: definition.rateLimited ?? true,
    run: definition.run as Endpoint['run'],
  }
}

/** The fields of a submitted form. Of a name that comes twice the last counts, so a checkbox can follow its default. */
export type Form = Readonly<Record<string, string>>

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
/** A line of a routes page; the path is written as in the specification: /lists/{id} */
export type Route = readonly [method: Method, path: string, endpoint: Endpoint]

/** An answer that is not JSON of a schema: a page, a file, a redirect. */
export class Raw {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer | Readable
  readonly headers: Record<string, string>

  constructor(
    contentType: string,
    body: string | Buffer | Readable,
    more: { status?: number; headers?: Record<string, string> } = {},
  ) {
    this.contentType = contentType
    this.body = body
    this.status = more.status ?? 200
    this.headers = more.headers ?? {}
  }
}
