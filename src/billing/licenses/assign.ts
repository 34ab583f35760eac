import type { Db, Tx } from '../../platform/database.ts'
import { type EventSource, emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { makeCode } from './codes.ts'
import type { LicenseRow } from './store.ts'
import * as store from './store.ts'
import * as codeStore from './store-codes.ts'

export interface CodeSale {
  productId: string
  planId: string
  subscriptionId: string
  now: Date
  source: EventSource
}

/**
 * Gives a subscription its code at its first payment, in the transaction of the payment: if that fails, the code is
 * free again. A subscription that has one keeps it. Spec silent: a sale goes on without a code when the product has none
 * or none are left; the latter is told, so that the merchant can add some.
 */
export async function assignCode(tx: Tx, businessId: string, sale: CodeSale): Promise<string | undefined> {
  const [had] = await codeStore.codesOfSubscriptions(tx, businessId, [sale.subscriptionId])
  if (had) return had.code
  const pools = await store.licensesForPlan(tx, businessId, sale)
  if (pools.length === 0) return undefined
  const taken = (await takeFromAny(tx, businessId, pools, sale)) ?? (await waitForAny(tx, businessId, pools, sale))
  const { productId, planId, subscriptionId } = sale
  await emit(tx, {
    businessId,
    type: taken ? 'license_assign' : 'license_exhausted',
    source: sale.source,
    objectId: taken?.licenseId ?? pools[0]!.id,
    data: {
      license_id: taken?.licenseId ?? pools[0]!.id,
      product_id: productId,
      plan_id: planId,
      subscription_id: subscriptionId,
      code: taken?.code ?? '',
    },
    at: sale.now,
  })
  return taken?.code
}

/** The codes of subscriptions that have one. */
export async function codesOfSubscriptions(
  db: Db,
  businessId: string,
  subscriptionIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await codeStore.codesOfSubscriptions(db, businessId, subscriptionIds)
  return new Map(rows.map(row => [row.subscriptionId, row.code]))
}

interface Taken {
  licenseId: string
  code: string
}

async function takeFromAny(
  tx: Tx,
  businessId: string,
  pools: readonly LicenseRow[],
  sale: CodeSale,
): Promise<Taken | undefined> {
  for (const pool of pools) {
    const ours = { licenseId: pool.id, subscriptionId: sale.subscriptionId, now: sale.now }
    const free = await codeStore.takeFreeCode(tx, businessId, ours, { wait: false })
    if (free) return { licenseId: pool.id, code: free.code }
    if (pool.method !== 'auto') continue
    for (let tries = 0; tries < 10; tries++) {
      const made = { ...ours, id: newId(), productId: pool.productId, code: makeCode(pool.pattern) }
      if (await codeStore.insertSoldCode(tx, businessId, made)) return { licenseId: pool.id, code: made.code }
    }
  }
  return undefined
}

/** Every code is sold or held by a sale that is not decided; one of those may fail. */
async function waitForAny(
  tx: Tx,
  businessId: string,
  pools: readonly LicenseRow[],
  sale: CodeSale,
): Promise<Taken | undefined> {
  for (const pool of pools) {
    const ours = { licenseId: pool.id, subscriptionId: sale.subscriptionId, now: sale.now }
    const free = await codeStore.takeFreeCode(tx, businessId, ours, { wait: true })
    if (free) return { licenseId: pool.id, code: free.code }
  }
  return undefined
}
