import { createHash } from 'node:crypto'
import { escapeHtml } from '../../platform/html.ts'
import { buildMarkup, hasStyles, type Markup, type MarkupOrder } from './markup.ts'
import { buildOnThread } from './markup-thread.ts'
import { isMjml } from './mjml.ts'
import { type Piece, parseTemplate } from './template.ts'

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
export interface CompiledContent extends Markup {
  slots: readonly Piece[]
  mark: RegExp
}

/**
 * Letters of marks: s value in HTML, u part of an address, U whole address, l tracked link, p pixel; in the text part t value,
 * v part of an address, V whole address.
 * Order: Liquid is replaced by marks first, so that no later tool can misread it.
 */
export async function compileContent(content: Content, { tracked } = { tracked: true }): Promise<CompiledContent> {
  const hash = createHash('sha256').update(content.source).digest('hex').slice(0, 8)
  const slots: Piece[] = []
  const source = markSlots(content.source, hash, slots)
  const hasUnsubscribe = slots.some(slot => slot.kind === 'output' && /\bunsubscribeUrl\b/.test(slot.source))
  const footer = content.footer && !hasUnsubscribe ? markSlots(footerHtml, hash, slots) : ''
  const preheader = content.preheader === '' ? '' : preheaderHtml(markSlots(content.preheader, hash, slots))
  const order: MarkupOrder = {
    source,
    isMjml: isMjml(content.builderType, content.source),
    hash,
    slots: slots.map(slot => (slot.kind === 'output' ? slot.source : null)),
    footer,
    preheader,
    tracked,
  }
  const markup = await (isQuick(order) ? buildMarkup(order) : buildOnThread(order))
  return { ...markup, slots, mark: new RegExp(`pp${hash}([suUlptvV])(\\d+)z`) }
}

/** A few milliseconds: less than a thread takes to start. */
const isQuick = ({ isMjml, source }: MarkupOrder) => !isMjml && source.length <= 8_192 && !hasStyles(source)

function markSlots(source: string, hash: string, slots: Piece[]): string {
  return parseTemplate(source)
    .map(piece => (piece.kind === 'text' ? piece.text : `pp${hash}s${slots.push(piece) - 1}z`))
    .join('')
}

const footerHtml =
  '<p style="margin:24px 0 0;font:12px/1.5 sans-serif;color:#666;text-align:center">' +
  '<a href="{{ unsubscribeUrl }}" style="color:#666">Unsubscribe</a> · ' +
  '<a href="{{ preferencesUrl }}" style="color:#666">Email preferences</a></p>'

const preheaderHtml = (text: string) =>
  `<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${escapeHtml(text)}</div>`
