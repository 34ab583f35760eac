import { Type } from 'typebox'
import { bodyComponent, headerComponent, templateContent } from '../../templates/components.ts'
import { isMedia } from '../../templates/template.ts'
import { kind } from '../kind.ts'
import { Link, limits, MediaId, requireOneSource, Text } from '../parts.ts'
import { TemplateCommon, Values } from '../template-parts.ts'

export const templateMedia = kind({
  name: 'media template',
  type: 'template',
  fits: isMedia,
  body: Type.Object({
    ...TemplateCommon,
    link: Type.Optional(Link),
    mediaId: Type.Optional(MediaId),
    filename: Type.Optional(Text(limits.filename)),
    bodyParams: Type.Optional(Values),
  }),
  check: requireOneSource,
  build: (body, { template }) =>
    templateContent(template, [headerComponent(template, body), bodyComponent(template, body.bodyParams)]),
})
