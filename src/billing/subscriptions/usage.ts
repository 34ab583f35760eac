import type { Db } from '../../platform/database.ts'
import * as store from './store-usage.ts'

/** Is this part of the catalogue, or this customer, held by a subscription that has not ended? */
export const planInUse = store.planInUse
export const addonInUse = store.addonInUse
export const customerInUse = store.customerInUse
export const productInUse = store.productInUse

/** Open credit by customer id; a customer without any is not in the map. */
export async function creditByCustomer(
  db: Db,
  businessId: string,
  options: { customerIds: readonly string[]; currency: string },
): Promise<Map<string, bigint>> {
  if (options.customerIds.length === 0) return new Map()
  const rows = await store.creditOf(db, businessId, options)
  return new Map(rows.map(row => [row.customerId, row.creditMinor]))
}
