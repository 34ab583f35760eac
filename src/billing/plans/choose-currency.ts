import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import { exponentOf } from '../currencies.ts'
import type { PlanRow } from './store.ts'
import * as store from './store.ts'

/**
 * Spec silent: an add-on or a coupon has a currency, because it stands on one invoice with its plan. By default it is
 * that of its plans, or of the product's plans where all are sold in one, else the business's.
 */
export async function chooseCurrency(
  tx: Tx,
  business: Business,
  choice: { given: string | undefined; before: string; plans: PlanRow[] | null; productId: string },
): Promise<string> {
  const chosen =
    choice.given?.toUpperCase() ||
    choice.before ||
    choice.plans?.[0]?.currencyCode ||
    (await ofProduct(tx, business.id, choice.productId)) ||
    business.currency
  exponentOf(chosen)
  return chosen
}

async function ofProduct(tx: Tx, businessId: string, productId: string): Promise<string | undefined> {
  const currencies = await store.currenciesOfProduct(tx, businessId, productId)
  return currencies.length === 1 ? currencies[0]?.currency : undefined
}
