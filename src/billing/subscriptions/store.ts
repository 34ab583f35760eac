import { type Db, first, type Statement, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { LocalDate, PaymentTerm, PeriodUnit } from '../dates.ts'
import type { Page } from '../envelope.ts'
import { among } from '../store-among.ts'
import { countRows } from '../store-count.ts'

export const statuses = [
  'pending',
  'future',
  'trial',
  'trial_expired',
  'live',
  'non_renewing',
  'dunning',
  'unpaid',
  'paused',
  'canceled',
  'expired',
] as const
export type Status = (typeof statuses)[number]

export interface SubscriptionRow {
  id: string
  customerId: string
  productId: string
  planId: string
  status: Status
  currency: string
  quantity: number
  planType: string
  unitPriceMinor: bigint
  setupFeeMinor: bigint
  setupFeeDue: boolean
  periodUnit: PeriodUnit
  periodCount: number
  cyclesLeft: number | null
  trialDays: number
  anchorDate: LocalDate
  anchorPeriodNo: number
  periodNo: number
  periodStart: LocalDate | null
  periodEnd: LocalDate | null
  nextBillingAt: Date | null
  remindAt: Date | null
  startsAt: Date
  activationAt: Date | null
  trialStart: LocalDate | null
  trialExpiryAt: Date | null
  expiryAt: Date | null
  lastBillingAt: Date | null
  canceledAt: Date | null
  cancelAtEnd: boolean
  cancelReason: string
  gateway: string
  paymentMethodId: string | null
  paymentTerm: PaymentTerm
  customFields: unknown[]
  couponId: string | null
  couponLeft: number | null
  updateReason: string
  updateType: string
  deferredMinor: bigint
  activated: boolean
  parkedError: string | null
  createdAt: Date
  updatedAt: Date
}

const wire: Record<keyof SubscriptionRow, string> = {
  id: 'id',
  customerId: 'customer_id',
  productId: 'product_id',
  planId: 'plan_id',
  status: 'status',
  currency: 'currency',
  quantity: 'quantity',
  planType: 'plan_type',
  unitPriceMinor: 'unit_price_minor',
  setupFeeMinor: 'setup_fee_minor',
  setupFeeDue: 'setup_fee_due',
  periodUnit: 'period_unit',
  periodCount: 'period_count',
  cyclesLeft: 'cycles_left',
  trialDays: 'trial_days',
  anchorDate: 'anchor_date',
  anchorPeriodNo: 'anchor_period_no',
  periodNo: 'period_no',
  periodStart: 'period_start',
  periodEnd: 'period_end',
  nextBillingAt: 'next_billing_at',
  remindAt: 'remind_at',
  startsAt: 'starts_at',
  activationAt: 'activation_at',
  trialStart: 'trial_start',
  trialExpiryAt: 'trial_expiry_at',
  expiryAt: 'expiry_at',
  lastBillingAt: 'last_billing_at',
  canceledAt: 'canceled_at',
  cancelAtEnd: 'cancel_at_end',
  cancelReason: 'cancel_reason',
  gateway: 'gateway',
  paymentMethodId: 'payment_method_id',
  paymentTerm: 'payment_term',
  customFields: 'custom_fields',
  couponId: 'coupon_id',
  couponLeft: 'coupon_left',
  updateReason: 'update_reason',
  updateType: 'update_type',
  deferredMinor: 'deferred_minor',
  activated: 'activated',
  parkedError: 'parked_error',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
}

const selected = Object.entries(wire)
  .map(([name, column]) => `${column} as "${name}"`)
  .join(', ')
export const columns = (db: Db) => db.unsafe(selected)

const names = Object.keys(wire) as (keyof SubscriptionRow)[]
const values = (tx: Tx, row: SubscriptionRow) =>
  names.map(name => (name === 'customFields' ? tx.json(row.customFields as never) : row[name]))

// Put together once: there is a column for everything, and a statement for every subscription that is sold or changed.
const list = (text: (column: string, index: number) => string) =>
  names.map((name, i) => text(wire[name], i + 3)).join(', ')
const insertSql = `insert into billing_subscription (business_id, idempotency_key, ${list(column => column)})
  values ($1, $2, ${list((_, index) => `$${index}`)})`
const saveSql = `update billing_subscription set ${list((column, index) => `${column} = $${index}`)}
  where business_id = $1 and id = $2`

export const insertSubscription = (tx: Tx, businessId: string, row: SubscriptionRow, idempotencyKey: string | null) =>
  tx.unsafe(insertSql, [businessId, idempotencyKey, ...values(tx, row)] as never, { prepare: true })

export const saveSubscription = (tx: Tx, businessId: string, row: SubscriptionRow) =>
  tx.unsafe(saveSql, [businessId, row.id, ...values(tx, row)] as never, { prepare: true })

export const findSubscription = (db: Db, businessId: string, id: string) =>
  db<SubscriptionRow[]>`
  select ${columns(db)} from billing_subscription where business_id = ${businessId} and id = ${id}`.then(first)

export const subscriptionsByIds = (db: Db, businessId: string, ids: readonly string[]) =>
  db<SubscriptionRow[]>`
  select ${columns(db)} from billing_subscription where business_id = ${businessId} and id ${among(db, ids)}`

export const findByKey = (db: Db, businessId: string, idempotencyKey: string) =>
  db<SubscriptionRow[]>`
  select ${columns(db)} from billing_subscription
  where business_id = ${businessId} and idempotency_key = ${idempotencyKey}`.then(first)

export const lockSubscription = (tx: Tx, businessId: string, id: string) =>
  tx<SubscriptionRow[]>`
  select ${columns(tx)} from billing_subscription where business_id = ${businessId} and id = ${id} for update`.then(
    first,
  )

/** What a subscription names, to be asked for within another statement. */
export const namedBy = (
  db: Db,
  businessId: string,
  id: string,
  column: 'customer_id' | 'product_id' | 'plan_id' | 'payment_method_id',
) => db`(select ${db.unsafe(column)} from billing_subscription where business_id = ${businessId} and id = ${id})`

/** Locked in the order of their ids. */
export const lockSubscriptions = (tx: Tx, businessId: string, ids: readonly string[]) => tx<SubscriptionRow[]>`
  select ${columns(tx)} from billing_subscription where business_id = ${businessId} and id ${among(tx, ids)}
  order by id for update`

export async function pageOfSubscriptions(
  db: Db,
  businessId: string,
  filter: { customerId?: string; status?: string },
  page: PageRequest,
): Promise<Page<SubscriptionRow>> {
  const where = db`business_id = ${businessId}
    ${filter.customerId === undefined ? db`` : db`and customer_id = ${filter.customerId}`}
    ${filter.status === undefined ? db`` : db`and status = ${filter.status}`}`
  const [rows, total] = await Promise.all([
    db<SubscriptionRow[]>`
      select ${columns(db)} from billing_subscription where ${where}
      order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_subscription where ${where}`),
  ])
  return { rows, total }
}

