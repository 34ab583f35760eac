import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import {
  Body,
  bodyPart,
  Footer,
  footerPart,
  Header,
  headerPart,
  interactive,
  limits,
  requireUnique,
  Text,
} from '../parts.ts'

/** An extension: up to three buttons whose taps come back as messages. */
export const replyButtons = kind({
  name: 'reply buttons',
  type: 'interactive',
  interactiveType: 'button',
  body: Type.Object({
    ...Common,
    type: Type.Literal('interactive'),
    interactiveType: Type.Literal('button'),
    header: Header,
    body: Body,
    footer: Footer,
    action: Type.Object({
      buttons: Type.Array(
        Type.Object({
          id: Type.String({
            minLength: 1,
            maxLength: limits.replyId,
            pattern: '^\\S(?:[\\s\\S]*\\S)?$',
            patternMessage: 'must not begin or end with a space',
          }),
          title: Text(limits.label),
        }),
        { minItems: 1, maxItems: limits.replyButtons },
      ),
    }),
  }),
  check: ({ action: { buttons } }) => {
    requireUnique(
      buttons.map(button => button.id),
      index => `action.buttons[${index}].id`,
    )
    requireUnique(
      buttons.map(button => button.title),
      index => `action.buttons[${index}].title`,
    )
  },
  build: ({ header, body, footer, action }) =>
    interactive({
      type: 'button',
      ...headerPart(header),
      ...bodyPart(body),
      ...footerPart(footer),
      action: { buttons: action.buttons.map(({ id, title }) => ({ type: 'reply', reply: { id, title } })) },
    }),
})
