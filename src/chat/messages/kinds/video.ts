import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import { Link, limits, MediaId, mediaSource, requireOneSource, Text } from '../parts.ts'

export const video = kind({
  name: 'video',
  type: 'video',
  body: Type.Object({
    ...Common,
    type: Type.Literal('video'),
    link: Type.Optional(Link),
    mediaId: Type.Optional(MediaId),
    caption: Type.Optional(Text(limits.caption)),
  }),
  check: requireOneSource,
  build: body => ({
    type: 'video',
    video: { ...mediaSource(body), ...(body.caption !== undefined && { caption: body.caption }) },
  }),
})
