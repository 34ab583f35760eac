import { Type } from 'typebox'
import {
  bodyComponent,
  buttonComponents,
  headerComponent,
  requireNoValuesLeft,
  templateContent,
} from '../../templates/components.ts'
import { hasButtons } from '../../templates/template.ts'
import { kind } from '../kind.ts'
import { Link, limits, MediaId, Text } from '../parts.ts'
import { CouponCode, LocationHeader, Payloads, TemplateCommon, Values } from '../template-parts.ts'

export const templateButtons = kind({
  name: 'CTA/buttons template',
  type: 'template',
  fits: hasButtons,
  body: Type.Object({
    ...TemplateCommon,
    headerParams: Type.Optional(Values),
    bodyParams: Type.Optional(Values),
    link: Type.Optional(Link),
    mediaId: Type.Optional(MediaId),
    filename: Type.Optional(Text(limits.filename)),
    location: LocationHeader,
    urlVariables: Type.Optional(Values),
    copyCodeParam: Type.Optional(CouponCode),
    quickReplies: Type.Optional(Payloads),
  }),
  build: (body, { template }) => {
    requireNoValuesLeft(template.buttons, body)
    return templateContent(template, [
      headerComponent(template, body),
      bodyComponent(template, body.bodyParams),
      ...buttonComponents(template.buttons, body),
    ])
  },
})
