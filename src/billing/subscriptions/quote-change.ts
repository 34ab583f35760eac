import { newId } from '../../platform/ids.ts'
import type { CouponRow } from '../coupons/store.ts'
import { boundary, daysBetween, type LocalDate } from '../dates.ts'
import { type Bill, makeBill, recurringTotal, type TaxRate } from '../invoices/bill.ts'
import type { CreditNote } from '../invoices/schema.ts'
import type { StoredLine } from '../invoices/store.ts'
import { majorText, sum, toMajor } from '../money.ts'
import type { PlanRow } from '../plans/store.ts'
import type { Settings } from '../settings/store.ts'
import { type Period, restartedAt } from './periods.ts'
import {
  type BilledLine,
  type Credit,
  creditFor,
  directionOf,
  type LotUse,
  type Offset,
  type OpenLot,
  offsetsOf,
  useLots,
} from './proration.ts'
import { couponUsed } from './purchase.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import {
  cyclesOf,
  discountFrom,
  isBilledOnce,
  planTotal,
  type Sale,
  type Stretch,
  sale,
  sharesRhythm,
  withAdjusted,
} from './terms.ts'

/**
 * What an immediate change of plan comes to: credit for what is not used, the bill for the new plan, and what is left
 * to charge. Pure: a preview and the change itself are the same computation on the same stored lines.
 */

export interface NewTerms {
  plan: PlanRow
  quantity: number
  unitPriceMinor: bigint
  addons: SubscriptionAddon[]
  coupon: CouponRow | undefined
  /** invoices after this one on which the coupon counts */
  couponLeft: number | null
  setupFeeMinor: bigint
  updateReason: string
}

export interface ChangeInput {
  subscription: SubscriptionRow
  addons: readonly SubscriptionAddon[]
  plan: PlanRow
  coupon: CouponRow | undefined
  next: NewTerms
  on: LocalDate
  /** lines that still pay for time after the change */
  lines: readonly StoredLine[]
  dueByInvoice: ReadonlyMap<string, bigint>
  lots: readonly OpenLot[]
  rates: readonly TaxRate[]
  settings: Pick<Settings, 'restartOnChange' | 'endTrialOnChange'>
}

export interface ChangeQuote {
  updateType: 'upgrade' | 'downgrade'
  /** the subscription under its new terms; its moments are set when it is applied */
  subscription: SubscriptionRow
  addons: SubscriptionAddon[]
  /** the period that a restart opens; null when the running one is kept */
  period: Period | null
  bill: Bill
  credit: Credit
  offsets: Offset[]
  newLot: { id: string; amountMinor: bigint } | undefined
  uses: LotUse[]
  chargeMinor: bigint
  creditNote: CreditNote
}

export function quoteChange(input: ChangeInput): ChangeQuote {
  const { subscription, next, on } = input
  const began = subscription.periodEnd !== null
  const endsTrial = !began && input.settings.endTrialOnChange
  const onTrial = !began && !endsTrial
  const restart = endsTrial || (began && restarts(input))
  const changed = withTerms(subscription, next, { onTrial: !began })
  const first = endsTrial ? firstPeriodUsed(changed) : changed
  const moved = restart ? restartedAt(first, on) : first
  const period = restart ? openedAt(moved, on) : null
  const kept = input.addons.filter(addon => keepsRunning(addon, subscription, moved, next.addons))
  const sold = soldFrom(input, moved, kept, period)
  const bill = makeBill(sold.items, discountFrom(next.coupon), onTrial ? [] : input.rates)
  const credit = creditFor(creditable(input.lines, input.addons, kept), on)
  const offsets = offsetsOf(credit, input.dueByInvoice)
  const newCreditMinor = credit.netMinor + credit.taxMinor - sum(offsets.map(offset => offset.amountMinor))
  const newLot = newCreditMinor > 0n ? { id: newId(), amountMinor: newCreditMinor } : undefined
  const lots = newLot ? [...input.lots, { id: newLot.id, balanceMinor: newLot.amountMinor }] : input.lots
  const uses = useLots(lots, bill.totalMinor)
  const chargeMinor = bill.totalMinor - sum(uses.map(use => use.amountMinor))
  const updateType = directionFor(input, moved, period)
  const addons = withAdjusted(sold.addons, bill.lines)
  const quote = { updateType, addons, period, bill, credit, offsets, newLot, uses, chargeMinor }
  const named = { ...moved, updateType, updateReason: next.updateReason }
  return { ...quote, subscription: named, creditNote: noteOf(input, { ...quote, subscription: named, lots }) }
}

