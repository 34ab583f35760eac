import { Type } from 'typebox'
import { badRequest } from '../../../platform/problem.ts'
import { Common, kind } from '../kind.ts'
import { limits, Text } from '../parts.ts'

export const text = kind({
  name: 'text',
  type: 'text',
  body: Type.Object({
    ...Common,
    type: Type.Literal('text'),
    text: Type.Optional(Text(limits.text)),
    body: Type.Optional(Text(limits.text)),
    previewUrl: Type.Optional(Type.Boolean()),
  }),
  check: body => {
    if (body.text === undefined && body.body === undefined)
      throw badRequest('validation_failed', 'text is required.', [{ field: 'text', message: 'is required' }])
  },
  build: ({ text, body, previewUrl }) => ({
    type: 'text',
    text: { body: text ?? body, ...(previewUrl !== undefined && { preview_url: previewUrl }) },
  }),
})
