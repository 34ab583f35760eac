import { Type } from 'typebox'
import {
  bodyComponent,
  buttonComponents,
  headerComponent,
  offerComponent,
  requireNoValuesLeft,
  templateContent,
} from '../../templates/components.ts'
import { isLimitedTimeOffer } from '../../templates/template.ts'
import { kind } from '../kind.ts'
import { Link, MediaId } from '../parts.ts'
import { CouponCode, Payloads, TemplateCommon, Values } from '../template-parts.ts'

/** Year 2001 in milliseconds: anything smaller is a time in seconds. */
const firstMilliseconds = 1_000_000_000_000

export const templateLto = kind({
  name: 'LTO template',
  type: 'template',
  fits: isLimitedTimeOffer,
  body: Type.Object({
    ...TemplateCommon,
    link: Type.Optional(Link),
    mediaId: Type.Optional(MediaId),
    bodyParams: Type.Optional(Values),
    copyCodeParam: Type.Optional(CouponCode),
    urlVariables: Type.Optional(Values),
    quickReplies: Type.Optional(Payloads),
    ltoFields: Type.Optional(
      Type.Object({
        unixTimestamp: Type.Integer({
          minimum: firstMilliseconds,
          maximum: 9_007_199_254_740_991,
          description: 'end of the offer in milliseconds',
        }),
      }),
    ),
  }),
  build: (body, { template, now }) => {
    requireNoValuesLeft(template.buttons, body)
    return templateContent(template, [
      headerComponent(template, body),
      bodyComponent(template, body.bodyParams),
      offerComponent(template, body.ltoFields?.unixTimestamp, now),
      ...buttonComponents(template.buttons, body),
    ])
  },
})
