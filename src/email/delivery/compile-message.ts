import { escapeHtml } from '../../platform/html.ts'
import type { CompiledContent } from './compile-content.ts'
import { type Evaluate, isTrue, type MergeData } from './expression.ts'
import { chosen, countBytes, type Node, Values, Writer, writeNodes } from './fill-message.ts'
import { textOf } from './filters.ts'
import { encodeHeaderText, headerDate } from './header.ts'
import { encodeQuotedPrintable, softBreak } from './quoted-printable.ts'
import { type Piece, parseTemplate } from './template.ts'

/** What one launch of a campaign adds to its content. */
export interface Envelope {
  from: { name: string; address: string }
  /** a template */
  subject: string
  attachments: readonly { filename: string; contentType: string; content: Buffer }[]
  /** header fields that are the same for every recipient */
  headers: Readonly<Record<string, string>>
  /** false for mail that a person asked for: then there is nothing to unsubscribe from */
  unsubscribable?: boolean
  /** a header that makes the provider give the id back in its webhooks */
  markHeader?: (deliveryId: string) => string
  /** begins every tracked address: https://mail.example.com */
  publicUrl: string
  /** domain of the Message-ID */
  messageIdDomain: string
}

/** What differs per recipient. */
export interface Recipient {
  deliveryId: string
  email: string
  /** opaque: names this delivery in tracked addresses */
  trackToken: string
  /** opaque: names this delivery in unsubscribe addresses */
  unsubscribeToken: string
  data: MergeData
}

/** A message ready to be filled: constant bytes, with small functions between them. */
export interface CompiledMessage {
  /** writes the whole message, ending in CRLF, with room for `spare` more bytes; answers the buffer (a larger one where it did not fit) and the length */
  fill(recipient: Recipient, at: Date, buffer: Buffer, spare?: number): { buffer: Buffer; length: number }
  constantBytes: number
  senderAddress: string
}

export const trackPath = '/e/c/'
export const openPath = '/e/o/'
export const unsubscribePath = '/e/u/'
export const preferencesPath = '/e/p/'
export const viewPath = '/e/v/'

// Not ASCII, so that nodemailer chooses quoted-printable for the parts; then replaced by our own pieces.
const textMark = 'ppTextPartü'
const htmlMark = 'ppHtmlPartü'

export async function compileMessage(content: CompiledContent, envelope: Envelope): Promise<CompiledMessage> {
  const skeleton = await composeSkeleton(envelope)
  const [head, middle, tail] = splitAtMarks(skeleton)
  const values = new Values()
  const nodes: Node[] = [
    Buffer.from(head, 'latin1'),
    ...assemble(content.text, content, envelope, values),
    Buffer.from(middle, 'latin1'),
    ...assemble(content.html, content, envelope, values),
    Buffer.from(tail, 'latin1'),
  ]
  const writeHeaders = compileHeaders(envelope)
  const constantBytes = countBytes(nodes) + 2_048
  return {
    constantBytes,
    senderAddress: envelope.from.address,
    fill(recipient, at, buffer, spare = 0) {
      const writer = new Writer(buffer.length < constantBytes ? Buffer.allocUnsafeSlow(constantBytes + 8_192) : buffer)
      writer.text(writeHeaders(recipient, at))
      values.forget()
      writeNodes(nodes, values, recipient.data, writer)
      writer.reserve(spare)
      return { buffer: writer.buffer, length: writer.length }
    },
  }
}

