import { first, type Tx } from '../../platform/database.ts'

export interface LineCrediting {
  subscriptionId: string
  invoiceId: string
  lineNo: number
  netMinor: bigint
  taxMinor: bigint
}

export const creditLines = (tx: Tx, businessId: string, credits: readonly LineCrediting[], sign: 1 | -1 = 1) =>
  credits.map(
    credit => tx`
    update billing_invoice_line
    set credited_net_minor = credited_net_minor + ${BigInt(sign) * credit.netMinor},
      credited_tax_minor = credited_tax_minor + ${BigInt(sign) * credit.taxMinor}
    where business_id = ${businessId} and subscription_id = ${credit.subscriptionId}
      and invoice_id = ${credit.invoiceId} and line_no = ${credit.lineNo}`,
  )

export interface CreditNoteRow {
  id: string
  subscriptionId: string
  kind: 'change' | 'refund'
  /** the change or refund it belongs to */
  sourceId: string
  netMinor: bigint
  taxMinor: bigint
  lines: readonly LineCrediting[]
  createdAt: Date
}

export const insertCreditNote = (tx: Tx, businessId: string, note: CreditNoteRow) => tx`
  insert into billing_credit_note (business_id, id, subscription_id, kind, source_id, net_minor, tax_minor, lines, created_at)
  values (${businessId}, ${note.id}, ${note.subscriptionId}, ${note.kind}, ${note.sourceId}, ${note.netMinor},
    ${note.taxMinor}, ${tx.json(note.lines.map(inText) as never)}, ${note.createdAt})`

const inText = (line: LineCrediting) => ({
  invoiceId: line.invoiceId,
  lineNo: line.lineNo,
  net: String(line.netMinor),
  tax: String(line.taxMinor),
})

export const voidCreditNote = (tx: Tx, businessId: string, sourceId: string, at: Date) =>
  tx<{ lines: { invoiceId: string; lineNo: number; net: string; tax: string }[] }[]>`
  update billing_credit_note set voided_at = ${at}
  where business_id = ${businessId} and source_id = ${sourceId} and voided_at is null
  returning lines`.then(first)

/** What an invoice used up of lots is theirs again. */
export const returnCredit = (tx: Tx, businessId: string, invoiceId: string) => tx`
  with returned as (
    delete from billing_credit_use where business_id = ${businessId} and invoice_id = ${invoiceId}
    returning lot_id, amount_minor
  )
  update billing_credit_lot lot set used_minor = used_minor - returned.amount_minor
  from returned where lot.business_id = ${businessId} and lot.id = returned.lot_id`
