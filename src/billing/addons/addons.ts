import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Database, type Db, isUniqueViolation, type Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import { useCategories } from '../addon-categories/addon-categories.ts'
import { currencySymbol } from '../currencies.ts'
import { carryMinor, readFlag } from '../fields.ts'
import { toMajor } from '../money.ts'
import { selectPlans, showAssociation } from '../plans/associate.ts'
import { chooseCurrency } from '../plans/choose-currency.ts'
import type { PlanRow } from '../plans/store.ts'
import { lockProductAlone, lockProductForUse } from '../products/products.ts'
import { addonInUse } from '../subscriptions/usage.ts'
import type { AddonChanges, AddonFields, AddonSchema } from './schema.ts'
import type { AddonRow } from './store.ts'
import * as store from './store.ts'

export function createAddon(
  db: Database,
  business: Business,
  productId: string,
  fields: Static<typeof AddonFields>,
): Promise<AddonRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    await lockProductForUse(tx, business.id, productId)
    const made = await withChanges(tx, business, blankAddon(business, productId, now), fields)
    const addon = (await store.insertAddon(tx, business.id, made)) ?? fail(codeTaken(fields.code))
    await emit(tx, event(business.id, 'addon_create', addon, now))
    return addon
  })
}

/** Also deleted ones, for what was sold before. */
export const addonsByIds = store.addonsByIds
export const addonsOnSale = store.addonsOnSale
export const pageOfAddons = store.pageOfAddons

export async function getAddon(db: Db, businessId: string, id: string): Promise<AddonRow> {
  return (await store.findAddon(db, businessId, id)) ?? fail(notFound('Add-on'))
}

/** The given add-ons in their order; one that does not exist is a broken rule of whoever names it. */
export async function getAddons(db: Db, businessId: string, ids: readonly string[]): Promise<AddonRow[]> {
  const byId = new Map((await store.currentAddons(db, businessId, ids)).map(row => [row.id, row]))
  return ids.map(
    id =>
      byId.get(id) ??
      fail(unprocessable('addon_unknown', `There is no add-on ${id}. Use ids of the product's add-ons.`)),
  )
}

/** Whether an add-on may be bought with a plan. */
export function checkAddonForPlan(addon: AddonRow, plan: Pick<PlanRow, 'id' | 'productId' | 'currencyCode'>): void {
  if (!addon.status) throw unprocessable('addon_inactive', `The add-on "${addon.name}" is not on sale.`)
  if (addon.productId !== plan.productId || (addon.planIds !== null && !addon.planIds.includes(plan.id)))
    throw unprocessable('addon_not_for_plan', `The add-on "${addon.name}" is not sold with this plan.`)
  if (addon.currencyCode !== plan.currencyCode)
    throw unprocessable(
      'addon_currency',
      `The add-on "${addon.name}" is sold in ${addon.currencyCode}, the plan in ${plan.currencyCode}.`,
    )
}

export function updateAddon(
  db: Database,
  business: Business,
  id: string,
  changes: Static<typeof AddonChanges>,
): Promise<AddonRow> {
  return db
    .begin(async tx => {
      const now = await nowFor(tx, business)
      const { productId } = await getAddon(tx, business.id, id)
      await lockProducts(tx, business.id, { from: productId, to: changes.product_id ?? productId })
      const before = (await store.lockAddon(tx, business.id, id)) ?? fail(notFound('Add-on'))
      const moved = changes.product_id !== undefined && changes.product_id !== before.productId
      if (moved && (await addonInUse(tx, business.id, id)))
        throw unprocessable(
          'addon_in_use',
          `The add-on "${before.name}" is in a live subscription of its product. Make another one for the other product.`,
          [{ field: 'product_id', message: 'can’t change while the add-on is in a live subscription' }],
        )
      const start = { ...before, productId: changes.product_id ?? before.productId, updatedAt: now }
      const after = await withChanges(tx, business, start, moved ? { category_array: [], ...changes } : changes)
      const addon = await store.updateAddon(tx, business.id, after)
      await emit(tx, event(business.id, 'addon_update', addon, now))
      return addon
    })
    .catch(error => {
      throw isUniqueViolation(error, 'billing_addon_code') ? codeTaken(changes.code ?? '') : error
    })
}

