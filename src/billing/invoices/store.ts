import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { LocalDate, PaymentTerm } from '../dates.ts'
import type { Page } from '../envelope.ts'
import { among } from '../store-among.ts'
import { type ColumnType, inserter } from '../store-columns.ts'
import { countRows } from '../store-count.ts'
import type { BillLine } from './bill.ts'

export const invoiceStatuses = ['pending', 'sent', 'paid', 'overdue', 'refunded', 'void'] as const
export type InvoiceStatus = (typeof invoiceStatuses)[number]

export interface InvoiceRow {
  id: string
  number: bigint | null
  kind: 'purchase' | 'renewal' | 'change' | 'resume'
  status: InvoiceStatus
  subscriptionId: string
  customerId: string
  productId: string
  planId: string
  periodNo: number | null
  periodStart: LocalDate | null
  periodEnd: LocalDate | null
  currency: string
  quantity: number
  setupFeeMinor: bigint
  netMinor: bigint
  taxMinor: bigint
  totalMinor: bigint
  dueMinor: bigint
  paidMinor: bigint
  creditAppliedMinor: bigint
  offsetMinor: bigint
  writtenOffMinor: bigint
  refundedMinor: bigint
  paymentTerm: PaymentTerm
  dueAt: Date
  issuedAt: Date | null
  carried: boolean
  chargeAt: Date | null
  dunningStep: number
  /** the subscription as it was, in the form of its API, without what its ids name */
  subscription: Record<string, unknown>
  taxApply: Record<string, unknown>
  creditNote: Record<string, unknown> | null
  createdAt: Date
  updatedAt: Date
}

const wire: Record<keyof InvoiceRow, [column: string, kind: ColumnType]> = {
  id: ['id', 'text'],
  number: ['number', 'int8'],
  kind: ['kind', 'text'],
  status: ['status', 'text'],
  subscriptionId: ['subscription_id', 'text'],
  customerId: ['customer_id', 'text'],
  productId: ['product_id', 'text'],
  planId: ['plan_id', 'text'],
  periodNo: ['period_no', 'int'],
  periodStart: ['period_start', 'date'],
  periodEnd: ['period_end', 'date'],
  currency: ['currency', 'text'],
  quantity: ['quantity', 'int'],
  setupFeeMinor: ['setup_fee_minor', 'int8'],
  netMinor: ['net_minor', 'int8'],
  taxMinor: ['tax_minor', 'int8'],
  totalMinor: ['total_minor', 'int8'],
  dueMinor: ['due_minor', 'int8'],
  paidMinor: ['paid_minor', 'int8'],
  creditAppliedMinor: ['credit_applied_minor', 'int8'],
  offsetMinor: ['offset_minor', 'int8'],
  writtenOffMinor: ['written_off_minor', 'int8'],
  refundedMinor: ['refunded_minor', 'int8'],
  paymentTerm: ['payment_term', 'text'],
  dueAt: ['due_at', 'timestamptz'],
  issuedAt: ['issued_at', 'timestamptz'],
  carried: ['carried', 'boolean'],
  chargeAt: ['charge_at', 'timestamptz'],
  dunningStep: ['dunning_step', 'int'],
  subscription: ['subscription', 'json'],
  taxApply: ['tax_apply', 'json'],
  creditNote: ['credit_note', 'json'],
  createdAt: ['created_at', 'timestamptz'],
  updatedAt: ['updated_at', 'timestamptz'],
}
const names = Object.keys(wire) as (keyof InvoiceRow)[]
const selected = names.map(name => `${wire[name][0]} as "${name}"`).join(', ')
const columns = (db: Db) => db.unsafe(selected)

/** What is kept of the subscription may be given as the JSON that it is. */
export type KeptInvoice = Omit<InvoiceRow, 'subscription'> & { subscription: string }

export const insertInvoices = inserter<InvoiceRow | KeptInvoice>(
  'billing_invoice',
  Object.fromEntries(names.map(name => [wire[name][0], [wire[name][1], row => row[name]]])),
)

export interface LineRow extends BillLine {
  subscriptionId: string
  invoiceId: string
  lineNo: number
}

export const insertLines = inserter<LineRow>('billing_invoice_line', {
  subscription_id: ['text', row => row.subscriptionId],
  invoice_id: ['text', row => row.invoiceId],
  line_no: ['int', row => row.lineNo],
  kind: ['text', row => row.kind],
  item_id: ['text', row => row.itemId],
  description: ['said', row => row.description],
  quantity: ['int', row => row.quantity],
  unit_price_minor: ['int8', row => row.unitPriceMinor],
  amount_minor: ['int8', row => row.amountMinor],
  discount_minor: ['int8', row => row.discountMinor],
  net_minor: ['int8', row => row.netMinor],
  tax_minor: ['int8', row => row.taxMinor],
  start_date: ['date', row => row.start],
  end_date: ['date', row => row.end],
})

