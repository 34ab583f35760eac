import { Type } from 'typebox'
import type { Tx } from '../../platform/database.ts'
import { invalidField, unprocessable } from '../../platform/problem.ts'
import { Choice } from '../../platform/schema.ts'
import { checkPlansOfProduct } from './plans.ts'
import type { PlanRow } from './store.ts'

/** An add-on or a coupon goes with every plan of its product, or with selected ones. */

/** `all` is what answers say for `all_plans`, so it is taken back too. */
export const AssociatePlans = Choice(['selected_plans', 'all_plans', 'all'])
export type AssociatePlans = 'selected_plans' | 'all_plans' | 'all'

/** The specification declares it an array in one place and a string in another: ids, JSON text of them, or ids with commas. */
export const PlansArray = Type.Unsafe<string[] | string | null>({
  type: ['array', 'string', 'null'],
  items: { type: 'string', minLength: 1, maxLength: 100 },
  maxItems: 1_000,
  maxLength: 100_000,
})

function readPlansArray(given: string[] | string | null): string[] {
  if (given === null) return []
  if (typeof given !== 'string') return given
  if (!given.trim().startsWith('['))
    return given
      .split(',')
      .map(id => id.trim())
      .filter(id => id !== '')
  try {
    const ids: unknown = JSON.parse(given)
    if (Array.isArray(ids) && ids.every(id => typeof id === 'string')) return ids
  } catch {}
  throw invalidField('plans_array', 'must be a list of plan ids')
}

/** The selected plans, or null for all. What is not given stays as it was; `before` is null too for something new. */
export async function selectPlans(
  tx: Tx,
  businessId: string,
  productId: string,
  given: { associate_plans?: AssociatePlans; plans_array?: string[] | string | null },
  before: readonly string[] | null,
): Promise<PlanRow[] | null> {
  const selected = given.associate_plans === undefined ? before !== null : given.associate_plans === 'selected_plans'
  if (!selected) return null
  const ids = given.plans_array === undefined ? (before ?? []) : readPlansArray(given.plans_array)
  if (ids.length === 0 && !(given.plans_array === undefined && before !== null))
    throw unprocessable('plans_required', 'selected_plans needs plans_array with plans of this product.', [
      { field: 'plans_array', message: 'is required with selected_plans' },
    ])
  return checkPlansOfProduct(tx, businessId, productId, { ids, field: 'plans_array' })
}

export const showAssociation = (planIds: string[] | null) => ({
  associate_plans: planIds === null ? 'all' : 'selected_plans',
  plans_array: planIds,
})