/** A move holds the product it leaves alone, so that no sale of the add-on runs beside it; in the order of ids, as others do. */
async function lockProducts(tx: Tx, businessId: string, { from, to }: { from: string; to: string }): Promise<void> {
  for (const id of [...new Set([from, to])].sort())
    if (id === to) await lockProductForUse(tx, businessId, id)
    else await lockProductAlone(tx, businessId, id)
}

export function deleteAddon(db: Database, business: Business, id: string): Promise<AddonRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const { productId } = await getAddon(tx, business.id, id)
    await lockProductAlone(tx, business.id, productId)
    const addon = (await store.lockAddon(tx, business.id, id)) ?? fail(notFound('Add-on'))
    if (await addonInUse(tx, business.id, id))
      throw unprocessable(
        'addon_in_use',
        `The add-on "${addon.name}" is in a live subscription. Set its status to false to sell it no longer.`,
      )
    await store.hideAddon(tx, business.id, id, now)
    await emit(tx, event(business.id, 'addon_delete', addon, now))
    return addon
  })
}

const codeTaken = (code: string) =>
  conflict('addon_code_taken', `Another add-on of this product has the code "${code}". Choose another code.`, [
    { field: 'code', message: 'is taken' },
  ])

const blankAddon = (business: Business, productId: string, now: Date): AddonRow => ({
  id: newId(),
  productId,
  userId: business.userId,
  name: '',
  code: '',
  priceMinor: 0n,
  currencyCode: '',
  billingPeriod: 'm',
  billingPeriodNum: 1,
  billingCycle: 'lifetime',
  status: true,
  planIds: null,
  categoryArray: [],
  description: '',
  createdAt: now,
  updatedAt: now,
})

const longestPeriod = { w: 520, m: 120, y: 10 }

async function withChanges(
  tx: Tx,
  business: Business,
  addon: AddonRow,
  changes: Static<typeof AddonChanges>,
): Promise<AddonRow> {
  const plans = await selectPlans(tx, business.id, addon.productId, changes, addon.planIds)
  const currencyCode = await chooseCurrency(tx, business, {
    given: changes.currency_code,
    before: addon.currencyCode,
    plans,
    productId: addon.productId,
  })
  checkCurrency(currencyCode, plans)
  const billingPeriod = changes.billing_period ?? addon.billingPeriod
  const billingPeriodNum = changes.billing_period_num ?? addon.billingPeriodNum
  if (billingPeriodNum > longestPeriod[billingPeriod])
    throw invalidField('billing_period_num', `must be at most ${longestPeriod[billingPeriod]}`)
  return {
    ...addon,
    name: changes.name ?? addon.name,
    code: changes.code ?? addon.code,
    currencyCode,
    priceMinor: carryMinor(changes.price, {
      minor: addon.priceMinor,
      from: addon.currencyCode,
      to: currencyCode,
      field: 'price',
    }),
    billingPeriod,
    billingPeriodNum,
    billingCycle: changes.billing_cycle ?? addon.billingCycle,
    status: changes.status === undefined ? addon.status : readFlag(changes.status),
    planIds: plans === null ? null : plans.map(plan => plan.id),
    categoryArray:
      changes.category_array === undefined
        ? addon.categoryArray
        : await useCategories(tx, business.id, {
            productId: addon.productId,
            entries: changes.category_array ?? [],
            now: addon.updatedAt,
          }),
    description: changes.description ?? addon.description,
  }
}

function checkCurrency(currency: string, plans: PlanRow[] | null): void {
  if (plans?.some(plan => plan.currencyCode !== currency))
    throw unprocessable(
      'addon_currency',
      `The add-on is sold in ${currency}, but not all of its plans are. Make one add-on for each currency.`,
      [{ field: 'plans_array', message: `must hold plans sold in ${currency}` }],
    )
}

export const showAddon = (row: AddonRow): Static<typeof AddonSchema> => ({
  id: row.id,
  product_id: row.productId,
  user_id: row.userId,
  name: row.name,
  code: row.code,
  price: toMajor(row.priceMinor, row.currencyCode),
  currency_code: row.currencyCode,
  currency_symbol: currencySymbol(row.currencyCode),
  billing_period: row.billingPeriod,
  billing_period_num: row.billingPeriodNum,
  billing_cycle: row.billingCycle,
  status: row.status,
  ...showAssociation(row.planIds),
  category_array: row.categoryArray,
  description: row.description,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

const event = (businessId: string, type: string, addon: AddonRow, at: Date) =>
  ({ businessId, type, source: 'api', objectId: addon.id, data: showAddon(addon), at }) as const
