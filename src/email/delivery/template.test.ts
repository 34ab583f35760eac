import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { textOf } from './filters.ts'
import { checkTemplate, findTemplateFault, parseTemplate } from './template.ts'

const print = (source: string, data: Record<string, unknown> = {}) =>
  parseTemplate(source)
    .map(piece => (piece.kind === 'text' ? piece.text : piece.kind === 'output' ? textOf(piece.value(data)) : ''))
    .join('')

const holds = (condition: string, data: Record<string, unknown>) => {
  const [tag] = parseTemplate(`{% if ${condition} %}{% endif %}`)
  const value = tag?.kind === 'tag' ? tag.condition?.(data) : undefined
  return value !== undefined && value !== null && value !== false
}

describe('what templates print', () => {
  test.each([
    ['Hi {{ firstName | default: "there" }}!', {}, 'Hi there!'],
    ['Hi {{ firstName | default: "there" }}!', { firstName: 'Ada' }, 'Hi Ada!'],
    ['{{ customFields.company | upcase }}', { customFields: { company: 'Acme' } }, 'ACME'],
    ['{{ customFields["job title"] }}', { customFields: { 'job title': 'Smith' } }, 'Smith'],
    ['{{ tags | join: "/" }} {{ tags.size }} {{ tags.first }}', { tags: ['a', 'b'] }, 'a/b 2 a'],
    ['{{ born | date: "%-d %B %Y" }}', { born: '1815-12-10' }, '10 December 1815'],
    ['{{ x | truncate: 5 }}', { x: 'abcdefgh' }, 'ab...'],
    ['{{ "a" | append: "b" | replace: "b", "c" }}', {}, 'ac'],
    ['{{ constructor }}{{ __proto__ }}{{ toString }}', {}, ''],
    ['a{% comment %}{{ x }}{% endcomment %}b{% raw %}{{ y }}{% endraw %}', { x: 1 }, 'ab{{ y }}'],
    ['a  {{- x -}}  b', { x: 1 }, 'a1b'],
  ])('%s with %j', (source, data, expected) => {
    expect(print(source, data)).toBe(expected)
  })

  test.each([
    ['score > 3 and score <= 5', { score: 5 }, true],
    ['score > 3', { score: undefined }, false],
    ['name == "Ada" or vip', { name: 'Bob', vip: true }, true],
    ['name != blank', { name: '' }, false],
    ['name == empty', { name: undefined }, true],
    ['tags contains "new"', { tags: ['old', 'new'] }, true],
    ['not vip', { vip: false }, true],
    ['name == nil', {}, true],
  ])('if %s with %j is %s', (condition, data, expected) => {
    expect(holds(condition, data)).toBe(expected)
  })
})

describe('what templates may not be', () => {
  test.each([
    ['Hello\n  {{ a | nope }}', 2, 3, /filter "nope" is not available/],
    ['x\n {% for a in b %}{% endfor %}', 2, 2, /tag "for" is not available/],
    ['{% include "x" %}', 1, 1, /not available/],
    ['{% assign a = 1 %}', 1, 1, /not available/],
    ['{% if a %}', 1, 1, /not closed/],
    ['{% if a == %}x{% endif %}', 1, 1, /value is missing/],
    ['abc {{ a', 1, 5, /not closed/],
    ['{% endif %}', 1, 1, /no beginning/],
    ['{{ (1..3) }}', 1, 1, /ranges/],
    ['{% if a %}'.repeat(21) + '{% endif %}'.repeat(21), 1, 201, /nested deeper/],
  ])('%s', (source, line, column, message) => {
    expect(findTemplateFault(source)).toMatchObject({ line, column, message: expect.stringMatching(message) })
  })

  test('is a 422 that names the field and the place', () => {
    expect(() => checkTemplate('a\n{{ x', 'subject')).toThrow(
      expect.objectContaining({
        status: 422,
        code: 'template_invalid',
        errors: [{ field: 'subject', message: expect.stringMatching(/^line 2, column 1: /) }],
      }),
    )
  })

  test('any text either parses or has a fault with a place; nothing else is thrown', () => {
    const part = fc.constantFrom(
      '{{',
      '}}',
      '{%',
      '%}',
      ' if ',
      'endif',
      'a',
      '.',
      '|',
      '"',
      "'",
      '-',
      '\n',
      '[',
      ']',
      '(',
      '..',
      '1',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), parts => {
        const fault = findTemplateFault(parts.join(''))
        if (fault) expect(fault.line).toBeGreaterThan(0)
      }),
      { numRuns: 2_000 },
    )
  })
})
