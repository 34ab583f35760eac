import { type Db, first, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { among } from '../store-among.ts'
import { insertReturning } from '../store-columns.ts'
import { countRows } from '../store-count.ts'

export type TransactionState = 'created' | 'pending' | 'unknown' | 'action_required' | 'succeeded' | 'failed' | 'voided'

export interface TransactionRow {
  id: string
  type: 'payment' | 'refund'
  state: TransactionState
  customerId: string
  subscriptionId: string
  productId: string
  planId: string
  invoiceId: string
  /** small invoices collected together with this one; amounts in text */
  carried: { invoiceId: string; amount: string }[] | null
  gateway: string
  gatewayRef: string | null
  paymentMethodId: string | null
  currency: string
  amountMinor: bigint
  refundedMinor: bigint
  refundPendingMinor: bigint
  paymentId: string | null
  refundType: 'refund' | 'refund_credit' | 'record_refund' | null
  taxMinor: bigint
  description: string
  reference: string
  code: string | null
  actionUrl: string | null
  checkAt: Date | null
  checks: number
  createdAt: Date
  updatedAt: Date
}

const wire: Record<keyof TransactionRow, string> = {
  id: 'id',
  type: 'type',
  state: 'state',
  customerId: 'customer_id',
  subscriptionId: 'subscription_id',
  productId: 'product_id',
  planId: 'plan_id',
  invoiceId: 'invoice_id',
  carried: 'carried',
  gateway: 'gateway',
  gatewayRef: 'gateway_ref',
  paymentMethodId: 'payment_method_id',
  currency: 'currency',
  amountMinor: 'amount_minor',
  refundedMinor: 'refunded_minor',
  refundPendingMinor: 'refund_pending_minor',
  paymentId: 'payment_id',
  refundType: 'refund_type',
  taxMinor: 'tax_minor',
  description: 'description',
  reference: 'reference',
  code: 'code',
  actionUrl: 'action_url',
  checkAt: 'check_at',
  checks: 'checks',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
}
const selected = Object.entries(wire)
  .map(([name, column]) => `${column} as "${name}"`)
  .join(', ')
const columns = (db: Db) => db.unsafe(selected)
const values = (db: Db, row: TransactionRow) =>
  Object.fromEntries(
    (Object.keys(wire) as (keyof TransactionRow)[]).map(name => [
      wire[name],
      name === 'carried' && row.carried ? db.json(row.carried) : row[name],
    ]),
  )

export const insertTransactions = (
  tx: Tx,
  businessId: string,
  rows: readonly TransactionRow[],
  idempotencyKey: string | null = null,
) =>
  tx`insert into billing_transaction ${tx(
    rows.map(row => ({ business_id: businessId, idempotency_key: idempotencyKey, ...values(tx, row) })) as never,
  )}`

/** Attempts that were just decided; none where the invoice has one under way. Answers which were made. */
export const insertPayments = insertReturning<TransactionRow>(
  'billing_transaction',
  {
    id: ['text', row => row.id],
    type: ['text', row => row.type],
    state: ['text', row => row.state],
    customer_id: ['text', row => row.customerId],
    subscription_id: ['text', row => row.subscriptionId],
    product_id: ['text', row => row.productId],
    plan_id: ['text', row => row.planId],
    invoice_id: ['text', row => row.invoiceId],
    carried: ['jsonb', row => row.carried],
    gateway: ['text', row => row.gateway],
    payment_method_id: ['text', row => row.paymentMethodId],
    currency: ['text', row => row.currency],
    amount_minor: ['int8', row => row.amountMinor],
    check_at: ['timestamptz', row => row.checkAt],
    created_at: ['timestamptz', row => row.createdAt],
    updated_at: ['timestamptz', row => row.createdAt],
  },
  `on conflict (business_id, invoice_id)
     where type = 'payment' and state in ('created', 'pending', 'unknown', 'action_required') do nothing
   returning id`,
)

export const saveTransactions = (tx: Tx, businessId: string, rows: readonly TransactionRow[]) => {
  const texts = (name: 'id' | 'state' | 'gatewayRef' | 'description' | 'code' | 'actionUrl') =>
    rows.map(row => row[name])
  const minor = (name: 'refundedMinor' | 'refundPendingMinor') => rows.map(row => String(row[name]))
  return tx`
    update billing_transaction transaction
    set state = saved.state, gateway_ref = saved.ref, description = saved.description, code = saved.code,
      action_url = saved.url, refunded_minor = saved.refunded, refund_pending_minor = saved.pending,
      check_at = saved.check_at, checks = saved.checks, updated_at = saved.updated_at
    from unnest(${texts('id')}::text[], ${texts('state')}::text[], ${texts('gatewayRef')}::text[],
      ${texts('description')}::text[], ${texts('code')}::text[], ${texts('actionUrl')}::text[],
      ${minor('refundedMinor')}::int8[], ${minor('refundPendingMinor')}::int8[],
      ${rows.map(row => row.checkAt?.toISOString() ?? null)}::timestamptz[], ${rows.map(row => row.checks)}::int[],
      ${rows.map(row => row.updatedAt.toISOString())}::timestamptz[])
      as saved (id, state, ref, description, code, url, refunded, pending, check_at, checks, updated_at)
    where transaction.business_id = ${businessId} and transaction.id = saved.id`
}

export const saveTransaction = (tx: Tx, businessId: string, row: TransactionRow) => tx`
  update billing_transaction
  set state = ${row.state}, gateway_ref = ${row.gatewayRef}, refunded_minor = ${row.refundedMinor},
    refund_pending_minor = ${row.refundPendingMinor}, description = ${row.description}, code = ${row.code},
    action_url = ${row.actionUrl}, check_at = ${row.checkAt}, checks = ${row.checks}, updated_at = ${row.updatedAt}
  where business_id = ${businessId} and id = ${row.id}`

/** The gateway named it, before its outcome is known. */
export const setGatewayRef = (db: Db, businessId: string, id: string, ref: string) => db`
  update billing_transaction set gateway_ref = ${ref} where business_id = ${businessId} and id = ${id}`

export const findTransaction = (db: Db, businessId: string, id: string) =>
  db<TransactionRow[]>`
  select ${columns(db)} from billing_transaction where business_id = ${businessId} and id = ${id}`.then(first)

export const transactionsByIds = (db: Db, businessId: string, ids: readonly string[]) => db<TransactionRow[]>`
  select ${columns(db)} from billing_transaction where business_id = ${businessId} and id ${among(db, ids)}`

export const lockTransaction = (tx: Tx, businessId: string, id: string) =>
  tx<TransactionRow[]>`
  select ${columns(tx)} from billing_transaction where business_id = ${businessId} and id = ${id} for update`.then(
    first,
  )

/** Locked in the order of their ids. */
export const lockTransactions = (tx: Tx, businessId: string, ids: readonly string[]) => tx<TransactionRow[]>`
  select ${columns(tx)} from billing_transaction where business_id = ${businessId} and id ${among(tx, ids)}
  order by id for update`

export const findTransactionByRef = (
  db: Db,
  businessId: string,
  where: { gateway: string; type: 'payment' | 'refund'; ref: string },
) =>
  db<TransactionRow[]>`
  select ${columns(db)} from billing_transaction
  where business_id = ${businessId} and gateway = ${where.gateway} and type = ${where.type} and gateway_ref = ${where.ref}`.then(
    first,
  )

export const findTransactionByKey = (
  db: Db,
  businessId: string,
  where: { type: 'payment' | 'refund'; idempotencyKey: string },
) =>
  db<TransactionRow[]>`
  select ${columns(db)} from billing_transaction
  where business_id = ${businessId} and type = ${where.type} and idempotency_key = ${where.idempotencyKey}`.then(first)

/** The attempt that is under way for an invoice, if any. */
export const findOpenPayment = (db: Db, businessId: string, invoiceId: string) =>
  db<TransactionRow[]>`
  select ${columns(db)} from billing_transaction
  where business_id = ${businessId} and invoice_id = ${invoiceId} and type = 'payment'
    and state in ('created', 'pending', 'unknown', 'action_required')`.then(first)

export const openPaymentsOf = (db: Db, businessId: string, invoiceIds: readonly string[]) => db<TransactionRow[]>`
  select ${columns(db)} from billing_transaction
  where business_id = ${businessId} and invoice_id ${among(db, invoiceIds)} and type = 'payment'
    and state in ('created', 'pending', 'unknown', 'action_required')`

/** Payments that reached an invoice, newest last. */
export const paymentsOf = (db: Db, businessId: string, invoiceId: string) => db<TransactionRow[]>`
  select ${columns(db)} from billing_transaction
  where business_id = ${businessId} and invoice_id = ${invoiceId} and type = 'payment' order by id`

/** To be asked about at the gateway. Claimed, so that two workers do not ask at once. */
export const claimChecks = (tx: Tx, businessId: string, now: Date, limit: number) => tx<TransactionRow[]>`
  select ${columns(tx)} from billing_transaction
  where business_id = ${businessId} and check_at <= ${now} order by check_at limit ${limit} for update skip locked`

export interface TransactionFilter {
  customerId: string
  type: 'payment' | 'refund' | undefined
  states: readonly TransactionState[] | undefined
  invoiceId: string | undefined
  subscriptionId: string | undefined
  productId: string | undefined
  planId: string | undefined
}

export async function pageOfTransactions(
  db: Db,
  businessId: string,
  filter: TransactionFilter,
  page: PageRequest,
): Promise<Page<TransactionRow>> {
  const equal = (column: string, value: string | undefined) =>
    value === undefined ? db`` : db`and ${db(column)} = ${value}`
  const where = db`business_id = ${businessId} and customer_id = ${filter.customerId} and state <> 'voided'
    ${equal('type', filter.type)}
    ${filter.states === undefined ? db`` : db`and state = any(${filter.states as string[]})`}
    ${equal('invoice_id', filter.invoiceId)} ${equal('subscription_id', filter.subscriptionId)}
    ${equal('product_id', filter.productId)} ${equal('plan_id', filter.planId)}`
  const [rows, total] = await Promise.all([
    db<TransactionRow[]>`
      select ${columns(db)} from billing_transaction where ${where}
      order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_transaction where ${where}`),
  ])
  return { rows, total }
}

export const openRefundsOf = (db: Db, businessId: string, paymentId: string) => db<TransactionRow[]>`
  select ${columns(db)} from billing_transaction
  where business_id = ${businessId} and payment_id = ${paymentId} and type = 'refund'
    and state in ('created', 'pending', 'unknown') order by id`
