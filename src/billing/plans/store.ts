import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { among, type Id } from '../store-among.ts'
import { countRows } from '../store-count.ts'

export interface PlanRow {
  id: string
  productId: string
  planName: string
  planCode: string
  planType: 'flat_fee' | 'per_unit' | 'donation' | 'variable'
  planActive: boolean
  priceMinor: bigint
  currencyCode: string
  billingPeriod: 'd' | 'w' | 'm' | 'y'
  billingPeriodNum: number
  billingCycle: 'lifetime' | 'specific' | 'onetime'
  /** periods, when the cycle is specific */
  billingCycleNum: number | null
  trialPeriod: number
  trialType: 'day' | 'week' | 'month'
  setupFeeMinor: bigint
  setupFeeType: string
  customPaymentTerm: number
  failedPaymentGateway: string
  failedPaymentGatewayArray: string[]
  funnel: unknown[]
  isMetered: boolean
  planDescription: string
  metaData: Record<string, unknown>
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, product_id as "productId", plan_name as "planName", plan_code as "planCode", plan_type as "planType",
  plan_active as "planActive", price_minor as "priceMinor", currency_code as "currencyCode",
  billing_period as "billingPeriod", billing_period_num as "billingPeriodNum", billing_cycle as "billingCycle",
  billing_cycle_num as "billingCycleNum", trial_period as "trialPeriod", trial_type as "trialType",
  setup_fee_minor as "setupFeeMinor", setup_fee_type as "setupFeeType", custom_payment_term as "customPaymentTerm",
  failed_payment_gateway as "failedPaymentGateway", failed_payment_gateway_array as "failedPaymentGatewayArray", funnel,
  is_metered as "isMetered", plan_description as "planDescription", meta_data as "metaData",
  created_at as "createdAt", updated_at as "updatedAt"`

const values = (tx: Tx, plan: PlanRow) => ({
  plan_name: plan.planName,
  plan_code: plan.planCode,
  plan_type: plan.planType,
  plan_active: plan.planActive,
  price_minor: plan.priceMinor,
  currency_code: plan.currencyCode,
  billing_period: plan.billingPeriod,
  billing_period_num: plan.billingPeriodNum,
  billing_cycle: plan.billingCycle,
  billing_cycle_num: plan.billingCycleNum,
  trial_period: plan.trialPeriod,
  trial_type: plan.trialType,
  setup_fee_minor: plan.setupFeeMinor,
  setup_fee_type: plan.setupFeeType,
  custom_payment_term: plan.customPaymentTerm,
  failed_payment_gateway: plan.failedPaymentGateway,
  failed_payment_gateway_array: tx.json(plan.failedPaymentGatewayArray),
  funnel: tx.json(plan.funnel as never),
  is_metered: plan.isMetered,
  plan_description: plan.planDescription,
  meta_data: tx.json(plan.metaData as never),
  updated_at: plan.updatedAt,
})

/** Undefined when the code is taken in the product. */
export const insertPlan = (tx: Tx, businessId: string, plan: PlanRow) => {
  const row = { business_id: businessId, id: plan.id, product_id: plan.productId, created_at: plan.createdAt }
  return tx<PlanRow[]>`
    insert into billing_plan ${tx({ ...row, ...values(tx, plan) })}
    on conflict (business_id, product_id, plan_code) where deleted_at is null do nothing
    returning ${columns(tx)}`.then(first)
}

export const findPlan = (db: Db, businessId: string, id: string) =>
  db<PlanRow[]>`
  select ${columns(db)} from billing_plan
  where business_id = ${businessId} and id = ${id} and deleted_at is null`.then(first)

/** Even if it is deleted, for what was sold before. */
export const findSoldPlan = (db: Db, businessId: string, id: Id) =>
  db<PlanRow[]>`
  select ${columns(db)} from billing_plan where business_id = ${businessId} and id = ${id}`.then(first)

/** Also deleted ones, for what was sold before. */
export const plansByIds = (db: Db, businessId: string, ids: readonly string[]) => db<PlanRow[]>`
  select ${columns(db)} from billing_plan where business_id = ${businessId} and id ${among(db, ids)}`

/** Those of the given plans that the product sells. */
export const plansOfProductAmong = (db: Db, businessId: string, productId: string, ids: readonly string[]) => db<
  PlanRow[]
>`
  select ${columns(db)} from billing_plan
  where business_id = ${businessId} and product_id = ${productId} and id ${among(db, ids)} and deleted_at is null`

export const lockPlan = (tx: Tx, businessId: string, id: string) =>
  tx<PlanRow[]>`
  select ${columns(tx)} from billing_plan
  where business_id = ${businessId} and id = ${id} and deleted_at is null for update`.then(first)

export async function pageOfPlans(
  db: Db,
  businessId: string,
  productId: string | undefined,
  page: PageRequest,
): Promise<Page<PlanRow>> {
  const where = db`business_id = ${businessId} and deleted_at is null
    ${productId === undefined ? db`` : db`and product_id = ${productId}`}`
  const [rows, total] = await Promise.all([
    db<PlanRow[]>`
      select ${columns(db)} from billing_plan where ${where} order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_plan where ${where}`),
  ])
  return { rows, total }
}

/** The currencies that the product's plans are sold in. */
export const currenciesOfProduct = (db: Db, businessId: string, productId: string) => db<{ currency: string }[]>`
  select distinct currency_code as currency from billing_plan
  where business_id = ${businessId} and product_id = ${productId} and deleted_at is null limit 2`

export const updatePlan = (tx: Tx, businessId: string, plan: PlanRow) =>
  tx<PlanRow[]>`
  update billing_plan set ${tx(values(tx, plan))} where business_id = ${businessId} and id = ${plan.id}
  returning ${columns(tx)}`.then(only)

/** Spec silent: the row stays for what was sold before; whatever offered the plan offers it no longer. */
export async function hidePlan(tx: Tx, businessId: string, plan: PlanRow, now: Date): Promise<void> {
  for (const table of ['billing_addon', 'billing_coupon', 'billing_multiplan'])
    await tx`
      update ${tx(table)} set plan_ids = array_remove(plan_ids, ${plan.id})
      where business_id = ${businessId} and product_id = ${plan.productId} and ${plan.id} = any(plan_ids)`
  await tx`
    update billing_multiplan set preferred_plan_id = null
    where business_id = ${businessId} and product_id = ${plan.productId} and preferred_plan_id = ${plan.id}`
  await tx`update billing_plan set deleted_at = ${now} where business_id = ${businessId} and id = ${plan.id}`
}
