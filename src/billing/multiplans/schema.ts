import { Type } from 'typebox'
import { Choice, IdInPath, Nullable, PageQuery, Timestamp } from '../../platform/schema.ts'
import { Label } from '../fields.ts'
import { PlanSchema } from '../plans/schema.ts'

export const MultiplanPath = Type.Object({ multiplan_id: IdInPath })
/** The specification names the same thing `id` where it changes. */
export const MultiplanIdPath = Type.Object({ id: IdInPath })
export const MultiplanQuery = Type.Object({ ...PageQuery, product_id: Type.Optional(IdInPath) })

const PlanIds = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  minItems: 1,
  maxItems: 100,
  description: 'plan ids, all of the product',
})
const MultiplanList = Choice(['radio', 'select'])
const PreferredPlan = Nullable(Type.String({ maxLength: 100 }))

export const MultiplanFields = Type.Object({
  product_id: IdInPath,
  page_title: Label,
  plans: PlanIds,
  multiplan_list: Type.Optional(MultiplanList),
  preferred_plan_id: Type.Optional(PreferredPlan),
})
export const MultiplanChanges = Type.Partial(MultiplanFields)

export const MultiplanSchema = Type.Object({
  id: Type.String(),
  product_id: Type.String(),
  page_title: Type.String(),
  multiplan_list: Type.String(),
  preferred_plan_id: Type.String({ description: 'empty when none is preferred' }),
  plans: Type.Array(PlanSchema),
  checkout_page: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
