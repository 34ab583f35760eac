import type PDFDocument from 'pdfkit'
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
  const [lines, [customer]] = await Promise.all([
    store.linesOf(db, business.id, row),
    customersByIds(db, business.id, [row.customerId]),
  ])
  return drawInvoice({ seller: business.name, timeZone: business.timeZone, row, lines, customer: customer! })
}

interface Paper {
  seller: string
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
    Author: plain(paper.seller),
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
  head(doc, paper)
  const y = table(doc, paper)
  totals(doc, paper, y)
  doc.end()
  return done
}

type Doc = InstanceType<typeof PDFDocument>

/** The standard fonts know Latin letters only; what they can't draw is shown as a question mark instead of nonsense. */
const plain = (text: string) =>
  text.normalize('NFC').replaceAll(/[^\u0020-\u007e\u00a0-\u00ff\u2013\u2019\u20ac]/gu, '?')

function head(doc: Doc, { seller, timeZone, row, customer }: Paper): void {
  doc.font('Helvetica-Bold').fontSize(20).text(plain(seller), left, 50, { width: 300 })
  doc
    .fontSize(14)
    .text(row.number === null ? 'Draft invoice' : 'Invoice', 350, 54, { width: right - 350, align: 'right' })
  doc.font('Helvetica').fontSize(10)
  const facts = [
    invoiceNumber(row),
    `Date ${localDate(row.issuedAt ?? row.createdAt, timeZone)}`,
    `Due ${localDate(row.dueAt, timeZone)}`,
    `Status ${row.status}`,
  ]
  doc.text(facts.filter(Boolean).join('\n'), 350, 78, { width: right - 350, align: 'right' })
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
  doc.text(plain(address.filter(Boolean).join('\n')), left, 110, { width: 280 })
}

function table(doc: Doc, { row, lines }: Paper): number {
  let y = 220
  const cells = (texts: readonly string[], bold = false) => {
    doc.font(bold ? 'Helvetica-Bold' : 'Helvetica').fontSize(9)
    const height = doc.heightOfString(texts[0] ?? '', { width: 225 })
    if (y + height > bottom) {
      doc.addPage()
      y = left
    }
    doc.text(texts[0] ?? '', left, y, { width: 225 })
    const columns = [
      { x: 280, width: 45 },
      { x: 325, width: 70 },
      { x: 395, width: 70 },
      { x: 465, width: 80 },
    ]
    for (const [i, { x, width }] of columns.entries()) doc.text(texts[i + 1] ?? '', x, y, { width, align: 'right' })
    y += Math.max(height, 12) + 6
  }
  cells(['Description', 'Quantity', 'Price', 'Discount', 'Amount'], true)
  doc
    .moveTo(left, y - 3)
    .lineTo(right, y - 3)
    .lineWidth(0.5)
    .stroke()
  const money = (minor: bigint) => majorText(minor, row.currency)
  for (const line of lines) {
    const span = line.start && line.end ? ` (${line.start} to ${line.end})` : ''
    cells([
      plain(line.description + span),
      String(line.quantity),
      money(line.unitPriceMinor),
      line.discountMinor > 0n ? `-${money(line.discountMinor)}` : '',
      money(line.netMinor),
    ])
  }
  doc.moveTo(left, y).lineTo(right, y).lineWidth(0.5).stroke()
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
    doc.font(bold ? 'Helvetica-Bold' : 'Helvetica').fontSize(bold ? 11 : 10)
    doc
      .text(plain(label), 250, y, { width: 180, align: 'right' })
      .text(value, 430, y, { width: right - 430, align: 'right' })
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
  if (note)
    doc
      .font('Helvetica')
      .fontSize(9)
      .text(plain(note.transaction_note), left, y + 10, { width: right - left })
}
