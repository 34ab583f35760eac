import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import { Body, bodyPart, interactive } from '../parts.ts'

export const locationRequest = kind({
  name: 'location request',
  type: 'interactive',
  interactiveType: 'location_request_message',
  body: Type.Object({
    ...Common,
    type: Type.Literal('interactive'),
    interactiveType: Type.Literal('location_request_message'),
    body: Body,
  }),
  forbidden: ['header', 'footer'],
  build: ({ body }) =>
    interactive({ type: 'location_request_message', ...bodyPart(body), action: { name: 'send_location' } }),
})
