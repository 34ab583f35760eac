import type { Tx } from '../platform/database.ts'
import { newId } from '../platform/ids.ts'
import { addonsByIds } from './addons/addons.ts'
import type { Context } from './context.ts'
import { couponsByIds } from './coupons/coupons.ts'
import { customersByIds, showCustomer } from './customers/customers.ts'
import { type Deed, newDeed } from './deed.ts'
import { type KeptSubscription, keptSubscription, showInvoiceWith } from './invoices/show.ts'
import type { InvoiceRow } from './invoices/store.ts'
import { plansByIds } from './plans/plans.ts'
import { byId, groupBy, type Surroundings, showWith } from './subscriptions/show.ts'
import type { SubscriptionRow } from './subscriptions/store.ts'
import * as subscriptions from './subscriptions/store.ts'
import type { ChangeRow } from './subscriptions/store-changes.ts'
import { showTransaction } from './transactions/show.ts'
import type { TransactionRow } from './transactions/store.ts'

/**
 * Where rules act: what they know of some locked subscriptions, and the deed they leave. Rows are as the rules so far
 * left them, so that one act builds on the other before anything is written.
 */
export interface Scene {
  context: Context
  deed: Deed
  subscriptions: Map<string, SubscriptionRow>
  /** those that the acts are about, and all that the subscriptions owe */
  invoices: Map<string, InvoiceRow>
  changes: readonly ChangeRow[]
  around: Surroundings
}

export async function sceneOf(
  tx: Tx,
  context: Context,
  parts: {
    subscriptions: readonly SubscriptionRow[]
    invoices: readonly InvoiceRow[]
    changes: readonly ChangeRow[]
  },
  around?: Surroundings,
): Promise<Scene> {
  return {
    context,
    deed: newDeed(),
    subscriptions: byId(parts.subscriptions),
    invoices: byId(parts.invoices),
    changes: parts.changes,
    around: around ?? (await namedBy(tx, context.business.id, parts)),
  }
}

/** Everything that the rows name by id, in one trip; add-ons in a second one, where there are any. */
async function namedBy(
  tx: Tx,
  businessId: string,
  parts: {
    subscriptions: readonly SubscriptionRow[]
    invoices: readonly InvoiceRow[]
    changes: readonly ChangeRow[]
  },
): Promise<Surroundings> {
  const rows = parts.subscriptions
  const kept = parts.invoices.map(row => row.subscription as unknown as KeptSubscription)
  const terms = parts.changes.map(
    change => change.terms as { addons?: { addonId: string }[]; couponId?: string; patch?: { couponId?: string } },
  )
  const unique = (ids: readonly (string | null | undefined)[]) => [...new Set(ids)].filter(id => id != null)
  const couponIds = unique([
    ...rows.map(row => row.couponId),
    ...kept.map(one => one.coupon_id),
    ...terms.map(one => one.couponId ?? one.patch?.couponId),
  ])
  const [plans, coupons, customers, chosen] = await Promise.all([
    plansByIds(
      tx,
      businessId,
      unique([
        ...rows.map(row => row.planId),
        ...kept.map(one => one.plan_id),
        ...parts.changes.map(one => one.planId),
      ]),
    ),
    couponIds.length > 0 ? couponsByIds(tx, businessId, couponIds) : [],
    customersByIds(tx, businessId, unique(rows.map(row => row.customerId))),
    subscriptions.addonsOf(
      tx,
      businessId,
      rows.map(row => row.id),
    ),
  ])
  const addonIds = unique([
    ...chosen.map(addon => addon.addonId),
    ...kept.flatMap(one => one.addons.map(addon => addon.id)),
    ...terms.flatMap(one => (one.addons ?? []).map(addon => addon.addonId)),
  ])
  const addons = addonIds.length > 0 ? await addonsByIds(tx, businessId, addonIds) : []
  return {
    plans: byId(plans),
    coupons: byId(coupons),
    customers: byId(customers),
    addons: byId(addons),
    chosen: groupBy(chosen, addon => addon.subscriptionId),
  }
}

export function saveInvoice({ invoices, deed }: Scene, row: InvoiceRow): void {
  invoices.set(row.id, row)
  deed.invoices.set(row.id, row)
}

export function saveSubscription({ subscriptions, deed }: Scene, row: SubscriptionRow): void {
  subscriptions.set(row.id, row)
  deed.subscriptions.set(row.id, row)
}

/** What a subscription still owes, oldest first. */
export const owedBy = ({ invoices }: Scene, subscriptionId: string): InvoiceRow[] =>
  [...invoices.values()]
    .filter(row => row.subscriptionId === subscriptionId && row.dueMinor > 0n)
    .filter(row => row.status === 'sent' || row.status === 'overdue')
    .sort((a, b) => (a.id < b.id ? -1 : 1))

export function tellSubscription({ deed, around }: Scene, types: readonly string[], row: SubscriptionRow): void {
  if (types.length === 0) return
  const data = showWith(row, around)
  for (const type of types) deed.told.push({ type, objectId: row.id, data })
}

/** Invoice events are ordered with those of their subscription. */
export function tellInvoice({ deed, around }: Scene, type: string, row: InvoiceRow): void {
  const numbered = deed.issued.includes(row.id) ? { invoiceId: row.id, word: newId() } : undefined
  deed.told.push({
    type,
    objectId: row.subscriptionId,
    data: {
      ...showInvoiceWith(row, keptSubscription(row, around)),
      ...(numbered && { invoice_id: numbered.word }),
      customer: showCustomer(around.customers.get(row.customerId)!, null),
    },
    numbered,
  })
}

export const tellPayment = ({ deed }: Scene, type: string, row: TransactionRow) =>
  deed.told.push({ type, objectId: row.subscriptionId, data: showTransaction(row) })

export const tellCredit = (
  { deed }: Pick<Scene, 'deed'>,
  type: 'credit_create' | 'credit_close',
  lot: { id: string; subscription_id: string; customer_id: string; amount: number; remaining_amount: number },
) => deed.told.push({ type, objectId: lot.subscription_id, data: lot })
