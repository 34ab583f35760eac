import { type Static, Type } from 'typebox'
import { Choice, Id, Nullable, Timestamp, TimestampText } from '../../platform/schema.ts'

const Url = Type.String({ minLength: 1, maxLength: 2_048, description: 'http or https, on the public internet' })
const Types = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  minItems: 1,
  maxItems: 200,
  description: 'event types of the catalogue, or * for all',
})
const Description = Type.String({ maxLength: 500 })
const base64 = '[A-Za-z0-9+/]'
/** In whole groups of four: receivers' libraries read no base64 without its padding. */
const Secret = Type.String({
  pattern: `^whsec_((${base64}{4}){8,20}(${base64}{2}==|${base64}{3}=)?|(${base64}{4}){21}(${base64}{2}==)?)$`,
  maxLength: 100,
  patternMessage: 'must be whsec_ and 24 to 64 bytes in base64',
  description: 'made for you when omitted',
})
const Credentials = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 200, pattern: '^[^:\\x00-\\x1f\\x7f]*$' }),
  password: Type.String({ maxLength: 200, pattern: '^[^\\x00-\\x1f\\x7f]*$' }),
})

export const NewEndpoint = Type.Object({
  url: Url,
  types: Type.Optional(Types),
  description: Type.Optional(Description),
  secret: Type.Optional(Secret),
  credentials: Type.Optional(Nullable(Credentials)),
})
export type NewEndpoint = Static<typeof NewEndpoint>

export const EndpointChanges = Type.Object({
  url: Type.Optional(Url),
  types: Type.Optional(Types),
  description: Type.Optional(Description),
  credentials: Type.Optional(Nullable(Credentials)),
})
export type EndpointChanges = Static<typeof EndpointChanges>

export const Rotation = Type.Object({
  secret: Type.Optional(Secret),
  overlapHours: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 168, description: 'both secrets sign for so long; 24 when omitted' }),
  ),
})

export const Replay = Type.Object({
  eventId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  since: Type.Optional(TimestampText),
})

const endpointFields = {
  id: Id,
  url: Type.String(),
  types: Type.Array(Type.String()),
  description: Type.String(),
  username: Nullable(Type.String()),
  state: Choice(['enabled', 'disabled']),
  disabledReason: Nullable(
    Choice(['owner', 'failing', 'gone'], {
      description: 'owner: you; failing: three days without success; gone: it answered 410',
    }),
  ),
  disabledAt: Nullable(Timestamp),
  failingSince: Nullable(Timestamp),
  lastSuccessAt: Nullable(Timestamp),
  lastFailureAt: Nullable(Timestamp),
  previousSecretUntil: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}
export const EndpointSchema = Type.Object(endpointFields)
export const EndpointWithSecretSchema = Type.Object({
  ...endpointFields,
  secret: Type.String({ description: 'shown only now' }),
})

const AttemptSchema = Type.Object({
  at: Type.String(),
  status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  durationMs: Type.Integer(),
})

export const deliveryStates = ['waiting', 'delivered', 'failed'] as const
export const DeliverySchema = Type.Object({
  eventId: Type.String({ description: 'also the webhook-id, the same at every attempt' }),
  eventType: Type.String(),
  state: Choice(deliveryStates),
  test: Type.Boolean(),
  attempts: Type.Integer(),
  createdAt: Timestamp,
  lastAttemptAt: Nullable(Timestamp),
  nextAttemptAt: Nullable(Timestamp),
  request: Type.Object({
    url: Type.String(),
    headers: Type.Record(Type.String(), Type.String()),
    body: Nullable(Type.String({ description: 'null when the event is no longer kept' })),
  }),
  answer: Type.Object({
    status: Nullable(Type.Integer()),
    body: Nullable(Type.String({ description: 'its beginning' })),
    error: Nullable(Type.String()),
    durationMs: Nullable(Type.Integer()),
  }),
  history: Type.Array(AttemptSchema),
})
export type Delivery = Static<typeof DeliverySchema>

export const DeliveryPageSchema = Type.Object({
  deliveries: Type.Array(DeliverySchema),
  nextCursor: Nullable(Type.String({ description: 'give it as after for the older ones; null at the end' })),
})
