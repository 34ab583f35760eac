import { businessById } from '../accounts/store.ts'
import { type Context, contextOf } from '../billing/context.ts'
import { pageOfInvoices } from '../billing/invoices/store.ts'
import { findSubscription } from '../billing/subscriptions/store.ts'
import { findOpenPayment, type TransactionRow } from '../billing/transactions/store.ts'
import type { Platform } from '../platform/platform.ts'
import { dropPending, finishOrder, keyOf } from './place-order.ts'
import * as store from './store.ts'

/** Payments that were not decided at the counter: a bank asks, a gateway keeps silent. */

/** The payment of a purchase that is not decided yet. */
export async function openPaymentOf(
  { db, business }: Context,
  subscriptionId: string,
): Promise<TransactionRow | undefined> {
  const { rows } = await pageOfInvoices(db, business.id, { subscriptionId }, { page: 1, limit: 100, offset: 0 })
  const pending = rows.find(row => row.status === 'pending')
  return pending && findOpenPayment(db, business.id, pending.id)
}

/** What the result of a payment means for the order it belongs to. */
export async function settleOrder(context: Context, order: store.OrderRow): Promise<'placed' | 'refused' | 'waiting'> {
  const { db, business } = context
  if (order.state === 'placed' || order.subscriptionId === null) return 'placed'
  const subscription = await findSubscription(db, business.id, order.subscriptionId)
  if (subscription && subscription.status !== 'pending' && subscription.status !== 'canceled') {
    await finishOrder(context, order.id, subscription.id)
    return 'placed'
  }
  if (subscription?.status === 'pending' && (await openPaymentOf(context, subscription.id))) return 'waiting'
  await dropPending(context, keyOf(order))
  await store.reopenOrder(db, business.id, order.id, { tried: true })
  return 'refused'
}

/** Orders whose customer never came back from the bank get their receipt too. */
export async function sweepOrders(platform: Platform): Promise<void> {
  for (const order of await store.unsettledOrders(platform.db, 200)) {
    const business = await businessById(platform.db, order.businessId)
    if (!business) continue
    const context = await contextOf({ platform, db: platform.db, business }, 'checkout')
    if ((await settleOrder(context, order)) === 'waiting') await store.touchOrder(platform.db, business.id, order.id)
  }
}
