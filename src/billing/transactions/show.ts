import type { Static } from 'typebox'
import { currencySymbol } from '../currencies.ts'
import { toMajor } from '../money.ts'
import type { TransactionSchema } from './schema.ts'
import type { TransactionRow, TransactionState } from './store.ts'

const paymentStatus: Record<TransactionState, string> = {
  created: 'created',
  pending: 'created',
  unknown: 'created',
  action_required: 'created',
  succeeded: 'success',
  failed: 'failure',
  voided: 'failure',
}

const formatted: Record<string, string> = {
  created: 'In progress',
  success: 'Success',
  failure: 'Failed',
  refund: 'Refunded',
}

export function showTransaction(row: TransactionRow): Static<typeof TransactionSchema> {
  const status = row.type === 'refund' && row.state !== 'failed' ? 'refund' : paymentStatus[row.state]
  return {
    id: row.id,
    type: row.type,
    type_formatted: row.type === 'refund' ? 'Refund' : row.gateway === 'offline' ? 'Offline payment' : 'Payment',
    status,
    status_formatted: formatted[status] ?? status,
    description: row.description,
    amount: toMajor(row.amountMinor, row.currency),
    refunded_amount: toMajor(row.refundedMinor, row.currency),
    currency_code: row.currency,
    currency_symbol: currencySymbol(row.currency),
    customer_id: row.customerId,
    subscription_id: row.subscriptionId,
    plan_id: row.planId,
    product_id: row.productId,
    invoice_id: row.invoiceId,
    reference_id: row.type === 'refund' ? (row.paymentId ?? '') : (row.gatewayRef ?? ''),
    gateway_type: row.gateway,
    transaction: row.reference,
    refund_type: row.refundType ?? '',
    failure_code: row.code ?? '',
    action_url: row.state === 'action_required' ? (row.actionUrl ?? '') : '',
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}
