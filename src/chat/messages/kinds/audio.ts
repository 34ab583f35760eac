import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import { Link, MediaId, mediaSource, requireOneSource } from '../parts.ts'

export const audio = kind({
  name: 'audio',
  type: 'audio',
  body: Type.Object({
    ...Common,
    type: Type.Literal('audio'),
    link: Type.Optional(Link),
    mediaId: Type.Optional(MediaId),
    voice: Type.Optional(Type.Boolean()),
  }),
  forbidden: ['caption'],
  check: requireOneSource,
  build: body => ({
    type: 'audio',
    audio: { ...mediaSource(body), ...(body.voice !== undefined && { voice: body.voice }) },
  }),
})
