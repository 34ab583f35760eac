import { type BusinessRow, businessById } from '../accounts/store.ts'
import { findMultiplanOfPage, type Multiplan } from '../billing/multiplans/multiplans.ts'
import type { PlanRow } from '../billing/plans/store.ts'
import { findProduct } from '../billing/products/products.ts'
import type { ProductRow } from '../billing/products/store.ts'
import type { Db } from '../platform/database.ts'
import { isId } from '../platform/ids.ts'

/** What a checkout page sells, and for whom. */
export interface Offer {
  business: BusinessRow
  multiplan: Multiplan
  product: ProductRow
  /** those that can be bought now, in the merchant's order */
  plans: PlanRow[]
}

/** Undefined: there never was such a page. Gone: it was taken down, or its product was. */
export async function findOffer(db: Db, multiplanId: string): Promise<Offer | 'gone' | undefined> {
  if (!isId(multiplanId)) return undefined
  const multiplan = await findMultiplanOfPage(db, multiplanId)
  if (!multiplan) return undefined
  const { businessId } = multiplan
  const [business, product] = await Promise.all([
    businessById(db, businessId),
    findProduct(db, businessId, multiplan.productId),
  ])
  if (multiplan.deletedAt !== null || !business || !product) return 'gone'
  return { business, multiplan, product, plans: multiplan.plans.filter(plan => plan.planActive) }
}

/** The plan that is chosen before anybody chose: the preferred one, or the first. */
export const defaultPlan = ({ plans, multiplan }: Offer): PlanRow | undefined =>
  plans.find(plan => plan.id === multiplan.preferredPlanId) ?? plans[0]
