import type { Tx } from '../../platform/database.ts'
import { notFound, unprocessable } from '../../platform/problem.ts'
import { getAddons } from '../addons/addons.ts'
import type { Context } from '../context.ts'
import { couponsByIds } from '../coupons/coupons.ts'
import { findUsableCoupon, redeemCoupon } from '../coupons/redeem.ts'
import type { CouponRow } from '../coupons/store.ts'
import { type CustomerRow, findAnyCustomer } from '../customers/store.ts'
import { addDays, type LocalDate, localDate } from '../dates.ts'
import type { TaxRate } from '../invoices/bill.ts'
import { draftInvoice, type NewInvoice } from '../invoices/issue.ts'
import type { InvoiceRow, StoredLine } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import * as lots from '../ledger/store.ts'
import { toMinor } from '../money.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import * as methods from '../payment-methods/store.ts'
import type { PlanRow } from '../plans/store.ts'
import * as plans from '../plans/store.ts'
import { type ProductRow, shareProduct } from '../products/store.ts'
import { settingsOf } from '../settings/settings.ts'
import type { Settings } from '../settings/store.ts'
import { taxesOf } from './purchase.ts'
import { type ChangeQuote, type NewTerms, quoteChange } from './quote-change.ts'
import type { PlanChangeRequest } from './schema.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import type { ChangeRow } from './store-changes.ts'
import * as changes from './store-changes.ts'
import { chosenAgain, invoicesOf, readAddons, readQuantity, sellAddons } from './terms.ts'

/** What a request to change a plan asks for, in terms that can be computed and billed. */

/** An unpaid one too, as long as its term runs: the credit then first pays what is owed. */
const changeable = new Set(['live', 'non_renewing', 'dunning', 'trial', 'unpaid'])

function check(row: SubscriptionRow, plan: PlanRow, request: PlanChangeRequest): void {
  if (!changeable.has(row.status))
    throw unprocessable(
      'subscription_not_live',
      `The subscription is ${row.status}; only a running one can change its plan.`,
    )
  if (request.customer_id && request.customer_id !== row.customerId)
    throw unprocessable('customer_differs', 'The subscription belongs to another customer.', [
      { field: 'customer_id', message: 'must be the customer of the subscription' },
    ])
  const field = [{ field: 'plan_id', message: 'can’t be chosen for this subscription' }]
  if (plan.productId !== row.productId)
    throw unprocessable('plan_of_other_product', 'The plan belongs to another product. Choose one of the same.', field)
  if (!plan.planActive)
    throw unprocessable('plan_inactive', `The plan "${plan.planName}" is not sold at the moment.`, field)
  if (plan.currencyCode !== row.currency)
    throw unprocessable(
      'plan_currency',
      `The plan is sold in ${plan.currencyCode}, the subscription in ${row.currency}.`,
      field,
    )
}

/** Everything that a change of this subscription looks at; the subscription is locked. */
export interface ChangeFacts {
  row: SubscriptionRow
  customer: CustomerRow
  product: ProductRow
  /** the plan that is asked for, and the one that it replaces */
  plan: PlanRow
  before: PlanRow
  addons: SubscriptionAddon[]
  /** attached by now */
  coupon: CouponRow | undefined
  /** open, or waiting for the end of the term */
  waiting: ChangeRow[]
  /** that still pay for time after today */
  lines: StoredLine[]
  owed: InvoiceRow[]
  lots: lots.LotRow[]
  rates: TaxRate[]
  settings: Settings
  /** that the request or the subscription names */
  method: MethodRow | undefined
  /** in the time zone of the business, but inside the running period whatever a change of the zone did to the calendar */
  on: LocalDate
}

/**
 * Locks the subscription and reads everything around it in one trip to the database; a second one only for taxes and a coupon. The
 * product is held before its plan is read, so that the plan can't be deleted meanwhile. 'due' where a step of its own time comes first.
 */
export async function lookUp(
  tx: Tx,
  context: Context,
  asked: { subscriptionId: string; request: PlanChangeRequest; isRenewed: boolean },
): Promise<ChangeFacts | 'due'> {
  const { subscriptionId, request } = asked
  const { business, now } = context
  const { id } = business
  const today = localDate(now, business.timeZone)
  const its = (column: Parameters<typeof store.namedBy>[3]) => store.namedBy(tx, id, subscriptionId, column)
  const [row, customer, product, plan, before, addons, waiting, lines, owed, open, settings, method] =
    await Promise.all([
      store.lockSubscription(tx, id, subscriptionId),
      findAnyCustomer(tx, id, its('customer_id')),
      shareProduct(tx, id, its('product_id')),
      plans.findPlan(tx, id, request.plan_id),
      plans.findSoldPlan(tx, id, its('plan_id')),
      store.addonsOf(tx, id, [subscriptionId]),
      changes.waitingChanges(tx, id, [subscriptionId]),
      invoices.runningLines(tx, id, subscriptionId, addDays(today, -mostDaysApart)),
      invoices.lockDueInvoices(tx, id, [subscriptionId]),
      lots.lockOpenLots(tx, id, [subscriptionId]),
      settingsOf(tx, id),
      methods.findMethod(tx, id, request.card_id || its('payment_method_id')),
    ])
  if (!row || !customer || !before) throw notFound('Subscription')
  if (!asked.isRenewed && row.nextBillingAt !== null && row.nextBillingAt <= now) return 'due'
  if (!plan) throw notFound('Plan')
  check(row, plan, request)
  if (!product) throw notFound('Product')
  const [rates, coupons] = await Promise.all([
    taxesOf(tx, id, customer),
    row.couponId === null ? [] : couponsByIds(tx, id, [row.couponId]),
  ])
  const on = dayIn(row, today)
  return {
    row,
    customer,
    product,
    plan,
    before,
    addons,
    coupon: coupons[0],
    waiting,
    lines: lines.filter(line => line.end! > on),
    owed,
    lots: open,
    rates,
    settings,
    method,
    on,
  }
}

