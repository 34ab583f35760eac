import type { Tx } from '../../platform/database.ts'
import { addonsByIds } from '../addons/addons.ts'
import { couponsByIds } from '../coupons/coupons.ts'
import type { StoredLine } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import * as ledger from '../ledger/store.ts'
import { currentMethods, type MethodRow } from '../payment-methods/store.ts'
import { plansByIds } from '../plans/plans.ts'
import { settingsOf } from '../settings/settings.ts'
import type { Settings } from '../settings/store.ts'
import type { TaxRow } from '../taxes/store.ts'
import { allTaxes } from '../taxes/tax-for.ts'
import type { OpenLot } from './proration.ts'
import type { ScheduledTerms } from './scheduled.ts'
import { byId, groupBy, type Surroundings, surroundingsOf } from './show.ts'
import type { SubscriptionRow } from './store.ts'
import * as changes from './store-changes.ts'
import { hasOwnRhythm } from './terms.ts'

/** Everything that the renewal of many subscriptions looks at. */
export interface Around extends Surroundings {
  lots: Map<string, OpenLot[]>
  scheduled: Map<string, changes.ChangeRow>
  /** of add-ons with a period of their own: what they have paid for beyond the term that ends */
  running: Map<string, StoredLine[]>
  /** that scheduled changes name */
  cards: Map<string, MethodRow>
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
  const cardIds = scheduled.flatMap(change => (change.terms as unknown as ScheduledTerms).cardId ?? [])
  const cards = cardIds.length ? await currentMethods(tx, businessId, cardIds) : []
  const running = await runningLines(tx, businessId, rows, around)
  return {
    ...around,
    running: groupBy(running, line => line.subscriptionId),
    lots: groupBy(
      lots.map(lot => ({ ...lot, balanceMinor: lot.createdMinor - lot.usedMinor - lot.reservedMinor })),
      lot => lot.subscriptionId,
    ),
    scheduled: new Map(scheduled.map(change => [change.subscriptionId, change])),
    cards: byId(cards),
    taxes,
    settings,
  }
}

/** Most subscriptions have no such add-on: then nothing is asked. */
async function runningLines(
  tx: Tx,
  businessId: string,
  rows: readonly SubscriptionRow[],
  { chosen }: Surroundings,
): Promise<StoredLine[]> {
  const own = rows.filter(row => chosen.get(row.id)?.some(addon => hasOwnRhythm(addon, row)))
  const ends = own.flatMap(row => row.periodEnd ?? []).toSorted()
  if (ends.length === 0) return []
  const ids = own.map(row => row.id)
  return invoices.runningAddonLines(tx, businessId, ids, ends[0]!)
}
