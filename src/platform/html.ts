const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
export const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, character => escapes[character] ?? character)

/** Markup that is already safe. Made by `html` only, so that nothing unescaped can slip into a page. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString() {
    return this.text
  }
}

type Value = string | number | Html | undefined | null | false | readonly Value[]

const render = (value: Value): string => {
  if (value === undefined || value === null || value === false) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(render).join('')
  return escapeHtml(String(value))
}

/** A template whose values are escaped unless they are markup themselves. */
export const html = (parts: TemplateStringsArray, ...values: Value[]) =>
  new Html(parts.reduce((text, part, i) => text + part + (i < values.length ? render(values[i]) : ''), ''))
