import type { Tx } from '../../platform/database.ts'
import { addonsByIds } from '../addons/addons.ts'
import { couponsByIds } from '../coupons/coupons.ts'
import * as ledger from '../ledger/store.ts'
import { plansByIds } from '../plans/plans.ts'
import { settingsOf } from '../settings/settings.ts'
import type { Settings } from '../settings/store.ts'
import type { TaxRow } from '../taxes/store.ts'
import { allTaxes } from '../taxes/tax-for.ts'
import type { OpenLot } from './proration.ts'
import type { ScheduledTerms } from './scheduled.ts'
import { groupBy, type Surroundings, surroundingsOf } from './show.ts'
import type { SubscriptionRow } from './store.ts'
import * as changes from './store-changes.ts'

/** Everything that the renewal of many subscriptions looks at. */
export interface Around extends Surroundings {
  lots: Map<string, OpenLot[]>
  scheduled: Map<string, changes.ChangeRow>
  taxes: readonly TaxRow[]
  settings: Settings
}

export async function lookAround(tx: Tx, businessId: string, rows: readonly SubscriptionRow[]): Promise<Around> {
  const ids = rows.map(row => row.id)
  const [around, lots, scheduled, taxes, settings] = await Promise.all([
    surroundingsOf(tx, businessId, rows),
    ledger.lockOpenLots(tx, businessId, ids),
    changes.scheduledOf(tx, businessId, ids),
    allTaxes(tx, businessId),
    settingsOf(tx, businessId),
  ])
  const planIds = scheduled.map(change => change.planId).filter(id => !around.plans.has(id))
  const couponIds = scheduled
    .map(change => change.terms.couponId as string | null)
    .filter(id => id !== null)
    .filter(id => !around.coupons.has(id))
  const addonIds = scheduled
    .flatMap(change => (change.terms as unknown as ScheduledTerms).addons.map(addon => String(addon.addonId)))
    .filter(id => !around.addons.has(id))
  for (const addon of addonIds.length ? await addonsByIds(tx, businessId, addonIds) : [])
    around.addons.set(addon.id, addon)
  for (const plan of planIds.length ? await plansByIds(tx, businessId, planIds) : []) around.plans.set(plan.id, plan)
  for (const coupon of couponIds.length ? await couponsByIds(tx, businessId, couponIds) : [])
    around.coupons.set(coupon.id, coupon)
  return {
    ...around,
    lots: groupBy(
      lots.map(lot => ({ ...lot, balanceMinor: lot.createdMinor - lot.usedMinor - lot.reservedMinor })),
      lot => lot.subscriptionId,
    ),
    scheduled: new Map(scheduled.map(change => [change.subscriptionId, change])),
    taxes,
    settings,
  }
}