/** Two time zones are at most 26 hours apart. */
const mostDaysApart = 2

/** A period runs from its first moment to its last, in the zone in which it began; elsewhere another day may be written by then. */
function dayIn({ periodStart, periodEnd, nextBillingAt }: SubscriptionRow, today: LocalDate): LocalDate {
  if (periodStart !== null && today < periodStart) return periodStart
  return periodEnd !== null && nextBillingAt !== null && today >= periodEnd ? addDays(periodEnd, -1) : today
}

export async function resolve(tx: Tx, context: Context, facts: ChangeFacts, request: PlanChangeRequest) {
  const { business, now } = context
  const { row, plan, addons, coupon: attached, on } = facts
  const choices = readAddons(request.addons)
  const ids = choices?.map(choice => choice.addonId) ?? []
  const chosen = choices ? sellAddons(choices, await getAddons(tx, business.id, ids), plan, on) : addons
  const given = (value: number | string | undefined) => (value === undefined || value === '' ? undefined : value)
  const price = given(request.price)
  const code = request.coupon_code
  const fresh = code
    ? await redeemCoupon(tx, business.id, (await findUsableCoupon(tx, business, { plan, code, now })).id)
    : undefined
  const stays = attached && (attached.planIds === null || attached.planIds.includes(plan.id)) ? attached : undefined
  const coupon = fresh ?? stays
  const invoicesLeft = fresh ? invoicesOf(fresh) : row.couponLeft
  const terms: NewTerms = {
    plan,
    quantity: readQuantity(request.quantity) ?? row.quantity,
    unitPriceMinor: price === undefined ? plan.priceMinor : toMinor(price, plan.currencyCode, 'price'),
    addons: chosen.map(addon => chosenAgain(addon, addons)),
    coupon,
    couponLeft: fresh && invoicesLeft !== null && row.periodEnd !== null ? invoicesLeft - 1 : invoicesLeft,
    setupFeeMinor: await setupFee(tx, business.id, facts, given(request.setup_fee)),
    updateReason: request.update_reason ?? '',
  }
  return { terms, redeemed: fresh?.id ?? null }
}

/** Only when the request says so, or when this plan's fee was never paid before. */
async function setupFee(
  tx: Tx,
  businessId: string,
  { row, plan }: ChangeFacts,
  given: number | string | undefined,
): Promise<bigint> {
  if (given !== undefined) return toMinor(given, plan.currencyCode, 'setup_fee')
  if (plan.setupFeeMinor === 0n || plan.id === row.planId) return 0n
  return (await invoices.setupFeeWasBilled(tx, businessId, row.id, plan.id)) ? 0n : plan.setupFeeMinor
}

export function prepare(
  context: Context,
  facts: ChangeFacts,
  terms: NewTerms,
  request: PlanChangeRequest,
): { quote: ChangeQuote; invoice: NewInvoice } {
  const { business, now } = context
  const { row, customer } = facts
  const quote = quoteChange({
    subscription: { ...row, paymentTerm: request.payment_term ?? 'net0' },
    addons: facts.addons,
    plan: facts.before,
    coupon: facts.coupon,
    next: terms,
    on: facts.on,
    lines: facts.lines,
    dueByInvoice: new Map(facts.owed.map(invoice => [invoice.id, invoice.dueMinor])),
    lots: facts.lots
      .filter(lot => lot.currency === row.currency)
      .map(lot => ({ id: lot.id, balanceMinor: lot.createdMinor - lot.usedMinor - lot.reservedMinor })),
    rates: facts.rates,
    settings: facts.settings,
  })
  const invoice = draftInvoice({
    kind: 'change',
    subscription: quote.subscription,
    addons: quote.addons,
    customer,
    bill: quote.bill,
    uses: quote.uses,
    period: quote.period,
    term: request.payment_term ?? 'net0',
    creditNote: quote.creditNote,
    now,
    timeZone: business.timeZone,
    earnedMinor: 0n,
  })
  return { quote, invoice }
}
