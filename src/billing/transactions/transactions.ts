import type { Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import type { Page } from '../envelope.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { post } from '../ledger/ledger.ts'
import { min } from '../money.ts'
import * as subscriptions from '../subscriptions/store.ts'
import type { TransactionQuery } from './schema.ts'
import type { TransactionRow, TransactionState } from './store.ts'
import * as store from './store.ts'

const open: readonly TransactionState[] = ['created', 'pending', 'unknown', 'action_required']
const statesOf: Record<NonNullable<TransactionQuery['status']>, readonly TransactionState[]> = {
  created: open,
  inprogress: open,
  success: ['succeeded'],
  paid: ['succeeded'],
  failure: ['failed'],
  refund: [...open, 'succeeded'],
}

/** Payments and refunds of a customer, or the refunds alone; a status says what the list shows as status. */
export function pageOf(
  { db, business }: Context,
  customerId: string,
  query: TransactionQuery & { type?: 'refund' },
  page: PageRequest,
): Promise<Page<TransactionRow>> {
  const { status } = query
  const type =
    query.type ??
    (status === undefined || status === 'failure' ? undefined : status === 'refund' ? 'refund' : 'payment')
  return store.pageOfTransactions(
    db,
    business.id,
    {
      customerId,
      type,
      states: status && statesOf[status],
      invoiceId: query.invoice_id,
      subscriptionId: query.subscription_id,
      productId: query.product_id,
      planId: query.plan_id,
    },
    page,
  )
}

/** Takes back what was recorded by hand, or clears away what never succeeded. Money that moved can only be refunded. */
export function removeTransaction(context: Context, id: string): Promise<TransactionRow> {
  const { db, business, now } = context
  return db.begin(async tx => {
    const known = await store.findTransaction(tx, business.id, id)
    if (!known || known.state === 'voided') throw notFound('Transaction')
    await subscriptions.lockSubscription(tx, business.id, known.subscriptionId)
    const row = (await store.lockTransaction(tx, business.id, id)) ?? fail(notFound('Transaction'))
    if (open.includes(row.state))
      throw unprocessable('transaction_in_progress', 'The transaction is under way. Wait until it is settled.')
    if (row.state === 'succeeded') await reverse(tx, context, row)
    const voided: TransactionRow = { ...row, state: 'voided', updatedAt: now }
    await store.saveTransaction(tx, business.id, voided)
    return row
  })
}

async function reverse(tx: Tx, context: Context, row: TransactionRow): Promise<void> {
  const { business, now } = context
  if (row.type === 'refund' || row.gateway !== 'offline')
    throw unprocessable('money_moved', 'Money moved in this transaction; it can be refunded, not deleted.')
  if (row.refundedMinor > 0n)
    throw unprocessable('payment_refunded', 'A part of this payment was refunded; it can’t be deleted.')
  const invoice = (await invoices.lockInvoice(tx, business.id, row.invoiceId)) ?? fail(notFound('Invoice'))
  if (invoice.status === 'void') throw unprocessable('invoice_void', 'The invoice of this payment is void.')
  await invoices.saveInvoice(tx, business.id, unpaid(invoice, row.amountMinor, now))
  await post(tx, business.id, [
    {
      sourceKey: `payment-voided:${row.id}`,
      at: now,
      customerId: row.customerId,
      subscriptionId: row.subscriptionId,
      currency: row.currency,
      gateway: row.gateway,
      accounts: { offlineCash: -row.amountMinor, receivable: row.amountMinor },
    },
  ])
}

const unpaid = (invoice: InvoiceRow, amountMinor: bigint, now: Date): InvoiceRow => {
  const back = min(amountMinor, invoice.paidMinor)
  return {
    ...invoice,
    paidMinor: invoice.paidMinor - back,
    dueMinor: invoice.dueMinor + back,
    status: invoice.status === 'overdue' ? 'overdue' : 'sent',
    updatedAt: now,
  }
}
