import type { Static } from 'typebox'
import type { Db } from '../../platform/database.ts'
import { addonsByIds, showAddon } from '../addons/addons.ts'
import type { AddonRow } from '../addons/store.ts'
import { couponsByIds, showCoupon } from '../coupons/coupons.ts'
import type { CouponRow } from '../coupons/store.ts'
import { currencySymbol } from '../currencies.ts'
import { customersByIds } from '../customers/customers.ts'
import type { CustomerRow } from '../customers/store.ts'
import { isoText } from '../dates.ts'
import { toMajor } from '../money.ts'
import { plansByIds, showPlan } from '../plans/plans.ts'
import type { PlanRow } from '../plans/store.ts'
import type { SubscriptionSchema } from './schema.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import { planTotal } from './terms.ts'

export type ShownSubscription = Static<typeof SubscriptionSchema>
export type OwnSubscription = Omit<ShownSubscription, 'plan' | 'addons' | 'coupon'>

const moment = (at: Date | null) => (at ? isoText(at) : '')

/** Without what its ids name: small enough to be kept with every invoice. */
export const showOwn = (row: SubscriptionRow, customer: CustomerRow): OwnSubscription => ({
  id: row.id,
  customer_id: row.customerId,
  product_id: row.productId,
  plan_id: row.planId,
  email_id: customer.emailId,
  amount: toMajor(planTotal(row), row.currency),
  setup_fee: toMajor(row.setupFeeMinor, row.currency),
  quantity: row.quantity,
  status: row.status,
  payment_terms: row.paymentTerm,
  currency_code: row.currency,
  currency_symbol: currencySymbol(row.currency),
  payment_method: row.paymentMethodId ?? '',
  taxable: !customer.taxExempt,
  gateway_type: row.gateway,
  gateway_id: row.gateway === 'offline' ? '' : row.gateway,
  custom_fields: row.customFields,
  update_reason: row.updateReason,
  update_type: row.updateType,
  cancel_at_end: row.cancelAtEnd,
  cancel_reason: row.cancelReason,
  starts_at: moment(row.startsAt),
  activation_date: moment(row.activationAt),
  expiry_date: moment(row.expiryAt),
  next_billing_date: row.cancelAtEnd ? '' : moment(row.nextBillingAt),
  last_billing_date: moment(row.lastBillingAt),
  canceled_date: row.canceledAt ? isoText(row.canceledAt) : null,
  trial_days: row.trialDays,
  trial_expiry_date: moment(row.trialExpiryAt),
  createdAt: isoText(row.createdAt),
  updatedAt: isoText(row.updatedAt),
})

/** What subscriptions name by id, loaded once for many of them. */
export interface Surroundings {
  plans: Map<string, PlanRow>
  coupons: Map<string, CouponRow>
  customers: Map<string, CustomerRow>
  addons: Map<string, AddonRow>
  chosen: Map<string, SubscriptionAddon[]>
}

export const byId = <T extends { id: string }>(rows: readonly T[]) => new Map(rows.map(row => [row.id, row]))

export function groupBy<T>(rows: readonly T[], key: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const group = groups.get(key(row))
    if (group) group.push(row)
    else groups.set(key(row), [row])
  }
  return groups
}

export async function surroundingsOf(
  db: Db,
  businessId: string,
  rows: readonly SubscriptionRow[],
): Promise<Surroundings> {
  const ids = <T>(of: (row: SubscriptionRow) => T | null) => [...new Set(rows.map(of))].filter(id => id !== null)
  const [plans, coupons, customers, chosen] = await Promise.all([
    plansByIds(
      db,
      businessId,
      ids(row => row.planId),
    ),
    couponsByIds(
      db,
      businessId,
      ids(row => row.couponId),
    ),
    customersByIds(
      db,
      businessId,
      ids(row => row.customerId),
    ),
    store.addonsOf(
      db,
      businessId,
      rows.map(row => row.id),
    ),
  ])
  const addons = await addonsByIds(db, businessId, [...new Set(chosen.map(addon => addon.addonId))])
  return {
    plans: byId(plans),
    coupons: byId(coupons),
    customers: byId(customers),
    addons: byId(addons),
    chosen: groupBy(chosen, addon => addon.subscriptionId),
  }
}

export function showWith(row: SubscriptionRow, around: Surroundings): ShownSubscription {
  const own = showOwn(row, around.customers.get(row.customerId)!)
  const coupon = row.couponId === null ? undefined : around.coupons.get(row.couponId)
  return {
    ...own,
    plan: showPlan(around.plans.get(row.planId)!),
    addons: (around.chosen.get(row.id) ?? []).map(chosen => ({
      ...showAddon(around.addons.get(chosen.addonId)!),
      quantity: chosen.quantity,
      adjusted_amount: toMajor(chosen.adjustedMinor, row.currency),
    })),
    coupon: coupon ? showCoupon(coupon) : null,
  }
}

export async function showSubscription(db: Db, businessId: string, row: SubscriptionRow): Promise<ShownSubscription> {
  return showWith(row, await surroundingsOf(db, businessId, [row]))
}

export async function showSubscriptions(
  db: Db,
  businessId: string,
  rows: readonly SubscriptionRow[],
): Promise<ShownSubscription[]> {
  const around = await surroundingsOf(db, businessId, rows)
  return rows.map(row => showWith(row, around))
}
