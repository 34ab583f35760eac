import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Database, type Db, isUniqueViolation, type Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import { currencySymbol, exponentOf } from '../currencies.ts'
import { carryMinor, readFlag, readWhole } from '../fields.ts'
import { toMajor } from '../money.ts'
import { lockProductAlone, lockProductForUse } from '../products/products.ts'
import { planInUse } from '../subscriptions/usage.ts'
import type { PlanChanges, PlanFields, PlanSchema } from './schema.ts'
import type { PlanRow } from './store.ts'
import * as store from './store.ts'

export function createPlan(db: Database, business: Business, fields: Static<typeof PlanFields>): Promise<PlanRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    await lockProductForUse(tx, business.id, fields.product_id)
    const blank = blankPlan(fields.product_id, business.currency, now)
    const plan =
      (await store.insertPlan(tx, business.id, withChanges(blank, fields))) ?? fail(codeTaken(fields.plan_code))
    await emit(tx, event(business.id, 'plan_create', plan, now))
    return plan
  })
}

export const findPlan = store.findPlan
/** Also deleted ones, for what was sold before. */
export const plansByIds = store.plansByIds
export const pageOfPlans = store.pageOfPlans

export async function getPlan(db: Db, businessId: string, id: string): Promise<PlanRow> {
  return (await store.findPlan(db, businessId, id)) ?? fail(notFound('Plan'))
}

/** Within a sale: until it is decided, neither the plan nor its product or add-ons can be deleted. */
export async function lockPlanForSale(
  tx: Tx,
  businessId: string,
  plan: Pick<PlanRow, 'id' | 'productId'>,
): Promise<void> {
  await lockProductForUse(tx, businessId, plan.productId)
  await getPlan(tx, businessId, plan.id)
}

/** The given plans in their order, also deleted ones, for what was sold before. */
export async function getPlans(db: Db, businessId: string, ids: readonly string[]): Promise<PlanRow[]> {
  const rows = await store.plansByIds(db, businessId, ids)
  const byId = new Map(rows.map(row => [row.id, row]))
  return ids.map(id => byId.get(id) ?? fail(notFound('Plan')))
}

/** Plan ids that something of a product names: each once, in their order, all of that product. */
export async function checkPlansOfProduct(
  db: Db,
  businessId: string,
  productId: string,
  { ids, field }: { ids: readonly string[]; field: string },
): Promise<PlanRow[]> {
  const unique = [...new Set(ids)]
  const rows = await store.plansOfProductAmong(db, businessId, productId, unique)
  const byId = new Map(rows.map(row => [row.id, row]))
  const strangers = ids.flatMap((id, i) => (byId.has(id) ? [] : [i]))
  if (strangers.length > 0)
    throw unprocessable(
      'plan_not_of_product',
      `${field} must hold plans of this product only.`,
      strangers.slice(0, 20).map(i => ({ field: `${field}[${i}]`, message: 'is not a plan of this product' })),
    )
  return unique.map(id => byId.get(id)!)
}

export function updatePlan(
  db: Database,
  business: Business,
  id: string,
  changes: Static<typeof PlanChanges>,
): Promise<PlanRow> {
  return db
    .begin(async tx => {
      const now = await nowFor(tx, business)
      const before = (await store.lockPlan(tx, business.id, id)) ?? fail(notFound('Plan'))
      if (changes.product_id !== undefined && changes.product_id !== before.productId)
        throw unprocessable(
          'product_fixed',
          'A plan stays with its product. Create a plan in the other product instead.',
        )
      const after = withChanges({ ...before, updatedAt: now }, changes)
      if (soldTermsDiffer(before, after) && (await planInUse(tx, business.id, id)))
        throw unprocessable(
          'plan_in_use',
          `The plan "${before.planName}" has live subscriptions, so its currency, type and billing period are fixed. Create another plan instead.`,
        )
      const plan = await store.updatePlan(tx, business.id, after)
      await emit(tx, event(business.id, 'plan_update', plan, now))
      return plan
    })
    .catch(error => {
      throw isUniqueViolation(error, 'billing_plan_code') ? codeTaken(changes.plan_code ?? '') : error
    })
}

export function deletePlan(db: Database, business: Business, id: string): Promise<PlanRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const { productId } = await getPlan(tx, business.id, id)
    await lockProductAlone(tx, business.id, productId)
    const plan = (await store.lockPlan(tx, business.id, id)) ?? fail(notFound('Plan'))
    if (await planInUse(tx, business.id, id))
      throw unprocessable(
        'plan_in_use',
        `The plan "${plan.planName}" has live subscriptions. Set plan_active to false to sell it no longer.`,
      )
    await store.hidePlan(tx, business.id, plan, now)
    await emit(tx, event(business.id, 'plan_delete', plan, now))
    return plan
  })
}

/** Spec silent: what a running subscription is reckoned by must not change under it; its price it keeps itself. */
const soldTermsDiffer = (a: PlanRow, b: PlanRow) =>
  a.currencyCode !== b.currencyCode ||
  a.planType !== b.planType ||
  a.billingPeriod !== b.billingPeriod ||
  a.billingPeriodNum !== b.billingPeriodNum ||
  a.billingCycle !== b.billingCycle ||
  a.billingCycleNum !== b.billingCycleNum

