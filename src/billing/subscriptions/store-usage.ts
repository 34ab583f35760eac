import type { Db } from '../../platform/database.ts'
import { among } from '../store-among.ts'

const some = (rows: readonly { found: boolean }[]) => rows[0]?.found ?? false

export const planInUse = (db: Db, businessId: string, planId: string) =>
  db<{ found: boolean }[]>`
  select exists (select 1 from billing_subscription
    where business_id = ${businessId} and plan_id = ${planId} and status not in ('canceled', 'expired'))
  or exists (select 1 from billing_change change join billing_subscription subscription
      on subscription.business_id = change.business_id and subscription.id = change.subscription_id
    where change.business_id = ${businessId} and change.plan_id = ${planId} and change.state in ('scheduled', 'open')
      and subscription.status not in ('canceled', 'expired')) as found`.then(some)

export const addonInUse = (db: Db, businessId: string, addonId: string) =>
  db<{ found: boolean }[]>`
  select exists (select 1 from billing_subscription_addon addon join billing_subscription subscription
      on subscription.business_id = addon.business_id and subscription.id = addon.subscription_id
    where addon.business_id = ${businessId} and addon.addon_id = ${addonId}
      and subscription.status not in ('canceled', 'expired'))
  or exists (select 1 from billing_change change join billing_subscription subscription
      on subscription.business_id = change.business_id and subscription.id = change.subscription_id
    where change.business_id = ${businessId} and change.state in ('scheduled', 'open')
      and change.terms->'addons' @> ${db.json([{ addonId }])}
      and subscription.status not in ('canceled', 'expired')) as found`.then(some)

export const customerInUse = (db: Db, businessId: string, customerId: string) =>
  db<{ found: boolean }[]>`
  select exists (select 1 from billing_subscription
    where business_id = ${businessId} and customer_id = ${customerId} and status not in ('canceled', 'expired')) as found`.then(
    some,
  )

export const productInUse = (db: Db, businessId: string, productId: string) =>
  db<{ found: boolean }[]>`
  select exists (select 1 from billing_subscription
    where business_id = ${businessId} and product_id = ${productId} and status not in ('canceled', 'expired')) as found`.then(
    some,
  )

/** Open credit of customers in one currency, for showing it with the customer. */
export const creditOf = (db: Db, businessId: string, options: { customerIds: readonly string[]; currency: string }) =>
  db<{ customerId: string; creditMinor: bigint }[]>`
  select customer_id as "customerId", sum(created_minor - used_minor)::int8 as "creditMinor" from billing_credit_lot
  where business_id = ${businessId} and customer_id ${among(db, options.customerIds)}
    and currency = ${options.currency} and used_minor < created_minor
  group by customer_id`
