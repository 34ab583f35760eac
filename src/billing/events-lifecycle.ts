import { Type } from 'typebox'
import type { Tx } from '../platform/database.ts'
import { type EventType, emit, type NewEvent } from '../platform/events.ts'
import { type Context, eventOf } from './context.ts'
import { customersByIds, showCustomer } from './customers/customers.ts'
import { invoiceExample, paymentExample, subscriptionExample } from './event-examples.ts'
import { InvoiceEventSchema } from './invoices/schema.ts'
import { showInvoices } from './invoices/show.ts'
import type { InvoiceRow } from './invoices/store.ts'
import { SubscriptionSchema } from './subscriptions/schema.ts'
import { showSubscription } from './subscriptions/show.ts'
import type { SubscriptionRow } from './subscriptions/store.ts'
import { TransactionSchema } from './transactions/schema.ts'
import { showTransaction } from './transactions/show.ts'
import type { TransactionRow } from './transactions/store.ts'

/** What happens in a customer's life, as it is told to the outside: always in the transaction in which it happens. */

export async function tellSubscription(
  tx: Tx,
  context: Context,
  types: readonly string[],
  row: SubscriptionRow,
): Promise<void> {
  if (types.length === 0) return
  const data = await showSubscription(tx, context.business.id, row)
  await emit(tx, ...types.map(type => eventOf(context, type, row.id, data)))
}

/** Invoice events are ordered with those of their subscription. */
export async function tellInvoices(tx: Tx, context: Context, type: string, rows: readonly InvoiceRow[]): Promise<void> {
  if (rows.length === 0) return
  const shown = await showInvoices(tx, context.business.id, rows)
  const customers = await customersByIds(tx, context.business.id, [...new Set(rows.map(row => row.customerId))])
  const byId = new Map(customers.map(customer => [customer.id, showCustomer(customer, null)]))
  await emit(
    tx,
    ...shown.map(
      (invoice): NewEvent =>
        eventOf(context, type, invoice.subscription_id, { ...invoice, customer: byId.get(invoice.customer_id) }),
    ),
  )
}

export const tellPayment = (tx: Tx, context: Context, type: string, row: TransactionRow) =>
  emit(tx, eventOf(context, type, row.subscriptionId, showTransaction(row)))

export const tellCredit = (
  tx: Tx,
  context: Context,
  type: 'credit_create' | 'credit_close',
  lot: { id: string; subscription_id: string; customer_id: string; amount: number; remaining_amount: number },
) => emit(tx, eventOf(context, type, lot.subscription_id, lot))

const CreditSchema = Type.Object({
  id: Type.String(),
  subscription_id: Type.String(),
  customer_id: Type.String(),
  amount: Type.Number(),
  remaining_amount: Type.Number(),
})

const id = '6917d2f0a1b2c3d4e5f60718'
const about = (type: string, summary: string, data: EventType['data'], example: object): EventType => ({
  type,
  summary,
  data,
  example,
})
const subscription = (type: string, summary: string) => about(type, summary, SubscriptionSchema, subscriptionExample)
const invoice = (type: string, summary: string) => about(type, summary, InvoiceEventSchema, invoiceExample)
const payment = (type: string, summary: string) => about(type, summary, TransactionSchema, paymentExample)
const credit = (type: string, summary: string) =>
  about(type, summary, CreditSchema, { id, subscription_id: id, customer_id: id, amount: 12.5, remaining_amount: 12.5 })

export const lifecycleEventTypes: readonly EventType[] = [
  subscription('subscription_create', 'A subscription was made, also when its payment failed'),
  subscription('subscription_activate', 'The first payment of a subscription succeeded'),
  subscription('subscription_upgrade', 'A subscription moved to a dearer plan'),
  subscription('subscription_downgrade', 'A subscription moved to a cheaper plan'),
  subscription('subscription_renew', 'A subscription went into its next period; by card, once it is paid'),
  subscription('subscription_about_to_renew', 'A subscription renews in seven days'),
  subscription('subscription_cancel', 'A subscription ended on request'),
  subscription('subscription_expire', 'A subscription served all its cycles'),
  subscription('subscription_trial_expired', 'A trial ended without a way to pay'),
  subscription('subscription_pause', 'A subscription was halted'),
  subscription('subscription_resume', 'A subscription goes on'),
  subscription('subscription_unpaid', 'A subscription has an invoice that stayed unpaid'),
  subscription('subscription_upgrade_scheduled', 'An upgrade was set for the end of the term'),
  subscription('subscription_downgrade_scheduled', 'A downgrade was set for the end of the term'),
  subscription('subscription_cancel_scheduled', 'A cancellation was set for the end of the term'),
  subscription('subscription_upgrade_changes_removed', 'A scheduled upgrade was taken back'),
  subscription('subscription_downgrade_changes_removed', 'A scheduled downgrade was taken back'),
  payment('payment_success', 'Money arrived'),
  payment('payment_failure', 'A charge was declined'),
  payment('payment_action_required', 'A bank asks its customer to confirm a charge, at `action_url`'),
  payment('payment_refund', 'Money was given back'),
  invoice('invoice_create', 'An invoice was issued'),
  invoice('invoice_pending', 'An invoice waits for its payment before it is issued'),
  invoice('invoice_dunning', 'A charge failed and will be tried again'),
  invoice('invoice_overdue', 'An invoice was not paid in time'),
  invoice('invoice_void', 'An invoice was canceled'),
  credit('credit_create', 'Money to spend was credited to a subscription'),
  credit('credit_close', 'A credit was used up'),
]
