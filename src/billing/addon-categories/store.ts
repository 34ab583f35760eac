import { type Db, first, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { countRows } from '../store-count.ts'

export interface CategoryRow {
  id: string
  productId: string
  name: string
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, product_id as "productId", name, created_at as "createdAt", updated_at as "updatedAt"`

/** Answers the ones that are new; names that the product has already are left alone. */
export const insertCategories = (tx: Tx, businessId: string, categories: readonly CategoryRow[]) => {
  const rows = categories.map(category => ({
    business_id: businessId,
    id: category.id,
    product_id: category.productId,
    name: category.name,
    created_at: category.createdAt,
    updated_at: category.updatedAt,
  }))
  return tx<CategoryRow[]>`
    insert into billing_addon_category ${tx(rows)}
    on conflict (business_id, product_id, lower(name)) do nothing
    returning ${columns(tx)}`
}

export const categoriesAmong = (db: Db, businessId: string, productId: string, ids: readonly string[]) => db<
  { id: string }[]
>`
  select id from billing_addon_category
  where business_id = ${businessId} and product_id = ${productId} and id = any(${ids as string[]})`

export async function pageOfCategories(
  db: Db,
  businessId: string,
  productId: string,
  page: PageRequest,
): Promise<Page<CategoryRow>> {
  const where = db`business_id = ${businessId} and product_id = ${productId}`
  const [rows, total] = await Promise.all([
    db<CategoryRow[]>`
      select ${columns(db)} from billing_addon_category where ${where}
      order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_addon_category where ${where}`),
  ])
  return { rows, total }
}

export const deleteCategory = (tx: Tx, businessId: string, id: string) =>
  tx<CategoryRow[]>`
  delete from billing_addon_category where business_id = ${businessId} and id = ${id}
  returning ${columns(tx)}`.then(first)

/** An add-on may name its category by id or by name. */
export const takeOffAddons = (tx: Tx, businessId: string, category: CategoryRow) => tx`
  update billing_addon
  set category_array = array(
    select entry from unnest(category_array) with ordinality as given (entry, place)
    where entry <> ${category.id} and lower(entry) <> lower(${category.name}) order by place)
  where business_id = ${businessId} and product_id = ${category.productId} and deleted_at is null
    and exists (select 1 from unnest(category_array) entry where entry = ${category.id} or lower(entry) = lower(${category.name}))`
