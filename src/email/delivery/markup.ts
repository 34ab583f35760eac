import type * as HtmlToText from 'html-to-text'
import { Parser } from 'htmlparser2'
import type Juice from 'juice'
import { onFirstUse } from '../../platform/first-use.ts'
import { renderMjml } from './mjml.ts'

const juice = onFirstUse<typeof Juice>('juice')
const htmlToText = onFirstUse<typeof HtmlToText>('html-to-text')

/** Everything that is built from: only texts, so that a thread can be given it. */
export interface MarkupOrder {
  /** with marks where a recipient's values go */
  source: string
  isMjml: boolean
  /** the hash that marks carry */
  hash: string
  /** what each mark of an output stands for; null for a condition */
  slots: (string | null)[]
  /** markup that goes before the end of the body, and after its start */
  footer: string
  preheader: string
  tracked: boolean
}

export interface Markup {
  html: string
  text: string
  /** targets of the tracked links, as templates; a link's number is its place here */
  links: string[]
}

export async function buildMarkup(order: MarkupOrder): Promise<Markup> {
  const { source, hash } = order
  const styled = order.isMjml ? (await renderMjml(source)).html : hasStyles(source) ? juice()(source) : source
  const { html, links } = rewriteAddresses(insertBeforeBodyEnd(styled, order.footer), order)
  return {
    html: insertBeforeBodyEnd(insertAfterBodyStart(html, order.preheader), order.tracked ? pixelHtml(hash) : ''),
    text: toText(html).replaceAll(new RegExp(`(?<=pp${hash})[suU](?=\\d+z)`, 'g'), letter => inText[letter] ?? letter),
    links,
  }
}

/** What stands for the same value in the text part, where nothing is escaped for HTML. */
const inText: Record<string, string> = { s: 't', u: 'v', U: 'V' }

export const hasStyles = (source: string) => /<style[\s>]/i.test(source)

const addressAttributes = new Set(['href', 'src', 'action', 'formaction', 'background', 'poster', 'cite', 'srcset'])

/** Finds each opening tag that has an address or a mark in one, and edits it in place; all else stays as it was. */
function rewriteAddresses(
  html: string,
  { hash, slots, tracked: track }: MarkupOrder,
): { html: string; links: string[] } {
  const links: string[] = []
  const numbers = new Map<string, number>()
  let result = ''
  let done = 0
  const anyMark = new RegExp(`pp${hash}s(\\d+)z`, 'g')
  const trackedLink = (target: string): string | undefined => {
    if (!/^https?:\/\/[^\s/]/i.test(target)) return undefined
    let constant = true
    const template = target.replaceAll(anyMark, (_, number: string) => {
      const output = slots[Number(number)]
      if (typeof output !== 'string') constant = false
      return typeof output === 'string' ? `{{ ${output} }}` : ''
    })
    if (!constant) return undefined
    const number = numbers.get(template) ?? links.push(template) - 1
    numbers.set(template, number)
    return `pp${hash}l${number}z`
  }
  const parser = new Parser({
    onopentag(name, attributes) {
      const { startIndex, endIndex } = parser
      const tag = html.slice(startIndex, (endIndex ?? startIndex) + 1)
      const isLink = track && (name === 'a' || name === 'area')
      const tracked =
        isLink && !('data-no-track' in attributes) ? trackedLink((attributes.href ?? '').trim()) : undefined
      const edited = editAttributes(tag, anyMark, (attribute, value) => {
        if (attribute === 'href' && tracked !== undefined) return tracked
        if (!addressAttributes.has(attribute)) return value
        return value.replaceAll(anyMark, (_, number: string, at: number) => {
          return `pp${hash}${value.slice(0, at).trim() === '' ? 'U' : 'u'}${number}z`
        })
      })
      if (edited === tag) return
      result += html.slice(done, startIndex) + edited
      done = startIndex + tag.length
    },
  })
  parser.end(html)
  return { html: result + html.slice(done), links }
}

const attributePattern = /(\s)([a-z][a-z0-9:-]*)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)/gi

/** What a recipient's value goes into is put in quotes where it has none: a space in the value would begin another attribute. */
function editAttributes(tag: string, anyMark: RegExp, edit: (name: string, value: string) => string): string {
  return tag.replaceAll(attributePattern, (whole, space: string, name: string, equals: string, quoted: string) => {
    const quote = quoted.startsWith('"') || quoted.startsWith("'") ? quoted.charAt(0) : ''
    const value = quote ? quoted.slice(1, -1) : quoted
    const changed = edit(name.toLowerCase(), value)
    const isBare = quote === '' && value.search(anyMark) >= 0
    return changed === value && !isBare ? whole : `${space}${name}${equals}${quote || '"'}${changed}${quote || '"'}`
  })
}

function insertBeforeBodyEnd(html: string, more: string): string {
  const at = html.toLowerCase().lastIndexOf('</body')
  return at < 0 ? html + more : html.slice(0, at) + more + html.slice(at)
}

function insertAfterBodyStart(html: string, more: string): string {
  if (more === '') return html
  const body = /<body(\s[^>]*)?>/i.exec(html)
  const at = body ? body.index + body[0].length : 0
  return html.slice(0, at) + more + html.slice(at)
}

const pixelHtml = (hash: string) =>
  `<img src="pp${hash}p0z" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`

const toText = (html: string) =>
  htmlToText().convert(html, {
    wordwrap: false,
    // Upper case would change the marks, and shouts besides.
    selectors: [
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map(selector => ({ selector, options: { uppercase: false } })),
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    ],
  })
