import { Type } from 'typebox'
import { bodyComponent, headerComponent, templateContent } from '../../templates/components.ts'
import { isPlain } from '../../templates/template.ts'
import { kind } from '../kind.ts'
import { LocationHeader, TemplateCommon, Values } from '../template-parts.ts'

export const templateText = kind({
  name: 'text template',
  type: 'template',
  fits: isPlain,
  body: Type.Object({
    ...TemplateCommon,
    headerParams: Type.Optional(Values),
    bodyParams: Type.Optional(Values),
    location: LocationHeader,
  }),
  build: (body, { template }) =>
    templateContent(template, [headerComponent(template, body), bodyComponent(template, body.bodyParams)]),
})
