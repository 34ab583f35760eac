import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { among } from '../store-among.ts'
import { countRows } from '../store-count.ts'

export interface AddonRow {
  id: string
  productId: string
  userId: string
  name: string
  code: string
  priceMinor: bigint
  currencyCode: string
  billingPeriod: 'm' | 'y' | 'w'
  billingPeriodNum: number
  billingCycle: 'lifetime' | 'onetime'
  /** may be bought */
  status: boolean
  /** null: sold with every plan of the product */
  planIds: string[] | null
  categoryArray: string[]
  description: string
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, product_id as "productId", user_id as "userId", name, code, price_minor as "priceMinor",
  currency_code as "currencyCode", billing_period as "billingPeriod", billing_period_num as "billingPeriodNum",
  billing_cycle as "billingCycle", status, plan_ids as "planIds", category_array as "categoryArray", description,
  created_at as "createdAt", updated_at as "updatedAt"`

const values = (addon: AddonRow) => ({
  product_id: addon.productId,
  name: addon.name,
  code: addon.code,
  price_minor: addon.priceMinor,
  currency_code: addon.currencyCode,
  billing_period: addon.billingPeriod,
  billing_period_num: addon.billingPeriodNum,
  billing_cycle: addon.billingCycle,
  status: addon.status,
  plan_ids: addon.planIds,
  category_array: addon.categoryArray,
  description: addon.description,
  updated_at: addon.updatedAt,
})

/** Undefined when the code is taken in the product. */
export const insertAddon = (tx: Tx, businessId: string, addon: AddonRow) => {
  const row = { business_id: businessId, id: addon.id, user_id: addon.userId, created_at: addon.createdAt }
  return tx<AddonRow[]>`
    insert into billing_addon ${tx({ ...row, ...values(addon) })}
    on conflict (business_id, product_id, code) where deleted_at is null do nothing
    returning ${columns(tx)}`.then(first)
}

export const findAddon = (db: Db, businessId: string, id: string) =>
  db<AddonRow[]>`
  select ${columns(db)} from billing_addon
  where business_id = ${businessId} and id = ${id} and deleted_at is null`.then(first)

/** Also deleted ones, for what was sold before. */
export const addonsByIds = (db: Db, businessId: string, ids: readonly string[]) => db<AddonRow[]>`
  select ${columns(db)} from billing_addon where business_id = ${businessId} and id ${among(db, ids)}`

export const currentAddons = (db: Db, businessId: string, ids: readonly string[]) => db<AddonRow[]>`
  select ${columns(db)} from billing_addon
  where business_id = ${businessId} and id ${among(db, ids)} and deleted_at is null`

/** Those that can be bought with a plan now, for a page that offers them; oldest first. */
export const addonsOnSale = (
  db: Db,
  businessId: string,
  plan: { id: string; productId: string; currencyCode: string },
) => db<AddonRow[]>`
  select ${columns(db)} from billing_addon
  where business_id = ${businessId} and product_id = ${plan.productId} and deleted_at is null and status
    and currency_code = ${plan.currencyCode} and (plan_ids is null or ${plan.id} = any(plan_ids))
  order by id limit 100`

export const lockAddon = (tx: Tx, businessId: string, id: string) =>
  tx<AddonRow[]>`
  select ${columns(tx)} from billing_addon
  where business_id = ${businessId} and id = ${id} and deleted_at is null for update`.then(first)

export async function pageOfAddons(
  db: Db,
  businessId: string,
  productId: string,
  page: PageRequest,
): Promise<Page<AddonRow>> {
  const where = db`business_id = ${businessId} and product_id = ${productId} and deleted_at is null`
  const [rows, total] = await Promise.all([
    db<AddonRow[]>`
      select ${columns(db)} from billing_addon where ${where} order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_addon where ${where}`),
  ])
  return { rows, total }
}

export const updateAddon = (tx: Tx, businessId: string, addon: AddonRow) =>
  tx<AddonRow[]>`
  update billing_addon set ${tx(values(addon))} where business_id = ${businessId} and id = ${addon.id}
  returning ${columns(tx)}`.then(only)

export const hideAddon = (tx: Tx, businessId: string, id: string, now: Date) => tx`
  update billing_addon set deleted_at = ${now} where business_id = ${businessId} and id = ${id}`
