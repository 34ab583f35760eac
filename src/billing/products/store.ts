import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { among, type Id } from '../store-among.ts'
import { countRows } from '../store-count.ts'

export interface ProductRow {
  id: string
  productName: string
  description: string | null
  redirectUrl: string | null
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, product_name as "productName", description, redirect_url as "redirectUrl",
  created_at as "createdAt", updated_at as "updatedAt"`

export const insertProduct = (tx: Tx, businessId: string, product: ProductRow) =>
  tx<ProductRow[]>`
  insert into billing_product (business_id, id, product_name, description, redirect_url, created_at, updated_at)
  values (${businessId}, ${product.id}, ${product.productName}, ${product.description}, ${product.redirectUrl},
    ${product.createdAt}, ${product.updatedAt})
  returning ${columns(tx)}`.then(only)

export const findProduct = (db: Db, businessId: string, id: string) =>
  db<ProductRow[]>`
  select ${columns(db)} from billing_product
  where business_id = ${businessId} and id = ${id} and deleted_at is null`.then(first)

/** Also deleted ones, for what was sold before. */
export const productsByIds = (db: Db, businessId: string, ids: readonly string[]) => db<ProductRow[]>`
  select ${columns(db)} from billing_product where business_id = ${businessId} and id ${among(db, ids)}`

export const lockProduct = (tx: Tx, businessId: string, id: string) =>
  tx<ProductRow[]>`
  select ${columns(tx)} from billing_product
  where business_id = ${businessId} and id = ${id} and deleted_at is null for update`.then(first)

export const shareProduct = (tx: Tx, businessId: string, id: Id) =>
  tx<ProductRow[]>`
  select ${columns(tx)} from billing_product
  where business_id = ${businessId} and id = ${id} and deleted_at is null for share`.then(first)

export async function pageOfProducts(db: Db, businessId: string, page: PageRequest): Promise<Page<ProductRow>> {
  const [rows, total] = await Promise.all([
    db<ProductRow[]>`
      select ${columns(db)} from billing_product where business_id = ${businessId} and deleted_at is null
      order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_product where business_id = ${businessId} and deleted_at is null`),
  ])
  return { rows, total }
}

export const updateProduct = (tx: Tx, businessId: string, product: ProductRow) =>
  tx<ProductRow[]>`
  update billing_product
  set product_name = ${product.productName}, description = ${product.description}, redirect_url = ${product.redirectUrl},
    updated_at = ${product.updatedAt}
  where business_id = ${businessId} and id = ${product.id}
  returning ${columns(tx)}`.then(only)

/** The product and all that is sold with it; rows stay for what was sold before. Codes that nobody bought are free again. */
export async function hideProduct(tx: Tx, businessId: string, id: string, now: Date): Promise<void> {
  await tx`
    delete from billing_license_code
    where business_id = ${businessId} and subscription_id is null and license_id in (
      select id from billing_license where business_id = ${businessId} and product_id = ${id} and deleted_at is null)`
  for (const table of ['plan', 'addon', 'multiplan', 'coupon', 'license'])
    await tx`
      update ${tx(`billing_${table}`)} set deleted_at = ${now}
      where business_id = ${businessId} and product_id = ${id} and deleted_at is null`
  await tx`update billing_product set deleted_at = ${now} where business_id = ${businessId} and id = ${id}`
}
