import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { getProduct } from '../products/products.ts'
import { ProductPath } from '../products/schema.ts'
import * as plans from './plans.ts'
import { PlanChanges, PlanFields, PlanPath, PlanSchema } from './schema.ts'

export const create = endpoint({
  summary: 'Create a plan of a product',
  body: PlanFields,
  answer: envelope(PlanSchema),
  run: async ({ db, business, body }) => ok('Plan created', plans.showPlan(await plans.createPlan(db, business, body))),
})

export const update = endpoint({
  summary: 'Change a plan',
  description: 'Running subscriptions keep the price they were sold at.',
  params: PlanPath,
  body: PlanChanges,
  answer: envelope(PlanSchema),
  run: async ({ db, business, params, body }) =>
    ok('Plan updated', plans.showPlan(await plans.updatePlan(db, business, params.plan_id, body))),
})

export const list = endpoint({
  summary: 'All plans, newest first',
  query: Type.Object(PageQuery),
  answer: pageEnvelope(PlanSchema),
  run: async ({ db, business, query }) => {
    const page = pageRequest(query)
    const { rows, total } = await plans.pageOfPlans(db, business.id, undefined, page)
    return okPage('Plans', rows.map(plans.showPlan), page, total)
  },
})

export const listOfProduct = endpoint({
  summary: 'Plans of a product, newest first',
  params: ProductPath,
  query: Type.Object(PageQuery),
  answer: pageEnvelope(PlanSchema),
  run: async ({ db, business, params, query }) => {
    const product = await getProduct(db, business.id, params.product_id)
    const page = pageRequest(query)
    const { rows, total } = await plans.pageOfPlans(db, business.id, product.id, page)
    return okPage('Plans', rows.map(plans.showPlan), page, total)
  },
})

export const get = endpoint({
  summary: 'One plan',
  params: PlanPath,
  answer: envelope(PlanSchema),
  run: async ({ db, business, params }) =>
    ok('Plan', plans.showPlan(await plans.getPlan(db, business.id, params.plan_id))),
})

export const remove = endpoint({
  summary: 'Delete a plan',
  description: 'Refused while it has live subscriptions. Answers the deleted plan.',
  params: PlanPath,
  answer: envelope(PlanSchema),
  run: async ({ db, business, params }) =>
    ok('Plan deleted', plans.showPlan(await plans.deletePlan(db, business, params.plan_id))),
})