/** nodemailer builds the MIME structure and the constant headers once. */
async function composeSkeleton(envelope: Envelope): Promise<string> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const composer = new MailComposer({
    from: envelope.from,
    text: textMark,
    html: htmlMark,
    textEncoding: 'quoted-printable',
    headers: { ...envelope.headers },
    attachments: envelope.attachments.map(attachment => ({ ...attachment })),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const built = await composer.compile().build()
  // The two that differ per recipient are written by us.
  return built
    .toString('latin1')
    .replace(/^(Message-ID|Date): .*(\r\n[ \t].*)*\r\n/gim, (line, _name, _fold, at: number) => {
      return at < built.indexOf('\r\n\r\n') ? '' : line
    })
}

function splitAtMarks(skeleton: string): [string, string, string] {
  const encoded = (mark: string) => encodeQuotedPrintable(mark)
  const [head, rest] = split(skeleton, encoded(textMark))
  const [middle, tail] = split(rest, encoded(htmlMark))
  return [head, middle, tail]
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  if (at < 0) throw new Error('The composed message lost the mark of a part.')
  return [text.slice(0, at), text.slice(at + mark.length)]
}

function compileHeaders(envelope: Envelope): (recipient: Recipient, at: Date) => string {
  const subject = compileSubject(envelope.subject)
  const unsubscribe = envelope.publicUrl + unsubscribePath
  const unsubscribable = envelope.unsubscribable ?? true
  let second = Number.NaN
  let date = ''
  return (recipient, at) => {
    const now = Math.floor(at.getTime() / 1000)
    if (now !== second) {
      second = now
      date = headerDate(at)
    }
    return (
      `Date: ${date}\r\n` +
      `Message-ID: <${recipient.deliveryId}@${envelope.messageIdDomain}>\r\n` +
      `To: ${addressHeader(recipient.email)}\r\n` +
      `Subject: ${subject(recipient.data)}\r\n` +
      (envelope.markHeader?.(recipient.deliveryId) ?? '') +
      (unsubscribable
        ? `List-Unsubscribe: <${unsubscribe}${recipient.unsubscribeToken}>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n`
        : '')
    )
  }
}

/** A local part that is no dot-atom is quoted; line breaks can't be in an address that was accepted, and are refused here again. */
function addressHeader(email: string): string {
  const clean = email.replaceAll(/[\r\n]/g, '')
  const at = clean.lastIndexOf('@')
  const local = clean.slice(0, at)
  if (/^[\w!#$%&'*+/=?^`{|}~.\u0080-\uffff-]+$/.test(local) && !/^\.|\.\.|\.$/.test(local)) return clean
  return local.startsWith('"') ? clean : `"${local.replaceAll(/["\\]/g, '\\$&')}"${clean.slice(at)}`
}

function compileSubject(template: string): (data: MergeData) => string {
  const pieces = parseTemplate(template)
  if (pieces.every(piece => piece.kind === 'text')) {
    const constant = encodeHeaderText('Subject', pieces.map(piece => (piece as { text: string }).text).join(''))
    return () => constant
  }
  const nodes = buildTree(pieces)
  return data => encodeHeaderText('Subject', renderText(nodes, data))
}

/** A subject or a link target with this recipient's values. */
export function renderTemplate(template: string, data: MergeData, encode: (text: string) => string = same): string {
  return renderText(buildTree(parseTemplate(template)), data, encode)
}

const same = (text: string) => text

function renderText(nodes: readonly Tree[], data: MergeData, encode: (text: string) => string = same): string {
  let text = ''
  for (const node of nodes) {
    if (node.kind === 'text') text += node.text
    else if (node.kind === 'output') text += encode(textOf(node.value(data)))
    else text += renderText(chosen(node.branches, data), data, encode)
  }
  return text
}

type Tree =
  | Extract<Piece, { kind: 'text' | 'output' }>
  | { kind: 'if'; branches: { condition: Evaluate | undefined; nodes: Tree[] }[] }

/** Pieces in a row become branches. A tool may have dropped one end of a condition; what is left open ends with the part. */
function buildTree(pieces: readonly Piece[]): Tree[] {
  const root: Tree[] = []
  const open: { branches: { condition: Evaluate | undefined; nodes: Tree[] }[] }[] = []
  let current = root
  const parents: Tree[][] = []
  for (const piece of pieces) {
    if (piece.kind !== 'tag') current.push(piece)
    else if (piece.name === 'if' || piece.name === 'unless') {
      const { condition } = piece
      const holds = piece.name === 'if' || !condition ? condition : (data: MergeData) => !isTrue(condition(data))
      const node = { kind: 'if' as const, branches: [{ condition: holds, nodes: [] as Tree[] }] }
      current.push(node)
      parents.push(current)
      open.push(node)
      current = node.branches[0]?.nodes ?? root
    } else if (piece.name === 'elsif' || piece.name === 'else') {
      const nodes: Tree[] = []
      open.at(-1)?.branches.push({ condition: piece.condition, nodes })
      if (open.length > 0) current = nodes
    } else {
      open.pop()
      current = parents.pop() ?? root
    }
  }
  return root
}

/** Splits marked markup into constant bytes and functions; each stands between soft line breaks. */
function assemble(marked: string, content: CompiledContent, envelope: Envelope, values: Values): Node[] {
  const parts = marked.split(new RegExp(content.mark.source, 'g'))
  const pieces: Piece[] = []
  for (let i = 0; i < parts.length; i += 3) {
    if (parts[i]) pieces.push({ kind: 'text', text: parts[i] as string })
    if (i + 1 < parts.length)
      pieces.push(...piecesOfMark(parts[i + 1] as string, Number(parts[i + 2]), content, envelope))
  }
  return toNodes(buildTree(mergeTexts(pieces)), values)
}

// The recipient travels in the data under a symbol, so that one evaluator serves values and tracked addresses.
const recipientKey = Symbol('recipient')
const recipientOf = (data: MergeData) => (data as { [recipientKey]?: Recipient })[recipientKey] as Recipient
const trackToken: Evaluate = data => recipientOf(data).trackToken

function piecesOfMark(letter: string, number: number, content: CompiledContent, envelope: Envelope): Piece[] {
  const text = (value: string): Piece => ({ kind: 'text', text: value })
  const token: Piece = { kind: 'output', source: 'token', value: trackToken }
  if (letter === 'l') return [text(envelope.publicUrl + trackPath), token, text(`/${number}`)]
  if (letter === 'p') return [text(envelope.publicUrl + openPath), token]
  const slot = content.slots[number]
  if (!slot) return []
  if (slot.kind !== 'output') return [slot]
  const encode = encoders[letter] ?? escapeHtml
  const { value } = slot
  // The source names the value in this kind of place; places of one kind share it.
  return [{ ...slot, source: `${letter} ${slot.source}`, value: data => encode(textOf(value(data))) }]
}

const inAddress = (value: string) => encodeURIComponent(value.toWellFormed())
/** A value that is a whole address may not smuggle in a script. */
const wholeAddress = (value: string) => (/^(https?:|mailto:|tel:)/i.test(value.trim()) ? value.trim() : '#')

const encoders: Record<string, (value: string) => string> = {
  s: escapeHtml,
  u: value => escapeHtml(inAddress(value)),
  U: value => escapeHtml(wholeAddress(value)),
  t: same,
  v: inAddress,
  V: wholeAddress,
}

function mergeTexts(pieces: readonly Piece[]): Piece[] {
  const merged: Piece[] = []
  for (const piece of pieces) {
    const last = merged.at(-1)
    if (piece.kind === 'text' && last?.kind === 'text')
      merged[merged.length - 1] = { kind: 'text', text: last.text + piece.text }
    else merged.push(piece)
  }
  return merged
}

function toNodes(tree: readonly Tree[], values: Values): Node[] {
  return tree.map((node): Node => {
    if (node.kind === 'text') return Buffer.from(encodeQuotedPrintable(node.text) + softBreak, 'latin1')
    if (node.kind === 'output') {
      const { value } = node
      return values.numberOf(node.source, data => textOf(value(data)))
    }
    return { branches: node.branches.map(({ condition, nodes }) => ({ condition, nodes: toNodes(nodes, values) })) }
  })
}

/** Makes the recipient reachable for tracked addresses, and adds the addresses a template may name. */
export function mergeDataOf(recipient: Recipient, publicUrl: string): MergeData {
  const { data } = recipient
  data.email ??= recipient.email
  data.unsubscribeUrl = publicUrl + unsubscribePath + recipient.unsubscribeToken
  data.preferencesUrl = publicUrl + preferencesPath + recipient.unsubscribeToken
  data.viewUrl = publicUrl + viewPath + recipient.trackToken
  ;(data as { [recipientKey]?: Recipient })[recipientKey] = recipient
  return data
}
