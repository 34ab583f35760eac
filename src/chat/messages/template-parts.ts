import { Type } from 'typebox'
import { Common } from './kind.ts'
import { limits } from './parts.ts'

export const TemplateCommon = {
  ...Common,
  type: Type.Literal('template'),
  templateName: Type.String({ minLength: 1, maxLength: 512 }),
  languageCode: Type.Optional(Type.String({ minLength: 1, maxLength: 35 })),
}

/** Values for placeholders; a number is sent as its text. */
export const Values = Type.Array(
  Type.Unsafe<string | number>({ type: ['string', 'number'], minLength: 1, maxLength: 4096 }),
  { maxItems: 100 },
)

export const Payloads = Type.Array(Type.String({ minLength: 1, maxLength: limits.replyId }), { maxItems: 10 })

export const CouponCode = Type.String({
  minLength: 1,
  maxLength: 20,
  pattern: '^[A-Za-z0-9]*$',
  patternMessage: 'must consist of letters and digits',
})

/** For templates whose header is a place on the map. */
export const LocationHeader = Type.Optional(
  Type.Object({
    latitude: Type.Number({ minimum: -90, maximum: 90 }),
    longitude: Type.Number({ minimum: -180, maximum: 180 }),
    name: Type.Optional(Type.String({ maxLength: 1000 })),
    address: Type.Optional(Type.String({ maxLength: 1000 })),
  }),
)
