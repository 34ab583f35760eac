import type { Context } from '../context.ts'
import { type LocalDate, localDate } from '../dates.ts'
import { makeBill } from '../invoices/bill.ts'
import { draftInvoice, type NewInvoice } from '../invoices/issue.ts'
import { isRenewal } from '../invoices/receive.ts'
import type { LedgerAct } from '../ledger/ledger.ts'
import { min } from '../money.ts'
import { chooseTaxes } from '../taxes/tax-for.ts'
import { inPeriod, nextPeriod, periodsOver, restartedAt, skipped, stopped } from './periods.ts'
import { type BilledLine, creditFor, useLots } from './proration.ts'
import { chargeNow, couponUsed, inTrial } from './purchase.ts'
import type { Around } from './renewal-facts.ts'
import { isToBePaidByHand, withScheduled } from './scheduled.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import type * as changes from './store-changes.ts'
import { discountFrom, fromDay, sale, wholePeriod, withAdjusted } from './terms.ts'

/** What becomes of one subscription. */
export interface Step {
  row: SubscriptionRow
  /** billed add-ons whose figures changed, or the whole new set of a scheduled change */
  addons: SubscriptionAddon[]
  change: changes.ChangeRow | undefined
  /** more than the columns of a plain renewal changed */
  wide: boolean
  invoice: NewInvoice | undefined
  act: LedgerAct | undefined
  events: string[]
}

export function stepOf(context: Context, row: SubscriptionRow, around: Around): Step {
  const { now, business } = context
  const at = { now, timeZone: business.timeZone }
  const change = around.scheduled.get(row.id)
  const begun = row.periodNo > 0
  if (row.cancelAtEnd) return ended(context, row, change, { status: 'canceled', event: 'subscription_cancel' })
  // Another plan that waits for the end of the last cycle goes on with cycles of its own.
  const goesOn = change !== undefined && change.planId !== row.planId
  if (begun && !goesOn && row.cyclesLeft !== null && row.cyclesLeft <= leftOut(context, row, around))
    return ended(context, row, change, { status: 'expired', event: 'subscription_expire' })
  if (row.status === 'future' && row.trialDays > 0)
    return {
      row: { ...inTrial(row, row.anchorDate, at), updatedAt: now },
      addons: [],
      change: undefined,
      wide: true,
      invoice: undefined,
      act: undefined,
      events: [],
    }
  if (row.status === 'trial' && row.gateway !== 'offline' && row.paymentMethodId === null)
    return ended(context, row, change, { status: 'trial_expired', event: 'subscription_trial_expired' })
  return billed(context, row, around)
}

function ended(
  context: Context,
  row: SubscriptionRow,
  change: changes.ChangeRow | undefined,
  end: { status: 'canceled' | 'expired' | 'trial_expired'; event: string },
): Step {
  const { now } = context
  const canceledAt = end.status === 'canceled' ? now : row.canceledAt
  const last = stopped({ ...row, canceledAt, deferredMinor: 0n }, end.status, now)
  const act = row.deferredMinor > 0n ? earned(row, now) : undefined
  return { row: last, addons: [], change, wide: true, invoice: undefined, act, events: [end.event] }
}

/** The service of a term that ended is delivered. */
export const earned = (row: SubscriptionRow, at: Date): LedgerAct => ({
  sourceKey: `earned:${row.id}:${row.periodNo}`,
  at,
  customerId: row.customerId,
  subscriptionId: row.id,
  currency: row.currency,
  accounts: { deferred: row.deferredMinor, revenue: -row.deferredMinor },
})