const mutable = [
  'status',
  'dueMinor',
  'paidMinor',
  'creditAppliedMinor',
  'offsetMinor',
  'writtenOffMinor',
  'refundedMinor',
  'dueAt',
  'issuedAt',
  'carried',
  'chargeAt',
  'dunningStep',
  'subscription',
  'creditNote',
  'updatedAt',
] as const

const assigned = mutable.map((name, i) => `${wire[name][0]} = $${i + 3}`).join(', ')
const saveSql = `update billing_invoice set ${assigned} where business_id = $1 and id = $2`
const saveIssuedSql = `
  with taken as (
    insert into billing_invoice_counter (business_id, last_number) values ($1, 1)
    on conflict (business_id) do update set last_number = billing_invoice_counter.last_number + 1
    returning last_number
  )
  update billing_invoice set ${assigned}, number = taken.last_number from taken
  where billing_invoice.business_id = $1 and id = $2 returning number`

const saving = <Row extends object>(sql: string) => {
  return (tx: Tx, businessId: string, row: InvoiceRow) => {
    const values = mutable.map(name =>
      wire[name][1] === 'json' && row[name] !== null ? tx.json(row[name] as never) : row[name],
    )
    return tx.unsafe<Row[]>(sql, [businessId, row.id, ...values] as never, { prepare: true })
  }
}

export const saveInvoice = saving(saveSql)

/** A draft is issued: it takes the next number, and everyone else who needs one waits for the commit. */
export const saveIssued = saving<{ number: bigint }>(saveIssuedSql)

/** The number as it is shown, to be asked for within another statement. */
export const numberText = (tx: Tx, businessId: string, id: string) => tx`
  select 'INV-' || number from billing_invoice where business_id = ${businessId} and id = ${id}`

/** What payments, credits and retries change. */
export const saveSettledOne = (tx: Tx, businessId: string, row: InvoiceRow) => tx`
  update billing_invoice
  set status = ${row.status}, due_minor = ${row.dueMinor}, paid_minor = ${row.paidMinor}, offset_minor = ${row.offsetMinor},
    written_off_minor = ${row.writtenOffMinor}, carried = ${row.carried}, charge_at = ${row.chargeAt},
    dunning_step = ${row.dunningStep}, updated_at = ${row.updatedAt}
  where business_id = ${businessId} and id = ${row.id}`

export const saveSettled = (tx: Tx, businessId: string, rows: readonly InvoiceRow[]) => {
  const minor = (name: 'dueMinor' | 'paidMinor' | 'offsetMinor' | 'writtenOffMinor') =>
    rows.map(row => String(row[name]))
  return tx`
    update billing_invoice invoice
    set status = settled.status, due_minor = settled.due, paid_minor = settled.paid, offset_minor = settled.off,
      written_off_minor = settled.written_off, carried = settled.carried, charge_at = settled.charge_at,
      dunning_step = settled.dunning_step, updated_at = settled.updated_at
    from unnest(${rows.map(row => row.id)}::text[], ${rows.map(row => row.status)}::text[], ${minor('dueMinor')}::int8[],
      ${minor('paidMinor')}::int8[], ${minor('offsetMinor')}::int8[], ${minor('writtenOffMinor')}::int8[],
      ${rows.map(row => String(row.carried))}::boolean[], ${rows.map(row => row.chargeAt?.toISOString() ?? null)}::timestamptz[],
      ${rows.map(row => row.dunningStep)}::int[], ${rows.map(row => row.updatedAt.toISOString())}::timestamptz[])
      as settled (id, status, due, paid, off, written_off, carried, charge_at, dunning_step, updated_at)
    where invoice.business_id = ${businessId} and invoice.id = settled.id`
}

export const findInvoice = (db: Db, businessId: string, id: string) =>
  db<InvoiceRow[]>`
  select ${columns(db)} from billing_invoice where business_id = ${businessId} and id = ${id}`.then(first)

export const lockInvoice = (tx: Tx, businessId: string, id: string) =>
  tx<InvoiceRow[]>`
  select ${columns(tx)} from billing_invoice where business_id = ${businessId} and id = ${id} for update`.then(first)

export const lockInvoices = (tx: Tx, businessId: string, ids: readonly string[]) => tx<InvoiceRow[]>`
  select ${columns(tx)} from billing_invoice where business_id = ${businessId} and id ${among(tx, ids)}
  order by id for update`

export const invoicesByIds = (db: Db, businessId: string, ids: readonly string[]) => db<InvoiceRow[]>`
  select ${columns(db)} from billing_invoice where business_id = ${businessId} and id ${among(db, ids)}`

