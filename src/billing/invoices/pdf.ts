import { createRequire } from 'node:module'
import type PDFDocument from 'pdfkit'
import { type UserRow, userById } from '../../accounts/store.ts'
import { onFirstUse } from '../../platform/first-use.ts'
import type { Context } from '../context.ts'
import { customersByIds } from '../customers/customers.ts'
import type { CustomerRow } from '../customers/store.ts'
import { localDate } from '../dates.ts'
import { majorText } from '../money.ts'
import type { CreditNote, TaxApply } from './schema.ts'
import { invoiceNumber } from './show.ts'
import type { InvoiceRow, StoredLine } from './store.ts'
import * as store from './store.ts'

/** Equal invoices give equal bytes: nothing in the document depends on when it is made. */
export async function invoicePdf({ db, business }: Context, row: InvoiceRow): Promise<Buffer> {
  const [lines, [customer], owner] = await Promise.all([
    store.linesOf(db, business.id, row),
    customersByIds(db, business.id, [row.customerId]),
    userById(db, business.userId),
  ])
  const { name: seller, timeZone } = business
  return drawInvoice({ seller, sellerAddress: addressOf(owner), timeZone, row, lines, customer: customer! })
}

/** As the owner gave it in the account; without one only the name of the business stands there. */
function addressOf(owner: UserRow | undefined): string[] {
  const said = (name: string) => owner?.profile[name] ?? ''
  return [
    said('address_line1'),
    said('address_line2'),
    [said('zip_code'), said('city')].filter(Boolean).join(' '),
    [said('state'), said('country')].filter(Boolean).join(', '),
  ].filter(Boolean)
}

interface Paper {
  seller: string
  sellerAddress: readonly string[]
  timeZone: string
  row: InvoiceRow
  lines: readonly StoredLine[]
  customer: CustomerRow
}

const pdfkit = onFirstUse<typeof PDFDocument>('pdfkit')
const left = 50
const right = 545
const bottom = 760

export function drawInvoice(paper: Paper): Promise<Buffer> {
  const { row } = paper
  const info = {
    Title: invoiceNumber(row) || 'Draft invoice',
    Author: paper.seller,
    CreationDate: row.createdAt,
    ModDate: row.createdAt,
  }
  const doc = new (pdfkit())({ size: 'A4', margin: left, info })
  const chunks: Buffer[] = []
  doc.on('data', (chunk: Buffer) => chunks.push(chunk))
  const done = new Promise<Buffer>((resolve, reject) => {
    doc.on('end', () => resolve(Buffer.concat(chunks)))
    doc.on('error', reject)
  })
  totals(doc, paper, table(doc, paper, head(doc, paper)))
  doc.end()
  return done
}

type Doc = InstanceType<typeof PDFDocument>

/** Every PDF reader has Helvetica, which knows the letters of western Europe; for others a font is put into the document. */
const western = /^[\n\u0020-\u007e\u00a0-\u00ff\u2013\u2019\u20ac]*$/u
/** What that font can't draw either is shown as a question mark instead of nonsense. */
const undrawable =
  /[^\n\p{Zs}\p{P}\p{N}\p{M}\p{Sc}\p{Sm}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Armenian}\p{sc=Georgian}]/gu
