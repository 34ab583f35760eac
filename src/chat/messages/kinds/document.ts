import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import { Link, limits, MediaId, mediaSource, requireOneSource, Text } from '../parts.ts'

export const document = kind({
  name: 'document',
  type: 'document',
  body: Type.Object({
    ...Common,
    type: Type.Literal('document'),
    link: Type.Optional(Link),
    mediaId: Type.Optional(MediaId),
    caption: Type.Optional(Text(limits.caption)),
    filename: Type.Optional(Text(limits.filename)),
  }),
  check: requireOneSource,
  build: body => ({
    type: 'document',
    document: {
      ...mediaSource(body),
      ...(body.caption !== undefined && { caption: body.caption }),
      ...(body.filename !== undefined && { filename: body.filename }),
    },
  }),
})
