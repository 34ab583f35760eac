import type { InvoiceRow } from '../invoices/store.ts'
import { type Scene, saveInvoice, saveSubscription, tellInvoice, tellSubscription } from '../scene.ts'
import { stopped } from './periods.ts'
import type { SubscriptionRow } from './store.ts'

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

export function chargeFailed(scene: Scene, subscription: SubscriptionRow, invoice: InvoiceRow): SubscriptionRow {
  const { now } = scene.context
  const chargeAt = nextTry(invoice.dunningStep, now)
  if (!chargeAt) return giveUp(scene, subscription, invoice)
  const chased = { ...invoice, chargeAt, dunningStep: invoice.dunningStep + 1, updatedAt: now }
  saveInvoice(scene, chased)
  tellInvoice(scene, 'invoice_dunning', chased)
  if (subscription.status !== 'live' && subscription.status !== 'non_renewing') return subscription
  const after: SubscriptionRow = { ...subscription, status: 'dunning', updatedAt: now }
  saveSubscription(scene, after)
  return after
}

/** Nobody chases it any more: what is still to be had from it is up to the merchant. */
export function giveUp(scene: Scene, subscription: SubscriptionRow, invoice: InvoiceRow): SubscriptionRow {
  const { now } = scene.context
  const overdue: InvoiceRow = { ...invoice, status: 'overdue', chargeAt: null, updatedAt: now }
  saveInvoice(scene, overdue)
  tellInvoice(scene, 'invoice_overdue', overdue)
  if (!['live', 'dunning', 'non_renewing'].includes(subscription.status)) return subscription
  const after = stopped(subscription, 'unpaid', now)
  saveSubscription(scene, after)
  tellSubscription(scene, ['subscription_unpaid'], after)
  return after
}
