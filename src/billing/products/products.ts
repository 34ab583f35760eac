import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Db, Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import { productInUse } from '../subscriptions/usage.ts'
import type { ProductChanges, ProductFields, ProductSchema } from './schema.ts'
import type { ProductRow } from './store.ts'
import * as store from './store.ts'

export function createProduct(
  db: Database,
  business: Business,
  fields: Static<typeof ProductFields>,
): Promise<ProductRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const product = await store.insertProduct(tx, business.id, {
      id: newId(),
      productName: fields.product_name,
      description: fields.description ?? null,
      redirectUrl: fields.redirect_url || null,
      createdAt: now,
      updatedAt: now,
    })
    await emit(tx, event(business.id, 'product_create', product, now))
    return product
  })
}

export const findProduct = store.findProduct
/** Also deleted ones, for what was sold before. */
export const productsByIds = store.productsByIds
export const pageOfProducts = store.pageOfProducts

export async function getProduct(db: Db, businessId: string, id: string): Promise<ProductRow> {
  return (await store.findProduct(db, businessId, id)) ?? fail(notFound('Product'))
}

/**
 * Whoever changes something of a product holds the product first, many at a time; whoever deletes a product or a plan
 * holds it alone. So nothing new ever names a deleted plan, and no two of them wait for each other.
 */
export async function lockProductForUse(tx: Tx, businessId: string, id: string): Promise<void> {
  if (!(await store.shareProduct(tx, businessId, id))) throw notFound('Product')
}

export async function lockProductAlone(tx: Tx, businessId: string, id: string): Promise<ProductRow> {
  return (await store.lockProduct(tx, businessId, id)) ?? fail(notFound('Product'))
}

export function updateProduct(
  db: Database,
  business: Business,
  id: string,
  changes: Static<typeof ProductChanges>,
): Promise<ProductRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const before = await lockProductAlone(tx, business.id, id)
    const product = await store.updateProduct(tx, business.id, {
      ...before,
      productName: changes.product_name ?? before.productName,
      description: changes.description === undefined ? before.description : changes.description,
      redirectUrl: changes.redirect_url === undefined ? before.redirectUrl : changes.redirect_url || null,
      updatedAt: now,
    })
    await emit(tx, event(business.id, 'product_update', product, now))
    return product
  })
}

export function deleteProduct(db: Database, business: Business, id: string): Promise<ProductRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const product = await lockProductAlone(tx, business.id, id)
    if (await productInUse(tx, business.id, id))
      throw unprocessable(
        'product_in_use',
        `The product "${product.productName}" has live subscriptions. Cancel them first, or set its plans' plan_active to false.`,
      )
    await store.hideProduct(tx, business.id, id, now)
    await emit(tx, event(business.id, 'product_delete', product, now))
    return product
  })
}

export const showProduct = (row: ProductRow): Static<typeof ProductSchema> => ({
  id: row.id,
  product_name: row.productName,
  description: row.description,
  redirect_url: row.redirectUrl,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

const event = (businessId: string, type: string, product: ProductRow, at: Date) =>
  ({ businessId, type, source: 'api', objectId: product.id, data: showProduct(product), at }) as const