/** Another rhythm begins with the change. A quantity or price on the same plan never moves the billing date. */
function restarts({ subscription, next, settings }: ChangeInput): boolean {
  const { plan } = next
  return (
    plan.billingPeriod !== subscription.periodUnit ||
    plan.billingPeriodNum !== subscription.periodCount ||
    (settings.restartOnChange && plan.id !== subscription.planId)
  )
}

/** A trial that ends with the change is followed by the first period, which spends a cycle and an invoice of the coupon. */
const firstPeriodUsed = (row: SubscriptionRow): SubscriptionRow =>
  couponUsed({ ...row, cyclesLeft: row.cyclesLeft === null ? null : Math.max(0, row.cyclesLeft - 1) })

/** The terms of the subscription after a change, now or at the end of the term. */
export function withTerms(row: SubscriptionRow, next: NewTerms, { onTrial }: { onTrial: boolean }): SubscriptionRow {
  const samePlan = next.plan.id === row.planId
  const cycles = cyclesOf(next.plan)
  return {
    ...row,
    planId: next.plan.id,
    planType: next.plan.planType,
    quantity: next.quantity,
    unitPriceMinor: next.unitPriceMinor,
    setupFeeMinor: next.setupFeeMinor > 0n ? next.setupFeeMinor : row.setupFeeMinor,
    setupFeeDue: next.setupFeeMinor > 0n || (onTrial && row.setupFeeDue && samePlan),
    periodUnit: next.plan.billingPeriod,
    periodCount: next.plan.billingPeriodNum,
    // The running period counts as the first of the new plan's cycles.
    cyclesLeft: samePlan ? row.cyclesLeft : cycles === null ? null : onTrial ? cycles : cycles - 1,
    couponId: next.coupon?.id ?? null,
    couponLeft: next.coupon ? next.couponLeft : null,
    updateReason: next.updateReason,
  }
}

const openedAt = (row: SubscriptionRow, on: LocalDate): Period => ({
  no: row.anchorPeriodNo,
  start: on,
  end: boundary(on, row.periodUnit, row.periodCount, 1),
})

/** An add-on with a period of its own that stays as it is runs on untouched: neither credited nor billed again. */
const keepsRunning = (
  addon: SubscriptionAddon,
  before: SubscriptionRow,
  after: SubscriptionRow,
  chosen: readonly SubscriptionAddon[],
): boolean =>
  !sharesRhythm(addon, before) &&
  !sharesRhythm(addon, after) &&
  chosen.some(one => one.addonId === addon.addonId && one.quantity === addon.quantity)

/**
 * The current segment: what the newest invoice with a plan line billed, and what older ones billed for add-ons with a period of
 * their own, for days that no newer one billed again. What an earlier change replaced or left out was credited then, and counts
 * as used no more.
 */
function creditable(
  lines: readonly StoredLine[],
  addons: readonly SubscriptionAddon[],
  kept: readonly SubscriptionAddon[],
): BilledLine[] {
  const current = lines.findLast(line => line.kind === 'plan')?.invoiceId
  const isBilledAgain = (line: StoredLine, i: number) =>
    lines.slice(i + 1).some(newer => newer.itemId === line.itemId && newer.start! < line.end!)
  const runsOn = (line: StoredLine, i: number) =>
    addons.some(addon => addon.addonId === line.itemId && addon.anchorDate <= line.start!) && !isBilledAgain(line, i)
  return lines
    .filter((line, i) => line.invoiceId === current || (line.kind === 'addon' && runsOn(line, i)))
    .filter(line => !(line.kind === 'addon' && kept.some(addon => addon.addonId === line.itemId)))
    .map(line => ({ ...line, start: line.start!, end: line.end! }))
}

