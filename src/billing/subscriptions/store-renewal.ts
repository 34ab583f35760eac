import type { Db, Tx } from '../../platform/database.ts'
import { type ColumnType, column } from '../store-columns.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import { columns } from './store.ts'

/** Those whose next step is due, each claimed by one worker; one with a change under way waits for it. */
export const claimDue = (
  tx: Tx,
  businessId: string,
  options: { now: Date; limit: number; ids: readonly string[] | undefined },
) => tx<SubscriptionRow[]>`
  select ${columns(tx)} from billing_subscription
  where business_id = ${businessId} and next_billing_at <= ${options.now}
    ${options.ids ? tx`and id = any(${options.ids as string[]})` : tx``}
    and not exists (select 1 from billing_change change where change.business_id = ${businessId}
      and change.subscription_id = billing_subscription.id and change.state = 'open')
  order by next_billing_at, id limit ${options.limit} for update skip locked`

/** What a plain renewal changes, for a thousand subscriptions at once. */
export const saveRenewed = (tx: Tx, businessId: string, rows: readonly SubscriptionRow[]) => {
  const of = (type: ColumnType, name: keyof SubscriptionRow) =>
    column(
      tx,
      type,
      rows.map(row => row[name]),
    )
  return tx`
    update billing_subscription subscription
    set status = renewed.status, cycles_left = renewed.cycles_left, period_no = renewed.period_no,
      period_start = renewed.period_start, period_end = renewed.period_end, next_billing_at = renewed.next_billing_at,
      remind_at = renewed.remind_at, expiry_at = renewed.expiry_at, last_billing_at = renewed.last_billing_at,
      activation_at = renewed.activation_at, coupon_id = renewed.coupon_id, coupon_left = renewed.coupon_left,
      setup_fee_due = renewed.setup_fee_due, deferred_minor = renewed.deferred_minor, parked_error = null,
      updated_at = renewed.updated_at
    from unnest(${of('text', 'id')}, ${of('text', 'status')}, ${of('int', 'cyclesLeft')}, ${of('int', 'periodNo')},
      ${of('date', 'periodStart')}, ${of('date', 'periodEnd')}, ${of('timestamptz', 'nextBillingAt')},
      ${of('timestamptz', 'remindAt')}, ${of('timestamptz', 'expiryAt')}, ${of('timestamptz', 'lastBillingAt')},
      ${of('timestamptz', 'activationAt')}, ${of('text', 'couponId')}, ${of('int', 'couponLeft')},
      ${of('boolean', 'setupFeeDue')}, ${of('int8', 'deferredMinor')}, ${of('timestamptz', 'updatedAt')})
      as renewed (id, status, cycles_left, period_no, period_start, period_end, next_billing_at, remind_at, expiry_at,
        last_billing_at, activation_at, coupon_id, coupon_left, setup_fee_due, deferred_minor, updated_at)
    where subscription.business_id = ${businessId} and subscription.id = renewed.id`
}

export const saveBilledAddons = (tx: Tx, businessId: string, addons: readonly SubscriptionAddon[]) => tx`
  update billing_subscription_addon addon
  set paid_periods = billed.paid_periods, adjusted_minor = billed.adjusted_minor, anchor_date = billed.anchor_date
  from unnest(${addons.map(addon => addon.subscriptionId)}::text[], ${addons.map(addon => addon.addonId)}::text[],
    ${addons.map(addon => addon.paidPeriods)}::int[], ${addons.map(addon => String(addon.adjustedMinor))}::int8[],
    ${addons.map(addon => addon.anchorDate)}::date[])
    as billed (subscription_id, addon_id, paid_periods, adjusted_minor, anchor_date)
  where addon.business_id = ${businessId} and addon.subscription_id = billed.subscription_id
    and addon.addon_id = billed.addon_id`

/** Tried again in an hour, with the reason beside it. */
export const park = (db: Db, businessId: string, id: string, options: { until: Date; error: string }) => db`
  update billing_subscription set next_billing_at = ${options.until}, parked_error = ${options.error}
  where business_id = ${businessId} and id = ${id}`

/** Chosen apart from the update: a subquery with a limit may be asked again for every row, and then takes further ones. */
export const takeReminders = (tx: Tx, businessId: string, now: Date, limit: number) => tx<SubscriptionRow[]>`
  with due as materialized (
    select id as due_id from billing_subscription where business_id = ${businessId} and remind_at <= ${now}
    order by remind_at limit ${limit} for update skip locked)
  update billing_subscription set remind_at = null
  from due where business_id = ${businessId} and id = due_id
  returning ${columns(tx)}`
