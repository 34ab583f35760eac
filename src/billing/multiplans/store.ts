import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { countRows } from '../store-count.ts'

export interface MultiplanRow {
  id: string
  productId: string
  pageTitle: string
  multiplanList: 'radio' | 'select'
  planIds: string[]
  preferredPlanId: string | null
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, product_id as "productId", page_title as "pageTitle", multiplan_list as "multiplanList", plan_ids as "planIds",
  preferred_plan_id as "preferredPlanId", created_at as "createdAt", updated_at as "updatedAt"`

/** Undefined when the title is taken in the product. */
export const insertMultiplan = (tx: Tx, businessId: string, multiplan: MultiplanRow) =>
  tx<MultiplanRow[]>`
  insert into billing_multiplan (business_id, id, product_id, page_title, multiplan_list, plan_ids, preferred_plan_id,
    created_at, updated_at)
  values (${businessId}, ${multiplan.id}, ${multiplan.productId}, ${multiplan.pageTitle}, ${multiplan.multiplanList},
    ${multiplan.planIds}, ${multiplan.preferredPlanId}, ${multiplan.createdAt}, ${multiplan.updatedAt})
  on conflict (business_id, product_id, page_title) where deleted_at is null do nothing
  returning ${columns(tx)}`.then(first)

export const findMultiplan = (db: Db, businessId: string, id: string) =>
  db<MultiplanRow[]>`
  select ${columns(db)} from billing_multiplan
  where business_id = ${businessId} and id = ${id} and deleted_at is null`.then(first)

/** For its page, which is opened by the address alone: says whose it is, and finds deleted ones too. */
export const multiplanOfPage = (db: Db, id: string) =>
  db<(MultiplanRow & { businessId: string; deletedAt: Date | null })[]>`
  select business_id as "businessId", deleted_at as "deletedAt", ${columns(db)} from billing_multiplan
  where id = ${id}`.then(first)

export const lockMultiplan = (tx: Tx, businessId: string, id: string) =>
  tx<MultiplanRow[]>`
  select ${columns(tx)} from billing_multiplan
  where business_id = ${businessId} and id = ${id} and deleted_at is null for update`.then(first)

export async function pageOfMultiplans(
  db: Db,
  businessId: string,
  productId: string | undefined,
  page: PageRequest,
): Promise<Page<MultiplanRow>> {
  const where = db`business_id = ${businessId} and deleted_at is null
    ${productId === undefined ? db`` : db`and product_id = ${productId}`}`
  const [rows, total] = await Promise.all([
    db<MultiplanRow[]>`
      select ${columns(db)} from billing_multiplan where ${where}
      order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_multiplan where ${where}`),
  ])
  return { rows, total }
}

export const updateMultiplan = (tx: Tx, businessId: string, multiplan: MultiplanRow) =>
  tx<MultiplanRow[]>`
  update billing_multiplan
  set page_title = ${multiplan.pageTitle}, multiplan_list = ${multiplan.multiplanList}, plan_ids = ${multiplan.planIds},
    preferred_plan_id = ${multiplan.preferredPlanId}, updated_at = ${multiplan.updatedAt}
  where business_id = ${businessId} and id = ${multiplan.id}
  returning ${columns(tx)}`.then(only)

export const hideMultiplan = (tx: Tx, businessId: string, id: string, now: Date) => tx`
  update billing_multiplan set deleted_at = ${now} where business_id = ${businessId} and id = ${id}`
