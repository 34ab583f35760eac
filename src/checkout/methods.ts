import type { BusinessRow } from '../accounts/store.ts'
import { findGatewayAccount } from '../billing/gateways/store.ts'
import type { Db } from '../platform/database.ts'
import type { Method } from './entry.ts'

/**
 * Spec silent: how customers may pay. With a Stripe account by card there, without one by test card; and on invoice,
 * unless the business's setting `checkout: { offline: false }` says otherwise.
 */
export async function offeredMethods(db: Db, business: BusinessRow): Promise<Method[]> {
  const stripe = await findGatewayAccount(db, business.id, 'stripe')
  const { offline = true } = (business.settings.checkout ?? {}) as { offline?: boolean }
  return [stripe ? 'stripe' : 'card', ...(offline === false ? [] : (['offline'] as const))]
}