const fontPath = (name: string) => createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`)

function say(
  doc: Doc,
  text: string,
  at: { x: number; y: number; width: number; align?: 'right' },
  { size, bold = false }: { size: number; bold?: boolean },
): void {
  const { x, y, ...options } = at
  doc.text(prepare(doc, text, { size, bold }), x, y, options)
}

/** Sets the font that a text needs, and answers the text as it can be drawn. */
function prepare(doc: Doc, given: string, { size, bold = false }: { size: number; bold?: boolean }): string {
  const text = given.normalize('NFC')
  doc.fontSize(size)
  if (western.test(text)) {
    doc.font(bold ? 'Helvetica-Bold' : 'Helvetica')
    return text
  }
  doc.font(fontPath(bold ? 'DejaVuSansCondensed-Bold' : 'DejaVuSansCondensed'))
  return text.replaceAll(undrawable, '?')
}

function head(doc: Doc, { seller, sellerAddress, timeZone, row, customer }: Paper): number {
  const aside = { x: 350, width: right - 350, align: 'right' as const }
  say(doc, row.number === null ? 'Draft invoice' : 'Invoice', { ...aside, y: 54 }, { size: 14, bold: true })
  const facts = [
    invoiceNumber(row),
    `Date ${localDate(row.issuedAt ?? row.createdAt, timeZone)}`,
    `Due ${localDate(row.dueAt, timeZone)}`,
    `Status ${row.status}`,
  ]
  say(doc, facts.filter(Boolean).join('\n'), { ...aside, y: 78 }, { size: 10 })
  const { street1, city, zip_code, state, country } = customer.billingAddress
  const address = [
    `${customer.firstName} ${customer.lastName}`.trim(),
    customer.companyName,
    customer.emailId,
    street1,
    [zip_code, city].filter(Boolean).join(' '),
    [state, country].filter(Boolean).join(', '),
    customer.taxId && `Tax id ${customer.taxId}`,
  ]
  say(doc, seller, { x: left, y: 50, width: 280 }, { size: 20, bold: true })
  say(doc, sellerAddress.join('\n'), { x: left, y: Math.max(doc.y, 78), width: 280 }, { size: 9 })
  say(doc, address.filter(Boolean).join('\n'), { x: left, y: Math.max(doc.y + 14, 140), width: 280 }, { size: 10 })
  return Math.max(doc.y + 30, 250)
}

function table(doc: Doc, { row, lines }: Paper, from: number): number {
  let y = from
  const cells = (texts: readonly string[], bold = false) => {
    const style = { size: 9, bold }
    const [description = '', ...numbers] = texts
    const height = doc.heightOfString(prepare(doc, description, style), { width: 225 })
    if (y + height > bottom) {
      doc.addPage()
      y = left
    }
    say(doc, description, { x: left, y, width: 225 }, style)
    const columns = [
      { x: 280, width: 45 },
      { x: 325, width: 70 },
      { x: 395, width: 70 },
      { x: 465, width: 80 },
    ]
    for (const [i, column] of columns.entries())
      say(doc, numbers[i] ?? '', { ...column, y, align: 'right' as const }, style)
    y += Math.max(height, 12) + 6
  }
  const rule = (at: number) => doc.moveTo(left, at).lineTo(right, at).lineWidth(0.5).stroke()
  cells(['Description', 'Quantity', 'Price', 'Discount', 'Amount'], true)
  rule(y - 3)
  const money = (minor: bigint) => majorText(minor, row.currency)
  for (const line of lines) {
    const span = line.start && line.end ? ` (${line.start} to ${line.end})` : ''
    cells([
      line.description + span,
      String(line.quantity),
      money(line.unitPriceMinor),
      line.discountMinor > 0n ? `-${money(line.discountMinor)}` : '',
      money(line.netMinor),
    ])
  }
  rule(y)
  return y + 8
}

function totals(doc: Doc, { row }: Paper, from: number): void {
  let y = from
  const money = (minor: bigint) => `${majorText(minor, row.currency)} ${row.currency}`
  const entry = (label: string, value: string, bold = false) => {
    if (y > bottom) {
      doc.addPage()
      y = left
    }
    const style = { size: bold ? 11 : 10, bold }
    say(doc, label, { x: 250, y, width: 180, align: 'right' }, style)
    say(doc, value, { x: 430, y, width: right - 430, align: 'right' }, style)
    y += 16
  }
  entry('Net', money(row.netMinor))
  for (const tax of (row.taxApply as TaxApply).taxes)
    entry(`${tax.name} ${tax.rate} %`, `${tax.amount} ${row.currency}`)
  entry('Total', money(row.totalMinor), true)
  if (row.creditAppliedMinor > 0n) entry('Credit applied', `-${money(row.creditAppliedMinor)}`)
  if (row.offsetMinor > 0n) entry('Credit notes', `-${money(row.offsetMinor)}`)
  if (row.paidMinor > 0n) entry('Paid', `-${money(row.paidMinor)}`)
  if (row.refundedMinor > 0n) entry('Refunded', money(row.refundedMinor))
  entry('Due', money(row.status === 'void' ? 0n : row.dueMinor), true)
  const note = row.creditNote as CreditNote | null
  if (note) say(doc, note.transaction_note, { x: left, y: y + 10, width: right - left }, { size: 9 })
}
