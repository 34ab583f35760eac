import type { Db, Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { LocalDate } from '../dates.ts'
import type { Page } from '../envelope.ts'
import { among } from '../store-among.ts'
import { countRows } from '../store-count.ts'

export const movementTypes = ['new', 'expansion', 'contraction', 'churn', 'reactivation'] as const
export type MovementType = (typeof movementTypes)[number]

/** A price for a period as a price for a month: a year is twelve months, and 365 days. */
const monthly = (db: Db, price: string, of: string) =>
  db.unsafe(`round(${price} * case ${of}.period_unit
    when 'd' then 365 / 12.0 when 'w' then 365 / 84.0 when 'm' then 1.0 else 1 / 12.0 end / ${of}.period_count)`)

/** What subscriptions bring a month by now: those that are in force, and not what is sold once. */
export const presentMrr = (db: Db) => db`
  select subscription.business_id, subscription.id, subscription.customer_id, subscription.currency,
    (case when subscription.status in ('live', 'dunning', 'non_renewing') and plan.billing_cycle <> 'onetime' then
      ${monthly(db, "(case subscription.plan_type when 'per_unit' then subscription.quantity else 1 end * subscription.unit_price_minor)", 'subscription')}
      + coalesce((
        select sum(${monthly(db, 'addon.quantity * addon.unit_price_minor', 'addon')})
        from billing_subscription_addon addon
        where addon.business_id = subscription.business_id and addon.subscription_id = subscription.id
          and addon.billing_cycle = 'lifetime'), 0)
    else 0 end)::int8 as minor
  from billing_subscription subscription
  join billing_plan plan on plan.business_id = subscription.business_id and plan.id = subscription.plan_id`

/**
 * Compares what these subscriptions bring with what was last told of them, and writes down every difference. They must
 * be locked, and this must be the last thing that the transaction locks: the sums of a day are rows that all share.
 */
export const noteMovements = (
  tx: Tx,
  businessId: string,
  ids: readonly string[],
  { now, day }: { now: Date; day: LocalDate },
) => tx`
  with present as (
    ${presentMrr(tx)} where subscription.business_id = ${businessId} and subscription.id ${among(tx, ids)}
  ), moved as (
    insert into billing_mrr_movement
      (business_id, subscription_id, no, customer_id, currency, type, amount_minor, mrr_minor, created_at)
    select ${businessId}, present.id, coalesce(past.no, 0) + 1, present.customer_id, present.currency,
      case when past.no is null then 'new' when past.mrr_minor = 0 then 'reactivation' when present.minor = 0 then 'churn'
        when present.minor > past.mrr_minor then 'expansion' else 'contraction' end,
      present.minor - coalesce(past.mrr_minor, 0), present.minor, ${now}
    from present left join lateral (
      select no, mrr_minor from billing_mrr_movement last
      where last.business_id = ${businessId} and last.subscription_id = present.id order by no desc limit 1
    ) past on true
    where present.minor <> coalesce(past.mrr_minor, 0)
    returning currency, type, amount_minor
  )
  insert into billing_mrr_day (business_id, day, currency, type, amount_minor, movements)
  select ${businessId}, ${day}, currency, type, sum(amount_minor), count(*) from moved
  group by currency, type order by currency, type
  on conflict (business_id, day, currency, type) do update set
    amount_minor = billing_mrr_day.amount_minor + excluded.amount_minor,
    movements = billing_mrr_day.movements + excluded.movements`

export interface MrrSum {
  currency: string
  /** null: everything before the days asked for */
  type: MovementType | null
  minor: bigint
}

export const sumsOf = (db: Db, businessId: string, { from, to }: { from: LocalDate; to: LocalDate }) => db<MrrSum[]>`
  select currency, case when day >= ${from} then type end as type, sum(amount_minor)::int8 as minor
  from billing_mrr_day where business_id = ${businessId} and day <= ${to} group by 1, 2 order by 1`

export interface MovementRow {
  subscriptionId: string
  customerId: string
  currency: string
  type: MovementType
  amountMinor: bigint
  mrrMinor: bigint
  createdAt: Date
}

export async function pageOfMovements(
  db: Db,
  businessId: string,
  filter: { subscriptionId?: string; type?: MovementType },
  page: PageRequest,
): Promise<Page<MovementRow>> {
  const where = db`business_id = ${businessId}
    ${filter.subscriptionId === undefined ? db`` : db`and subscription_id = ${filter.subscriptionId}`}
    ${filter.type === undefined ? db`` : db`and type = ${filter.type}`}`
  const [rows, total] = await Promise.all([
    db<MovementRow[]>`
      select subscription_id as "subscriptionId", customer_id as "customerId", currency, type,
        amount_minor as "amountMinor", mrr_minor as "mrrMinor", created_at as "createdAt"
      from billing_mrr_movement where ${where}
      order by created_at desc, subscription_id desc, no desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_mrr_movement where ${where}`),
  ])
  return { rows, total }
}

type Found = { what: string }[]

export const wrongMovements = (db: Db, businessId: string) => db<Found>`
  with present as (${presentMrr(db)} where subscription.business_id = ${businessId}),
  told as (
    select subscription_id as id, sum(amount_minor) as minor from billing_mrr_movement
    where business_id = ${businessId} group by subscription_id
  )
  select present.id || ': brings ' || present.minor || ' a month, movements say ' || coalesce(told.minor, 0) as what
  from present left join told using (id) where present.minor <> coalesce(told.minor, 0)
  union all
  select 'days say ' || coalesce(days.minor, 0) || ' ' || currency || ', movements ' || coalesce(moved.minor, 0)
  from (select currency, sum(amount_minor) as minor from billing_mrr_day where business_id = ${businessId} group by 1) days
  full join (
    select currency, sum(amount_minor) as minor from billing_mrr_movement where business_id = ${businessId} group by 1
  ) moved using (currency)
  where coalesce(days.minor, 0) <> coalesce(moved.minor, 0)
  limit 20`
