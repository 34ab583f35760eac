import { invalidField } from '../../platform/problem.ts'
import { checkAddonForPlan } from '../addons/addons.ts'
import type { AddonRow } from '../addons/store.ts'
import type { CouponRow } from '../coupons/store.ts'
import { boundary, daysBetween, type LocalDate, type PeriodUnit } from '../dates.ts'
import { readWhole } from '../fields.ts'
import type { Discount, Item } from '../invoices/bill.ts'
import type { PlanRow } from '../plans/store.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'

/** What is sold in a subscription, and what that comes to for a stretch of time. */

const maxQuantity = 100_000
const maxAddons = 100

export const readQuantity = (value: number | string | undefined, field = 'quantity'): number | undefined =>
  value === undefined || value === '' ? undefined : readWhole(value, field, { min: 1, max: maxQuantity })

/** Only per-unit plans are multiplied; other kinds show their quantity. */
export const planTotal = (terms: Pick<SubscriptionRow, 'planType' | 'unitPriceMinor' | 'quantity'>): bigint =>
  terms.planType === 'per_unit' ? terms.unitPriceMinor * BigInt(terms.quantity) : terms.unitPriceMinor

/** How many periods the plan is billed in all; null: without end. */
export const cyclesOf = (plan: PlanRow): number | null =>
  plan.billingCycle === 'onetime' ? 1 : plan.billingCycle === 'specific' ? plan.billingCycleNum : null

/** Days of the trial that begins on this date. */
export function trialDaysOf(plan: PlanRow, start: LocalDate): number {
  if (plan.trialPeriod === 0) return 0
  const unit: PeriodUnit = plan.trialType === 'month' ? 'm' : plan.trialType === 'week' ? 'w' : 'd'
  return daysBetween(start, boundary(start, unit, plan.trialPeriod, 1))
}

export interface AddonChoice {
  addonId: string
  quantity: number
}

/** JSON text or the value itself; a list, or an object keyed by id in which `checked: false` means not chosen. */
export function readAddons(value: unknown): AddonChoice[] | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const parsed = typeof value === 'string' ? parseJson(value) : value
  if (typeof parsed !== 'object' || parsed === null) throw wrongAddons()
  const entries: [unknown, unknown][] = Array.isArray(parsed)
    ? parsed.map(item => [item?.addon_id ?? item?.id, item])
    : Object.entries(parsed).filter(([, item]) => String(item?.checked ?? true) !== 'false')
  if (entries.length > maxAddons) throw invalidField('addons', `must have at most ${maxAddons} items`)
  const choices = entries.map(([id, item]) => {
    if (typeof id !== 'string' || id === '' || typeof item !== 'object' || item === null) throw wrongAddons()
    const quantity = (item as { quantity?: unknown }).quantity ?? 1
    if (typeof quantity !== 'number' && typeof quantity !== 'string') throw wrongAddons()
    return { addonId: id, quantity: readQuantity(quantity, `addons.${id}.quantity`) ?? 1 }
  })
  if (new Set(choices.map(choice => choice.addonId)).size < choices.length)
    throw invalidField('addons', 'must name each add-on once')
  return choices
}

const wrongAddons = () =>
  invalidField(
    'addons',
    'must be [{ "addon_id": …, "quantity": … }] or { "<addon id>": { "checked": true, "quantity": … } }',
  )

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw wrongAddons()
  }
}

/** The chosen add-ons as the subscription keeps them, at today's price. */
export function sellAddons(
  choices: readonly AddonChoice[],
  rows: readonly AddonRow[],
  plan: PlanRow,
  on: LocalDate,
): SubscriptionAddon[] {
  return rows.map((addon, i) => {
    checkAddonForPlan(addon, plan)
    return {
      subscriptionId: '',
      addonId: addon.id,
      quantity: choices[i]!.quantity,
      unitPriceMinor: addon.priceMinor,
      name: addon.name,
      billingCycle: addon.billingCycle,
      periodUnit: addon.billingPeriod,
      periodCount: addon.billingPeriodNum,
      anchorDate: on,
      paidPeriods: 0,
      adjustedMinor: 0n,
    }
  })
}

/** One that stays as it is stays; of one that is sold once and was billed, only what is new is billed. */
export function chosenAgain(addon: SubscriptionAddon, before: readonly SubscriptionAddon[]): SubscriptionAddon {
  const had = before.find(one => one.addonId === addon.addonId)
  if (!had) return addon
  if (had.quantity === addon.quantity) return had
  if (had.billingCycle !== 'onetime' || had.paidPeriods === 0) return addon
  return addon.quantity < had.quantity
    ? { ...had, quantity: addon.quantity }
    : { ...addon, unbilled: addon.quantity - had.quantity }
}

/** Nothing of it is to be billed any more. */
export const isBilledOnce = (addon: SubscriptionAddon): boolean =>
  addon.billingCycle === 'onetime' && addon.paidPeriods > 0

type Rhythm = Pick<SubscriptionRow, 'periodUnit' | 'periodCount'>

/** Billed with the plan, for the same time. */
export const sharesRhythm = (addon: SubscriptionAddon, terms: Rhythm): boolean =>
  addon.billingCycle === 'lifetime' && addon.periodUnit === terms.periodUnit && addon.periodCount === terms.periodCount

