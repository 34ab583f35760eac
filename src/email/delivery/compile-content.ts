import { createHash } from 'node:crypto'
import type * as HtmlToText from 'html-to-text'
import { Parser } from 'htmlparser2'
import type Juice from 'juice'
import { onFirstUse } from '../../platform/first-use.ts'
import { escapeHtml } from '../../platform/html.ts'
import { renderMjml } from '../templates/mjml.ts'
import { type Piece, parseTemplate } from './template.ts'

const juice = onFirstUse<typeof Juice>('juice')
const htmlToText = onFirstUse<typeof HtmlToText>('html-to-text')

/** What a campaign says, as it was frozen when it was sent. */
export interface Content {
  /** HTML, MJML, RICH_TEXT or DRAG_AND_DROP; markup that begins with <mjml is MJML whatever the builder */
  builderType: string
  source: string
  preheader: string
  /** adds a line with the unsubscribe link where the template has none */
  footer: boolean
}

/**
 * Markup after everything that needs to be done once: MJML, CSS, links, text part, pixel. Where a recipient's values
 * go it holds marks of the form pp<hash><letter><number>z, which pass unharmed through every tool on the way.
 */
export interface CompiledContent {
  html: string
  text: string
  /** targets of the tracked links, as templates; a link's number is its place here */
  links: string[]
  slots: readonly Piece[]
  mark: RegExp
}

/**
 * Letters of marks: s value in HTML, u part of an address, U whole address, l tracked link, p pixel, t value in text.
 * Order: Liquid is replaced by marks first, so that no later tool can misread it.
 */
export async function compileContent(content: Content, { tracked } = { tracked: true }): Promise<CompiledContent> {
  const hash = createHash('sha256').update(content.source).digest('hex').slice(0, 8)
  const slots: Piece[] = []
  const marked = markSlots(content.source, hash, slots)
  const isMjml = content.builderType === 'MJML' || /^\s*(<\?xml[^>]*>\s*)?<mjml[\s>]/i.test(content.source)
  const styled = isMjml ? (await renderMjml(marked)).html : /<style[\s>]/i.test(marked) ? juice()(marked) : marked
  const hasUnsubscribe = slots.some(slot => slot.kind === 'output' && /\bunsubscribeUrl\b/.test(slot.source))
  const footer = content.footer && !hasUnsubscribe ? markSlots(footerHtml, hash, slots) : ''
  const withFooter = insertBeforeBodyEnd(styled, footer)
  const { html, links } = rewriteAddresses(withFooter, hash, slots, tracked)
  const preheader = content.preheader === '' ? '' : preheaderHtml(markSlots(content.preheader, hash, slots))
  return {
    html: insertBeforeBodyEnd(insertAfterBodyStart(html, preheader), tracked ? pixelHtml(hash) : ''),
    text: toText(html).replaceAll(new RegExp(`pp${hash}s(\\d+)z`, 'g'), `pp${hash}t$1z`),
    links,
    slots,
    mark: new RegExp(`pp${hash}([suUlpt])(\\d+)z`),
  }
}

function markSlots(source: string, hash: string, slots: Piece[]): string {
  return parseTemplate(source)
    .map(piece => (piece.kind === 'text' ? piece.text : `pp${hash}s${slots.push(piece) - 1}z`))
    .join('')
}

const addressAttributes = new Set(['href', 'src', 'action', 'background', 'poster', 'cite', 'srcset'])

/** Finds each opening tag that has an address or a mark in one, and edits it in place; all else stays as it was. */
function rewriteAddresses(
  html: string,
  hash: string,
  slots: readonly Piece[],
  track: boolean,
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
      const slot = slots[Number(number)]
      if (slot?.kind !== 'output') constant = false
      return slot?.kind === 'output' ? `{{ ${slot.source} }}` : ''
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
      const edited = editAttributes(tag, (attribute, value) => {
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

function editAttributes(tag: string, edit: (name: string, value: string) => string): string {
  return tag.replaceAll(attributePattern, (whole, space: string, name: string, equals: string, quoted: string) => {
    const quote = quoted.startsWith('"') || quoted.startsWith("'") ? quoted.charAt(0) : ''
    const value = quote ? quoted.slice(1, -1) : quoted
    const changed = edit(name.toLowerCase(), value)
    return changed === value ? whole : `${space}${name}${equals}${quote || '"'}${changed}${quote || '"'}`
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

const footerHtml =
  '<p style="margin:24px 0 0;font:12px/1.5 sans-serif;color:#666;text-align:center">' +
  '<a href="{{ unsubscribeUrl }}" style="color:#666">Unsubscribe</a> · ' +
  '<a href="{{ preferencesUrl }}" style="color:#666">Email preferences</a></p>'

const preheaderHtml = (text: string) =>
  `<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${escapeHtml(text)}</div>`

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