/** What these subscriptions still owe, oldest first. */
export const lockDueInvoices = (tx: Tx, businessId: string, subscriptionIds: readonly string[]) => tx<InvoiceRow[]>`
  select ${columns(tx)} from billing_invoice
  where business_id = ${businessId} and subscription_id ${among(tx, subscriptionIds)} and due_minor > 0
    and status in ('sent', 'overdue')
  order by id for update`

/** Those named, and all that their subscriptions owe. */
export const lockNamedAndDue = (
  tx: Tx,
  businessId: string,
  named: { subscriptionIds: readonly string[]; ids: readonly string[] },
) => tx<InvoiceRow[]>`
  select ${columns(tx)} from billing_invoice
  where business_id = ${businessId} and subscription_id ${among(tx, named.subscriptionIds)}
    and (id ${among(tx, named.ids)} or (due_minor > 0 and status in ('sent', 'overdue')))
  order by id for update`

export const lockPendingInvoices = (tx: Tx, businessId: string, subscriptionId: string) => tx<InvoiceRow[]>`
  select ${columns(tx)} from billing_invoice
  where business_id = ${businessId} and subscription_id = ${subscriptionId} and status = 'pending'
  order by id for update`

export async function pageOfInvoices(
  db: Db,
  businessId: string,
  filter: { customerId?: string; subscriptionId?: string; status?: string },
  page: PageRequest,
): Promise<Page<InvoiceRow>> {
  const where = db`business_id = ${businessId}
    ${filter.customerId === undefined ? db`` : db`and customer_id = ${filter.customerId}`}
    ${filter.subscriptionId === undefined ? db`` : db`and subscription_id = ${filter.subscriptionId}`}
    ${filter.status === undefined ? db`` : db`and status = ${filter.status}`}`
  const [rows, total] = await Promise.all([
    db<InvoiceRow[]>`
      select ${columns(db)} from billing_invoice where ${where} order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_invoice where ${where}`),
  ])
  return { rows, total }
}

export interface StoredLine extends LineRow {
  creditedNetMinor: bigint
  creditedTaxMinor: bigint
}

const lineColumns = (db: Db) => db`
  line.subscription_id as "subscriptionId", line.invoice_id as "invoiceId", line.line_no as "lineNo", line.kind,
  line.item_id as "itemId", line.description, line.quantity, line.unit_price_minor as "unitPriceMinor",
  line.amount_minor as "amountMinor", line.discount_minor as "discountMinor", line.net_minor as "netMinor",
  line.tax_minor as "taxMinor", line.start_date as start, line.end_date as end,
  line.credited_net_minor as "creditedNetMinor", line.credited_tax_minor as "creditedTaxMinor"`

export const linesOf = (db: Db, businessId: string, invoice: { subscriptionId: string; id: string }) => db<
  StoredLine[]
>`
  select ${lineColumns(db)} from billing_invoice_line line
  where line.business_id = ${businessId} and line.subscription_id = ${invoice.subscriptionId}
    and line.invoice_id = ${invoice.id}
  order by line.line_no`

/** Lines of issued invoices that still pay for time after the date, in the order of their invoices. */
export const runningLines = (tx: Tx, businessId: string, subscriptionId: string, after: LocalDate) => tx<StoredLine[]>`
  select ${lineColumns(tx)} from billing_invoice_line line
    join billing_invoice invoice on invoice.business_id = line.business_id and invoice.id = line.invoice_id
  where line.business_id = ${businessId} and line.subscription_id = ${subscriptionId} and line.end_date > ${after}
    and invoice.status not in ('pending', 'void')
  order by invoice.number, line.line_no`

/** Lines of add-ons that are billed in a rhythm of their own and still pay for time after the date. */
export const runningAddonLines = (
  tx: Tx,
  businessId: string,
  subscriptionIds: readonly string[],
  after: LocalDate,
) => tx<StoredLine[]>`
  select ${lineColumns(tx)} from billing_invoice_line line
    join billing_invoice invoice on invoice.business_id = line.business_id and invoice.id = line.invoice_id
  where line.business_id = ${businessId} and line.subscription_id ${among(tx, subscriptionIds)}
    and line.kind = 'addon' and line.end_date > ${after} and invoice.status not in ('pending', 'void')`

/** Has this subscription been billed a setup fee for this plan before? */
export const setupFeeWasBilled = (db: Db, businessId: string, subscriptionId: string, planId: string) =>
  db<{ found: boolean }[]>`
  select exists (select 1 from billing_invoice_line line
      join billing_invoice invoice on invoice.business_id = line.business_id and invoice.id = line.invoice_id
    where line.business_id = ${businessId} and line.subscription_id = ${subscriptionId} and line.kind = 'setup_fee'
      and line.item_id = ${planId} and invoice.status not in ('pending', 'void')) as found`.then(
    rows => only(rows).found,
  )
