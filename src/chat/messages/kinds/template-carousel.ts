import { Type } from 'typebox'
import { bodyComponent, cardComponents, templateContent } from '../../templates/components.ts'
import { isCarousel } from '../../templates/template.ts'
import { kind } from '../kind.ts'
import { Link, limits, Text } from '../parts.ts'
import { CouponCode, TemplateCommon, Values } from '../template-parts.ts'

const OneOrMore = (schema: object) =>
  Type.Unsafe<string | number | (string | number)[]>({
    anyOf: [schema, { type: 'array', items: schema, maxItems: 2 }],
  })

export const templateCarousel = kind({
  name: 'carousel template',
  type: 'template',
  fits: isCarousel,
  body: Type.Object({
    ...TemplateCommon,
    bodyParams: Type.Optional(Values),
    carouselBodies: Type.Array(Type.Object({ bodyParams: Type.Optional(Values) }), { minItems: 2, maxItems: 10 }),
    carouselFileData: Type.Array(Type.Object({ fileUrl: Link, fileName: Type.Optional(Text(limits.filename)) }), {
      minItems: 2,
      maxItems: 10,
    }),
    urlVariables: Type.Optional(
      Type.Array(OneOrMore({ type: ['string', 'number'], minLength: 1, maxLength: limits.url }), { maxItems: 10 }),
    ),
    copyCodeParam: Type.Optional(CouponCode),
    quickReplies: Type.Optional(
      Type.Array(OneOrMore({ type: 'string', minLength: 1, maxLength: limits.replyId }), { maxItems: 10 }),
    ),
  }),
  build: (body, { template }) =>
    templateContent(template, [
      bodyComponent(template, body.bodyParams),
      { type: 'carousel', cards: cardComponents(template, body) },
    ]),
})
