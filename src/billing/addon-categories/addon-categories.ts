import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Database, first, type Tx } from '../../platform/database.ts'
import { isId, newId } from '../../platform/ids.ts'
import { conflict, fail, notFound, unprocessable } from '../../platform/problem.ts'
import { lockProductForUse } from '../products/products.ts'
import type { CategorySchema } from './schema.ts'
import type { CategoryRow } from './store.ts'
import * as store from './store.ts'

/** Categories group the add-ons of a product on its checkout page. */
export function createCategory(
  db: Database,
  business: Business,
  productId: string,
  name: string,
): Promise<CategoryRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    await lockProductForUse(tx, business.id, productId)
    const category = { id: newId(), productId, name, createdAt: now, updatedAt: now }
    return (
      first(await store.insertCategories(tx, business.id, [category])) ??
      fail(
        conflict('category_name_taken', `This product has a category named "${name}".`, [
          { field: 'name', message: 'is taken' },
        ]),
      )
    )
  })
}

export const pageOfCategories = store.pageOfCategories

/** Takes it off the add-ons that were shown in it. */
export function deleteCategory(db: Database, businessId: string, id: string): Promise<CategoryRow> {
  return db.begin(async tx => {
    const category = (await store.deleteCategory(tx, businessId, id)) ?? fail(notFound('Category'))
    await store.takeOffAddons(tx, businessId, category)
    return category
  })
}

/** Spec silent: a category that is named comes into being at first use; one that is given by id must exist. */
export async function useCategories(
  tx: Tx,
  businessId: string,
  { productId, entries, now }: { productId: string; entries: readonly string[]; now: Date },
): Promise<string[]> {
  const unique = [...new Set(entries)]
  const ids = unique.filter(isId)
  const known = new Set((await store.categoriesAmong(tx, businessId, productId, ids)).map(row => row.id))
  const missing = entries.flatMap((entry, i) => (isId(entry) && !known.has(entry) ? [i] : []))
  if (missing.length > 0)
    throw unprocessable(
      'category_unknown',
      'category_array must hold ids or names of categories of this product.',
      missing.map(i => ({ field: `category_array[${i}]`, message: 'is not a category of this product' })),
    )
  const names = unique.filter(entry => !isId(entry))
  if (names.length > 0) {
    const made = names.map(name => ({ id: newId(), productId, name, createdAt: now, updatedAt: now }))
    await store.insertCategories(tx, businessId, made)
  }
  return unique
}

export const showCategory = (row: CategoryRow): Static<typeof CategorySchema> => ({
  id: row.id,
  product_id: row.productId,
  name: row.name,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})
