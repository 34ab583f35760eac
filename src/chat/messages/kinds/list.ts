import { Type } from 'typebox'
import { invalidField } from '../../../platform/problem.ts'
import { Common, kind } from '../kind.ts'
import {
  bodyPart,
  Footer,
  footerPart,
  HeaderText,
  headerPart,
  interactive,
  limits,
  requireUnique,
  Text,
} from '../parts.ts'

export const list = kind({
  name: 'list',
  type: 'interactive',
  interactiveType: 'list',
  body: Type.Object({
    ...Common,
    type: Type.Literal('interactive'),
    interactiveType: Type.Literal('list'),
    header: Type.Optional(HeaderText),
    body: Text(limits.listBody),
    footer: Footer,
    action: Type.Object({ button: Text(limits.label) }),
    sections: Type.Array(
      Type.Object({
        title: Type.Optional(Text(limits.sectionTitle)),
        rows: Type.Array(
          Type.Object({
            id: Text(limits.rowId),
            title: Text(limits.rowTitle),
            description: Type.Optional(Text(limits.rowDescription)),
          }),
          { minItems: 1 },
        ),
      }),
      { minItems: 1, maxItems: limits.sections },
    ),
  }),
  check: ({ sections }) => {
    const rows = sections.flatMap(section => section.rows)
    if (rows.length > limits.listRows)
      throw invalidField('sections', `must have at most ${limits.listRows} rows over all sections`)
    requireUnique(
      rows.map(row => row.id),
      () => 'sections[].rows[].id',
    )
    const untitled = sections.length > 1 ? sections.findIndex(section => section.title === undefined) : -1
    if (untitled >= 0) throw invalidField(`sections[${untitled}].title`, 'is required where there are several sections')
  },
  build: ({ header, body, footer, action, sections }) =>
    interactive({
      type: 'list',
      ...headerPart(header),
      ...bodyPart(body),
      ...footerPart(footer),
      action: {
        button: action.button,
        sections: sections.map(({ title, rows }) => ({
          ...(title !== undefined && { title }),
          rows: rows.map(row => ({
            id: row.id,
            title: row.title,
            ...(row.description !== undefined && { description: row.description }),
          })),
        })),
      },
    }),
})