function soldFrom(
  input: ChangeInput,
  after: SubscriptionRow,
  kept: readonly SubscriptionAddon[],
  period: Period | null,
): Sale {
  const { subscription, next, on } = input
  const begun = (addon: SubscriptionAddon) =>
    isBilledOnce(addon) ? addon : { ...addon, anchorDate: on, paidPeriods: 0 }
  const addons = next.addons.map(addon => kept.find(one => one.addonId === addon.addonId) ?? begun(addon))
  // On trial nothing is billed before it ends; one-time add-ons and the setup fee wait for the first bill too.
  if (subscription.periodEnd === null && !period)
    return { items: [], addons: addons.map(one => ({ ...one, anchorDate: after.anchorDate })) }
  return sale(after, addons, stretchOf(subscription, on, period), next.plan)
}

function stretchOf(subscription: SubscriptionRow, on: LocalDate, period: Period | null): Stretch {
  if (period) {
    const days = daysBetween(period.start, period.end)
    return { start: period.start, end: period.end, billDays: days, periodDays: days }
  }
  const [start, end] = [subscription.periodStart!, subscription.periodEnd!]
  return { start: on, end, billDays: daysBetween(on, end), periodDays: daysBetween(start, end) }
}

function directionFor(input: ChangeInput, after: SubscriptionRow, period: Period | null): 'upgrade' | 'downgrade' {
  const { subscription, on } = input
  const start = subscription.periodStart ?? subscription.anchorDate
  const end = subscription.periodEnd ?? boundary(start, subscription.periodUnit, subscription.periodCount, 1)
  const before = { start, end, billDays: 1, periodDays: 1 }
  const next = period ?? {
    start: subscription.periodStart ?? on,
    end: subscription.periodEnd ?? boundary(on, after.periodUnit, after.periodCount, 1),
  }
  const total = (
    row: SubscriptionRow,
    addons: readonly SubscriptionAddon[],
    stretch: Stretch,
    coupon: CouponRow | undefined,
  ) =>
    recurringTotal(
      sale(
        { ...row, setupFeeDue: false },
        addons.filter(addon => sharesRhythm(addon, row)),
        stretch,
        { planName: '' },
      ).items,
      discountFrom(coupon),
    )
  return directionOf(
    {
      totalMinor: total(after, input.next.addons, { ...before, ...next }, input.next.coupon),
      days: daysBetween(next.start, next.end),
    },
    { totalMinor: total(subscription, input.addons, before, input.coupon), days: daysBetween(start, end) },
  )
}

function noteOf(input: ChangeInput, quote: Omit<ChangeQuote, 'creditNote'> & { lots: readonly OpenLot[] }): CreditNote {
  const { subscription, plan, next, on } = input
  const { currency } = subscription
  const major = (minor: bigint) => toMajor(minor, currency)
  const planLine = input.lines.findLast(line => line.kind === 'plan')
  const segment = planLine?.start && planLine.end ? planLine : trialSegment(subscription)
  const used = segment ? Math.max(0, daysBetween(segment.start!, on)) : 0
  return {
    total_tax: majorText(quote.bill.taxMinor, currency),
    current_plan_name: plan.planName,
    current_plan_price: major(subscription.unitPriceMinor),
    current_plan_quantity: subscription.quantity,
    current_plan_total: major(planTotal(subscription)),
    new_plan_name: next.plan.planName,
    new_plan_price: major(next.unitPriceMinor),
    new_plan_total: majorText(quote.bill.netMinor, currency),
    update_type: quote.updateType,
    transaction_note: `${quote.updateType === 'upgrade' ? 'Upgraded' : 'Downgraded'} from ${plan.planName} to ${next.plan.planName} on ${on}.`,
    used_amount: major(quote.credit.usedMinor),
    used_days: used,
    remaining_days: segment ? Math.max(0, daysBetween(on, segment.end!)) : 0,
    new_credits: major(quote.newLot?.amountMinor ?? 0n),
    total_credit_amount: major(sum(quote.lots.map(lot => lot.balanceMinor))),
    charge_amount: major(quote.chargeMinor),
    credit_applied: quote.uses.map(use => ({
      id: use.lotId,
      amount: major(use.amountMinor),
      deducted_from: major(use.fromMinor),
      remaining_amount: major(use.fromMinor - use.amountMinor),
    })),
  }
}

const trialSegment = (row: SubscriptionRow) =>
  row.trialStart === null ? undefined : { start: row.trialStart, end: row.anchorDate }
