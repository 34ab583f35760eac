import type { Db } from '../platform/database.ts'

/** The demo shop opened before it sold anything: its catalogue and customers are as old as the shop. */
export async function backdateCatalogue(db: Db, businessId: string, at: Date): Promise<void> {
  for (const table of [
    'product',
    'plan',
    'addon_category',
    'addon',
    'multiplan',
    'coupon',
    'tax',
    'license',
    'customer',
  ])
    await db`
      update ${db(`billing_${table}`)} set created_at = ${at}, updated_at = ${at} where business_id = ${businessId}`
}