const codeTaken = (code: string) =>
  conflict('plan_code_taken', `Another plan of this product has the code "${code}". Choose another plan_code.`, [
    { field: 'plan_code', message: 'is taken' },
  ])

const blankPlan = (productId: string, currency: string, now: Date): PlanRow => ({
  id: newId(),
  productId,
  planName: '',
  planCode: '',
  planType: 'flat_fee',
  planActive: true,
  priceMinor: 0n,
  currencyCode: currency,
  billingPeriod: 'm',
  billingPeriodNum: 1,
  billingCycle: 'lifetime',
  billingCycleNum: null,
  trialPeriod: 0,
  trialType: 'day',
  setupFeeMinor: 0n,
  setupFeeType: '',
  customPaymentTerm: 0,
  failedPaymentGateway: '',
  failedPaymentGatewayArray: [],
  funnel: [],
  isMetered: false,
  planDescription: '',
  metaData: {},
  createdAt: now,
  updatedAt: now,
})

/** Spec silent: no longer than ten years, and all cycles together a thousand, so that every date a subscription can reach exists. */
const longestPeriod = { d: 3_660, w: 520, m: 120, y: 10 }
const mostCycles = 1_000

function withChanges(plan: PlanRow, changes: Static<typeof PlanChanges>): PlanRow {
  const billingPeriod = changes.billing_period ?? plan.billingPeriod
  const billingPeriodNum = readWhole(changes.billing_period_num ?? plan.billingPeriodNum, 'billing_period_num', {
    min: 1,
    max: longestPeriod[billingPeriod],
  })
  return {
    ...plan,
    ...amounts(plan, changes),
    planName: changes.plan_name ?? plan.planName,
    planCode: changes.plan_code ?? plan.planCode,
    planType: changes.plan_type ?? plan.planType,
    planActive: changes.plan_active === undefined ? plan.planActive : readFlag(changes.plan_active),
    billingPeriod,
    billingPeriodNum,
    ...cycle(plan, changes, Math.min(mostCycles, Math.floor((100 * longestPeriod[billingPeriod]) / billingPeriodNum))),
    trialPeriod: changes.trial_period ?? plan.trialPeriod,
    trialType: changes.trial_type ?? plan.trialType,
    setupFeeType: changes.setup_fee_type ?? plan.setupFeeType,
    customPaymentTerm: changes.custom_payment_term ?? plan.customPaymentTerm,
    failedPaymentGateway: changes.failed_payment_gateway ?? plan.failedPaymentGateway,
    failedPaymentGatewayArray: changes.failed_payment_gateway_array ?? plan.failedPaymentGatewayArray,
    funnel: changes.funnel ?? plan.funnel,
    isMetered: changes.is_metered ?? plan.isMetered,
    planDescription: changes.plan_description ?? plan.planDescription,
    metaData: changes.meta_data ?? plan.metaData,
  }
}

function amounts(plan: PlanRow, changes: Static<typeof PlanChanges>) {
  const currencyCode = changes.currency_code?.toUpperCase() ?? plan.currencyCode
  exponentOf(currencyCode)
  const carry = { from: plan.currencyCode, to: currencyCode }
  return {
    currencyCode,
    priceMinor: carryMinor(changes.price, { ...carry, minor: plan.priceMinor, field: 'price' }),
    setupFeeMinor: carryMinor(changes.setup_fee, { ...carry, minor: plan.setupFeeMinor, field: 'setup_fee' }),
  }
}

function cycle(plan: PlanRow, changes: Static<typeof PlanChanges>, max: number) {
  const billingCycle = changes.billing_cycle ?? plan.billingCycle
  if (billingCycle !== 'specific') return { billingCycle, billingCycleNum: null }
  const given = changes.billing_cycle_num ?? plan.billingCycleNum ?? ''
  if (given === '') throw invalidField('billing_cycle_num', 'is required when billing_cycle is specific')
  return { billingCycle, billingCycleNum: readWhole(given, 'billing_cycle_num', { min: 1, max }) }
}

export const showPlan = (row: PlanRow): Static<typeof PlanSchema> => ({
  id: row.id,
  product_id: row.productId,
  plan_name: row.planName,
  plan_code: row.planCode,
  plan_type: row.planType,
  plan_active: String(row.planActive),
  price: toMajor(row.priceMinor, row.currencyCode),
  currency_code: row.currencyCode,
  currency_symbol: currencySymbol(row.currencyCode),
  billing_period: row.billingPeriod,
  billing_period_num: String(row.billingPeriodNum),
  billing_cycle: row.billingCycle,
  billing_cycle_num: row.billingCycleNum === null ? '' : String(row.billingCycleNum),
  trial_period: row.trialPeriod,
  trial_type: row.trialType,
  setup_fee: toMajor(row.setupFeeMinor, row.currencyCode),
  setup_fee_type: row.setupFeeType,
  custom_payment_term: row.customPaymentTerm,
  failed_payment_gateway: row.failedPaymentGateway,
  failed_payment_gateway_array: row.failedPaymentGatewayArray,
  funnel: row.funnel,
  is_metered: row.isMetered,
  plan_description: row.planDescription,
  meta_data: row.metaData,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

const event = (businessId: string, type: string, plan: PlanRow, at: Date) =>
  ({ businessId, type, source: 'api', objectId: plan.id, data: showPlan(plan), at }) as const