export interface SubscriptionAddon {
  subscriptionId: string
  addonId: string
  quantity: number
  unitPriceMinor: bigint
  name: string
  billingCycle: string
  periodUnit: PeriodUnit
  periodCount: number
  anchorDate: LocalDate
  paidPeriods: number
  adjustedMinor: bigint
  /** of one that is sold once: how many of the quantity the next bill asks for, where others were billed before */
  unbilled?: number
}

export const addonsOf = (db: Db, businessId: string, subscriptionIds: readonly string[]) => db<SubscriptionAddon[]>`
  select subscription_id as "subscriptionId", addon_id as "addonId", quantity, unit_price_minor as "unitPriceMinor", name,
    billing_cycle as "billingCycle", period_unit as "periodUnit", period_count as "periodCount",
    anchor_date as "anchorDate", paid_periods as "paidPeriods", adjusted_minor as "adjustedMinor"
  from billing_subscription_addon
  where business_id = ${businessId} and subscription_id ${among(db, subscriptionIds)}
  order by subscription_id, addon_id`

/** The full new set of a subscription's add-ons. */
export function replaceAddons(
  tx: Tx,
  businessId: string,
  subscriptionId: string,
  addons: readonly SubscriptionAddon[],
): Statement[] {
  const rows = addons.map(addon => ({
    business_id: businessId,
    subscription_id: subscriptionId,
    addon_id: addon.addonId,
    quantity: addon.quantity,
    unit_price_minor: addon.unitPriceMinor,
    name: addon.name,
    billing_cycle: addon.billingCycle,
    period_unit: addon.periodUnit,
    period_count: addon.periodCount,
    anchor_date: addon.anchorDate,
    paid_periods: addon.paidPeriods,
    adjusted_minor: addon.adjustedMinor,
  }))
  return [
    tx`delete from billing_subscription_addon where business_id = ${businessId} and subscription_id = ${subscriptionId}`,
    ...(rows.length > 0 ? [tx`insert into billing_subscription_addon ${tx(rows as never)}`] : []),
  ]
}

export const setPaymentMethod = (
  tx: Tx,
  businessId: string,
  id: string,
  method: { id: string | null; gateway: string },
) => tx`
  update billing_subscription set payment_method_id = ${method.id}, gateway = ${method.gateway}
  where business_id = ${businessId} and id = ${id}`

/** A sale that did not come about gives its redemption back. */
export const releaseCoupon = (tx: Tx, businessId: string, couponId: string) => tx`
  update billing_coupon set used_redemption = used_redemption - 1
  where business_id = ${businessId} and id = ${couponId} and used_redemption > 0`
