import type { Tx } from '../../platform/database.ts'
import type { Context } from '../context.ts'
import { tellInvoices, tellSubscription } from '../events-lifecycle.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { stopped } from './periods.ts'
import type { SubscriptionRow } from './store.ts'
import * as store from './store.ts'

/**
 * A charge that failed is tried again after 2, 5, 7 and 7 days; meanwhile the subscription is `dunning` and goes on
 * renewing. When the tries are used up, the invoice is `overdue`, the subscription `unpaid`, and nothing renews.
 */
const retryDays = [2, 5, 7, 7]
const dayMs = 86_400_000

export const nextTry = (step: number, now: Date): Date | undefined => {
  const days = retryDays[step]
  return days === undefined ? undefined : new Date(now.getTime() + days * dayMs)
}

export async function chargeFailed(
  tx: Tx,
  context: Context,
  subscription: SubscriptionRow,
  invoice: InvoiceRow,
): Promise<SubscriptionRow> {
  const { now, business } = context
  const chargeAt = nextTry(invoice.dunningStep, now)
  if (!chargeAt) return giveUp(tx, context, subscription, invoice)
  const chased = { ...invoice, chargeAt, dunningStep: invoice.dunningStep + 1, updatedAt: now }
  await invoices.saveInvoice(tx, business.id, chased)
  await tellInvoices(tx, context, 'invoice_dunning', [chased])
  if (subscription.status !== 'live' && subscription.status !== 'non_renewing') return subscription
  const after: SubscriptionRow = { ...subscription, status: 'dunning', updatedAt: now }
  await store.saveSubscription(tx, business.id, after)
  return after
}

/** Nobody chases it any more: what is still to be had from it is up to the merchant. */
export async function giveUp(
  tx: Tx,
  context: Context,
  subscription: SubscriptionRow,
  invoice: InvoiceRow,
): Promise<SubscriptionRow> {
  const { now, business } = context
  const overdue: InvoiceRow = { ...invoice, status: 'overdue', chargeAt: null, updatedAt: now }
  await invoices.saveInvoice(tx, business.id, overdue)
  await tellInvoices(tx, context, 'invoice_overdue', [overdue])
  if (!['live', 'dunning', 'non_renewing'].includes(subscription.status)) return subscription
  const after = stopped(subscription, 'unpaid', now)
  await store.saveSubscription(tx, business.id, after)
  await tellSubscription(tx, context, ['subscription_unpaid'], after)
  return after
}