/** Billed in whole periods of its own, which may last beyond a term of the plan. */
export const hasOwnRhythm = (addon: SubscriptionAddon, terms: Rhythm): boolean =>
  addon.billingCycle === 'lifetime' && !sharesRhythm(addon, terms)

/**
 * As a term that begins on this day bills it. One with a period of its own that is not paid up to then begins with the term: what
 * lies before was paid with the plan, or was not delivered.
 */
export function fromDay(addon: SubscriptionAddon, terms: Rhythm, day: LocalDate): SubscriptionAddon {
  if (!hasOwnRhythm(addon, terms)) return addon
  const paidUntil = boundary(addon.anchorDate, addon.periodUnit, addon.periodCount, addon.paidPeriods)
  return paidUntil < day ? { ...addon, anchorDate: day, paidPeriods: 0 } : addon
}

export interface Stretch {
  start: LocalDate
  end: LocalDate
  billDays: number
  periodDays: number
}

export const wholePeriod = (start: LocalDate, end: LocalDate): Stretch => {
  const days = daysBetween(start, end)
  return { start, end, billDays: days, periodDays: days }
}

export interface Sale {
  items: Item[]
  /** add-ons as they stand once this is billed; their adjusted amount is set from the bill */
  addons: SubscriptionAddon[]
}

/**
 * What a stretch of time costs. An add-on with another period than the plan's is billed in whole periods of its own,
 * in advance, until it covers the stretch; one that is sold once is billed the first time only.
 */
export function sale(
  terms: SubscriptionRow,
  addons: readonly SubscriptionAddon[],
  stretch: Stretch,
  plan: Pick<PlanRow, 'planName'>,
): Sale {
  const items: Item[] = [
    {
      kind: 'plan',
      itemId: terms.planId,
      description: plan.planName,
      quantity: terms.quantity,
      unitPriceMinor: terms.unitPriceMinor,
      fullMinor: planTotal(terms),
      ...stretch,
    },
  ]
  const after = addons.map(addon => {
    const once = {
      kind: 'addon' as const,
      itemId: addon.addonId,
      description: addon.name,
      quantity: addon.quantity,
      unitPriceMinor: addon.unitPriceMinor,
      fullMinor: addon.unitPriceMinor * BigInt(addon.quantity),
    }
    if (sharesRhythm(addon, terms)) {
      items.push({ ...once, ...stretch })
      return addon
    }
    if (addon.billingCycle === 'onetime') {
      if (addon.paidPeriods > 0) return addon
      const { unbilled: quantity = addon.quantity, ...sold } = addon
      const fullMinor = addon.unitPriceMinor * BigInt(quantity)
      items.push({ ...once, quantity, fullMinor, start: null, end: null, billDays: 1, periodDays: 1 })
      return { ...sold, paidPeriods: 1 }
    }
    const paidPeriods = periodsToCover(addon, stretch.end)
    if (paidPeriods <= addon.paidPeriods) return addon
    items.push({
      ...once,
      fullMinor: once.fullMinor * BigInt(paidPeriods - addon.paidPeriods),
      start: boundary(addon.anchorDate, addon.periodUnit, addon.periodCount, addon.paidPeriods),
      end: boundary(addon.anchorDate, addon.periodUnit, addon.periodCount, paidPeriods),
      billDays: 1,
      periodDays: 1,
    })
    return { ...addon, paidPeriods }
  })
  if (terms.setupFeeDue && terms.setupFeeMinor > 0n)
    items.push({
      kind: 'setup_fee',
      itemId: terms.planId,
      description: `Setup fee: ${plan.planName}`,
      quantity: 1,
      unitPriceMinor: terms.setupFeeMinor,
      fullMinor: terms.setupFeeMinor,
      start: null,
      end: null,
      billDays: 1,
      periodDays: 1,
    })
  return { items, addons: after }
}

function periodsToCover(addon: SubscriptionAddon, until: LocalDate): number {
  let periods = addon.paidPeriods
  while (boundary(addon.anchorDate, addon.periodUnit, addon.periodCount, periods) < until) periods++
  return periods
}

/** Add-ons with what they cost on this bill; one that was not billed keeps its last amount. */
export const withAdjusted = (
  addons: readonly SubscriptionAddon[],
  lines: readonly { kind: string; itemId: string; netMinor: bigint }[],
): SubscriptionAddon[] =>
  addons.map(addon => {
    const line = lines.find(one => one.kind === 'addon' && one.itemId === addon.addonId)
    return line ? { ...addon, adjustedMinor: line.netMinor } : addon
  })

export const discountFrom = (coupon: CouponRow | undefined): Discount | undefined =>
  coupon && { applyTo: coupon.applyTo, ppm: coupon.discountPpm, minor: coupon.discountMinor }

/** On how many invoices a newly given coupon counts; null: on all. */
export const invoicesOf = (coupon: CouponRow): number | null =>
  coupon.redemptionType === 'forever'
    ? null
    : coupon.redemptionType === 'onetime'
      ? 1
      : Math.max(1, coupon.redemptionCycle)
