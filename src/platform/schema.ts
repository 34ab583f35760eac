import { type Static, type TProperties, type TSchema, Type } from 'typebox'

/** Shapes that every service uses on the wire. */

export const Id = Type.String({ pattern: '^[0-9a-f]{24}$', description: '24 hexadecimal characters' })
/** Accepts any text where an id goes: an id that cannot exist answers 404 like a missing one. */
export const IdInPath = Type.String({ minLength: 1, maxLength: 100 })
/** In answers; a Date is written as ISO 8601 UTC with milliseconds. */
export const Timestamp = Type.Unsafe<Date | string>({
  type: 'string',
  format: 'date-time',
  description: 'ISO 8601, UTC, milliseconds',
})
/** In requests. */
export const TimestampText = Type.String({ format: 'date-time', description: 'ISO 8601' })
/** A name or title must have something to read in it. */
export const NotBlank = (limits: { maxLength: number }) =>
  Type.String({ ...limits, pattern: '\\S', patternMessage: 'must not be empty' })
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
export const Choice = <const T extends readonly string[]>(values: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })
/** JSON whose shape is the caller's own. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

export const PageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, description: 'first page is 1' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'at most 100; more is capped to 100' })),
}

export const FailureSchema = Type.Object({
  success: Type.Literal(false),
  status: Type.Literal('error'),
  code: Type.String(),
  message: Type.String(),
  errors: Type.Optional(Type.Array(Type.Object({ field: Type.String(), message: Type.String() }))),
  requestId: Type.String(),
})

export type ObjectOf<T extends TProperties> = Static<ReturnType<typeof Type.Object<T>>>
