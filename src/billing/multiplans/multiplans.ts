import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Database, type Db, isUniqueViolation, only } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import type { PageRequest } from '../../platform/page.ts'
import { conflict, fail, notFound, unprocessable } from '../../platform/problem.ts'
import type { Page } from '../envelope.ts'
import { checkPlansOfProduct, plansByIds, showPlan } from '../plans/plans.ts'
import type { PlanRow } from '../plans/store.ts'
import { lockProductForUse } from '../products/products.ts'
import type { MultiplanChanges, MultiplanFields, MultiplanSchema } from './schema.ts'
import type { MultiplanRow } from './store.ts'
import * as store from './store.ts'

/** A checkout page that offers several plans of one product, in the order given. */
export interface Multiplan extends MultiplanRow {
  plans: PlanRow[]
}

export function createMultiplan(
  db: Database,
  business: Business,
  fields: Static<typeof MultiplanFields>,
  publicUrl: string,
): Promise<Multiplan> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    await lockProductForUse(tx, business.id, fields.product_id)
    const plans = await checkPlansOfProduct(tx, business.id, fields.product_id, { ids: fields.plans, field: 'plans' })
    const made: MultiplanRow = {
      id: newId(),
      productId: fields.product_id,
      pageTitle: fields.page_title,
      multiplanList: fields.multiplan_list ?? 'radio',
      planIds: plans.map(plan => plan.id),
      preferredPlanId: fields.preferred_plan_id || null,
      createdAt: now,
      updatedAt: now,
    }
    checkPreferred(made)
    const row = (await store.insertMultiplan(tx, business.id, made)) ?? fail(titleTaken(fields.page_title))
    const multiplan = { ...row, plans }
    await emit(tx, event(business.id, 'multiplan_create', showMultiplan(multiplan, publicUrl), now))
    return multiplan
  })
}

export async function getMultiplan(db: Db, businessId: string, id: string): Promise<Multiplan> {
  const row = (await store.findMultiplan(db, businessId, id)) ?? fail(notFound('Multiplan'))
  return only(await withPlans(db, businessId, [row]))
}

/** For the page at its address; deleted ones are found too, so that the page can say so. */
export async function findMultiplanOfPage(
  db: Db,
  id: string,
): Promise<(Multiplan & { businessId: string; deletedAt: Date | null }) | undefined> {
  const row = await store.multiplanOfPage(db, id)
  return row && { ...row, ...only(await withPlans(db, row.businessId, [row])) }
}

export async function pageOfMultiplans(
  db: Db,
  businessId: string,
  productId: string | undefined,
  page: PageRequest,
): Promise<Page<Multiplan>> {
  const { rows, total } = await store.pageOfMultiplans(db, businessId, productId, page)
  return { rows: await withPlans(db, businessId, rows), total }
}

export function updateMultiplan(
  db: Database,
  business: Business,
  id: string,
  changes: Static<typeof MultiplanChanges>,
  publicUrl: string,
): Promise<Multiplan> {
  return db
    .begin(async tx => {
      const now = await nowFor(tx, business)
      const { productId } = (await store.findMultiplan(tx, business.id, id)) ?? fail(notFound('Multiplan'))
      if (changes.product_id !== undefined && changes.product_id !== productId)
        throw unprocessable(
          'product_fixed',
          'A multiplan stays with its product. Create one for the other product instead.',
        )
      await lockProductForUse(tx, business.id, productId)
      const before = (await store.lockMultiplan(tx, business.id, id)) ?? fail(notFound('Multiplan'))
      const plans = await checkPlansOfProduct(tx, business.id, productId, {
        ids: changes.plans ?? before.planIds,
        field: 'plans',
      })
      const after = {
        ...before,
        pageTitle: changes.page_title ?? before.pageTitle,
        multiplanList: changes.multiplan_list ?? before.multiplanList,
        planIds: plans.map(plan => plan.id),
        preferredPlanId:
          changes.preferred_plan_id === undefined ? before.preferredPlanId : changes.preferred_plan_id || null,
        updatedAt: now,
      }
      checkPreferred(after)
      const row = await store.updateMultiplan(tx, business.id, after)
      const multiplan = { ...row, plans }
      await emit(tx, event(business.id, 'multiplan_update', showMultiplan(multiplan, publicUrl), now))
      return multiplan
    })
    .catch(error => {
      throw isUniqueViolation(error, 'billing_multiplan_title') ? titleTaken(changes.page_title ?? '') : error
    })
}

export function deleteMultiplan(db: Database, business: Business, id: string, publicUrl: string): Promise<Multiplan> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const row = (await store.lockMultiplan(tx, business.id, id)) ?? fail(notFound('Multiplan'))
    await store.hideMultiplan(tx, business.id, id, now)
    const multiplan = only(await withPlans(tx, business.id, [row]))
    await emit(tx, event(business.id, 'multiplan_delete', showMultiplan(multiplan, publicUrl), now))
    return multiplan
  })
}

/** Spec silent: also when `plans` changes under it; to drop it silently would change what the page recommends. */
function checkPreferred({ preferredPlanId, planIds }: MultiplanRow): void {
  if (preferredPlanId !== null && !planIds.includes(preferredPlanId))
    throw unprocessable('preferred_plan_not_offered', 'preferred_plan_id must be one of plans; null prefers none.', [
      { field: 'preferred_plan_id', message: 'must be one of plans' },
    ])
}

const titleTaken = (title: string) =>
  conflict(
    'page_title_taken',
    `Another multiplan of this product has the title "${title}". Choose another page_title.`,
    [{ field: 'page_title', message: 'is taken' }],
  )

async function withPlans(db: Db, businessId: string, rows: readonly MultiplanRow[]): Promise<Multiplan[]> {
  const ids = [...new Set(rows.flatMap(row => row.planIds))]
  const byId = new Map((await plansByIds(db, businessId, ids)).map(plan => [plan.id, plan]))
  return rows.map(row => ({ ...row, plans: row.planIds.flatMap(id => byId.get(id) ?? []) }))
}

export const checkoutPage = (publicUrl: string, multiplanId: string) => `${publicUrl}/checkout/${multiplanId}`

export const showMultiplan = (multiplan: Multiplan, publicUrl: string): Static<typeof MultiplanSchema> => ({
  id: multiplan.id,
  product_id: multiplan.productId,
  page_title: multiplan.pageTitle,
  multiplan_list: multiplan.multiplanList,
  preferred_plan_id: multiplan.preferredPlanId ?? '',
  plans: multiplan.plans.map(showPlan),
  checkout_page: checkoutPage(publicUrl, multiplan.id),
  createdAt: multiplan.createdAt,
  updatedAt: multiplan.updatedAt,
})

const event = (businessId: string, type: string, data: Static<typeof MultiplanSchema>, at: Date) =>
  ({ businessId, type, source: 'api', objectId: data.id, data, at }) as const
