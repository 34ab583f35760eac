import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import { Body, bodyPart, Footer, footerPart, Header, headerPart, interactive, Link, limits, Text } from '../parts.ts'

export const ctaUrl = kind({
  name: 'CTA URL',
  type: 'interactive',
  interactiveType: 'cta_url',
  body: Type.Object({
    ...Common,
    type: Type.Literal('interactive'),
    interactiveType: Type.Literal('cta_url'),
    header: Header,
    body: Body,
    footer: Footer,
    action: Type.Object({ displayText: Text(limits.label), url: Link }),
  }),
  build: ({ header, body, footer, action }) =>
    interactive({
      type: 'cta_url',
      ...headerPart(header),
      ...bodyPart(body),
      ...footerPart(footer),
      action: { name: 'cta_url', parameters: { display_text: action.displayText, url: action.url } },
    }),
})
