import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import { Link, limits, MediaId, mediaSource, requireOneSource, Text } from '../parts.ts'

export const image = kind({
  name: 'image',
  type: 'image',
  body: Type.Object({
    ...Common,
    type: Type.Literal('image'),
    link: Type.Optional(Link),
    mediaId: Type.Optional(MediaId),
    caption: Type.Optional(Text(limits.caption)),
  }),
  check: requireOneSource,
  build: body => ({
    type: 'image',
    image: { ...mediaSource(body), ...(body.caption !== undefined && { caption: body.caption }) },
  }),
})