function billed(context: Context, before: SubscriptionRow, around: Around): Step {
  const { now, business } = context
  const { timeZone } = business
  const customer = around.customers.get(before.customerId)!
  const change = around.scheduled.get(before.id)
  const changed = change
    ? withScheduled(before, change, {
        plan: around.plans.get(change.planId)!,
        coupon: around.coupons.get(String(change.terms.couponId)),
        card: around.cards.get(String(change.terms.cardId)),
      })
    : { row: before, addons: around.chosen.get(before.id) ?? [] }
  const term = retimed(before, changed.row)
  const unused = term.couponLeft === 0 && term.couponId !== null && term.periodNo > 0
  const current = skipped(term, leftOut(context, term, around))
  const terms: SubscriptionRow = unused ? { ...current, couponId: null, couponLeft: null } : current
  const period = nextPeriod(terms)
  const plan = around.plans.get(terms.planId)!
  const chosen = changed.addons.map(addon => fromDay(addon, terms, period.start))
  const sold = sale(terms, chosen, wholePeriod(period.start, period.end), plan)
  const coupon = terms.couponId === null ? undefined : around.coupons.get(terms.couponId)
  const address = customer.billingAddress
  const place = { country: address.country, state: address.state, stateCode: address.state_code }
  const bill = makeBill(sold.items, discountFrom(coupon), customer.taxExempt ? [] : chooseTaxes(around.taxes, place))
  const uses = useLots(around.lots.get(before.id) ?? [], bill.totalMinor)
  const addons = withAdjusted(sold.addons, bill.lines)
  const status = before.status === 'dunning' ? 'dunning' : 'live'
  const unearned = stillToDeliver(before, around, { addons, on: period.start })
  const paid = couponUsed({ ...terms, status, setupFeeDue: false, deferredMinor: unearned + bill.netMinor })
  const row = inPeriod(paid, period, { now, timeZone })
  const resumed = before.periodEnd !== null && before.periodEnd !== period.start
  const invoice = draftInvoice({
    kind: resumed ? 'resume' : 'renewal',
    subscription: row,
    addons,
    customer,
    bill,
    uses,
    period,
    term: row.paymentTerm,
    creditNote: null,
    now,
    timeZone,
    earnedMinor: before.deferredMinor - unearned,
  })
  const how = chargeNow(isToBePaidByHand(change) ? 'offline' : row.gateway, invoice.row.dueMinor, row.currency)
  // Whether crumbs are enough, together with what was carried to them, is looked at when they come to be charged.
  invoice.row.chargeAt = how === 'charge' || how === 'carry' ? now : null
  invoice.row.carried = how === 'carry'
  const touched = change ? addons : addons.filter((addon, i) => isChanged(addon, changed.addons[i]))
  const wide = change !== undefined || before.status === 'future' || before.status === 'trial' || resumed
  const events = invoice.row.chargeAt !== null || !isRenewal(invoice.row) ? [] : ['subscription_renew']
  if (change) events.push(`subscription_${change.updateType}`)
  return { row, addons: touched, change, wide, invoice, act: undefined, events }
}

/** What an add-on was paid for beyond this date is earned in its own time, by day, as it would be credited. */
function stillToDeliver(
  before: SubscriptionRow,
  { running }: Around,
  { addons, on }: { addons: readonly SubscriptionAddon[]; on: LocalDate },
): bigint {
  const lines = (running.get(before.id) ?? []).filter(line => addons.some(addon => addon.addonId === line.itemId))
  return min(before.deferredMinor, creditFor(lines as BilledLine[], on).netMinor)
}

const isChanged = (after: SubscriptionAddon, before: SubscriptionAddon | undefined) =>
  after.paidPeriods !== before?.paidPeriods ||
  after.adjustedMinor !== before.adjustedMinor ||
  after.anchorDate !== before.anchorDate

/** How many periods passed without being billed and will not be, because the business wants only the running one. */
function leftOut({ now, business }: Context, row: SubscriptionRow, { settings }: Around): number {
  return settings.missedPeriods === 'bill_all' || row.periodNo === 0
    ? 0
    : periodsOver(row, localDate(now, business.timeZone))
}

/** Another rhythm begins where the old term ends. */
function retimed(before: SubscriptionRow, after: SubscriptionRow): SubscriptionRow {
  const same = before.periodUnit === after.periodUnit && before.periodCount === after.periodCount
  if (same || before.periodEnd === null || before.anchorPeriodNo > before.periodNo) return after
  return restartedAt(after, before.periodEnd)
}
