import { sendAlong, type Tx } from '../../platform/database.ts'
import type { Context } from '../context.ts'
import type { CouponRow } from '../coupons/store.ts'
import type { CustomerRow } from '../customers/store.ts'
import { addDays, addYears, type LocalDate, startOfDay } from '../dates.ts'
import { write } from '../deed.ts'
import { minCharge } from '../gateways/registry.ts'
import { makeBill, type TaxRate } from '../invoices/bill.ts'
import { draftInvoice, issueDraft, keep, type NewInvoice, writeDraft } from '../invoices/issue.ts'
import { activate } from '../invoices/receive.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import type { PlanRow } from '../plans/store.ts'
import { type Scene, saveSubscription, sceneOf, tellInvoice } from '../scene.ts'
import { taxFor } from '../taxes/tax-for.ts'
import { inPeriod, nextPeriod } from './periods.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import { discountFrom, sale, wholePeriod, withAdjusted } from './terms.ts'

/** The first bill of a subscription: by card it is a draft until the money is there, offline it is issued at once. */

export const taxesOf = (db: Tx | Context['db'], businessId: string, customer: CustomerRow): Promise<TaxRate[]> =>
  taxFor(db, businessId, {
    country: customer.billingAddress.country,
    state: customer.billingAddress.state,
    stateCode: customer.billingAddress.state_code,
    taxExempt: customer.taxExempt,
  })

const reminderMs = 7 * 86_400_000

/** The anchor of all periods is the end of the trial; nothing is billed before. */
export function inTrial(
  row: SubscriptionRow,
  start: LocalDate,
  { now, timeZone }: { now: Date; timeZone: string },
): SubscriptionRow {
  const end = addDays(start, row.trialDays)
  const endAt = startOfDay(end, timeZone)
  const remindAt = new Date(endAt.getTime() - reminderMs)
  return {
    ...row,
    status: 'trial',
    trialStart: start,
    trialExpiryAt: endAt,
    anchorDate: end,
    activationAt: endAt,
    nextBillingAt: endAt,
    remindAt: remindAt > now ? remindAt : null,
    expiryAt: startOfDay(addYears(end, 100), timeZone),
  }
}

/** A coupon counts on this invoice, and on one less after it. */
export const couponUsed = (row: SubscriptionRow): SubscriptionRow =>
  row.couponLeft === null ? row : { ...row, couponLeft: Math.max(0, row.couponLeft - 1) }

export interface Purchase {
  invoice: NewInvoice
  /** once the invoice holds */
  subscription: SubscriptionRow
  addons: SubscriptionAddon[]
}

export function firstBill(
  context: Context,
  parts: {
    row: SubscriptionRow
    addons: readonly SubscriptionAddon[]
    plan: PlanRow
    customer: CustomerRow
    coupon: CouponRow | undefined
    rates: readonly TaxRate[]
  },
): Purchase {
  const { row, plan, customer, coupon, rates } = parts
  const { now, business } = context
  const period = nextPeriod(row)
  const sold = sale(row, parts.addons, wholePeriod(period.start, period.end), plan)
  const bill = makeBill(sold.items, discountFrom(coupon), rates)
  const addons = withAdjusted(sold.addons, bill.lines)
  const paid = couponUsed({ ...row, status: 'live', setupFeeDue: false, deferredMinor: bill.netMinor })
  const subscription = inPeriod(paid, period, { now, timeZone: business.timeZone })
  const invoice = draftInvoice({
    kind: 'purchase',
    subscription,
    addons,
    customer,
    bill,
    uses: [],
    period,
    term: row.paymentTerm,
    creditNote: null,
    now,
    timeZone: business.timeZone,
    earnedMinor: 0n,
  })
  return { invoice, subscription, addons }
}

/**
 * Is this amount to be charged now? Offline money is awaited, nothing needs no charge, and crumbs wait for the next invoice; together
 * with those that waited before they may be enough.
 */
export function chargeNow(
  gateway: string,
  amountMinor: bigint,
  currency: string,
  carriedMinor = 0n,
): 'charge' | 'carry' | 'wait' | 'nothing' {
  if (amountMinor === 0n) return 'nothing'
  if (gateway === 'offline') return 'wait'
  return amountMinor + carriedMinor < minCharge(gateway, currency) ? 'carry' : 'charge'
}

/** Issues what needs no charge. */
export async function issuePurchase(
  tx: Tx,
  context: Context,
  purchase: Purchase,
  how: 'carry' | 'wait' | 'nothing',
): Promise<void> {
  const { subscription, invoice } = purchase
  const draft = { ...invoice.row, carried: how === 'carry' }
  await sendAlong(tx, ...writeDraft(tx, context.business.id, { ...invoice, row: draft }))
  const scene = await sceneOf(tx, context, { subscriptions: [subscription], invoices: [draft], changes: [] })
  tellInvoice(scene, 'invoice_create', issueDraft(scene, draft))
  if (how === 'nothing') activate(scene, subscription)
  await write(tx, context, scene.deed)
}

/** The money for a drafted first bill is there: the subscription begins as it was sold. */
export function completePurchase(scene: Scene, row: SubscriptionRow, draft: InvoiceRow): SubscriptionRow {
  const { business, now } = scene.context
  const period = { no: draft.periodNo!, start: draft.periodStart!, end: draft.periodEnd! }
  const live = couponUsed({
    ...row,
    status: row.cancelAtEnd ? 'non_renewing' : 'live',
    setupFeeDue: false,
    deferredMinor: row.deferredMinor + draft.netMinor,
  })
  const after = inPeriod(live, period, { now, timeZone: business.timeZone })
  saveSubscription(scene, after)
  const { chosen, customers } = scene.around
  const kept = keep(after, chosen.get(row.id) ?? [], customers.get(row.customerId)!)
  const issued = issueDraft(scene, { ...draft, subscription: kept as unknown as Record<string, unknown> })
  tellInvoice(scene, 'invoice_create', issued)
  return after
}
