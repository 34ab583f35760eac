import type { Tx } from '../../platform/database.ts'
import { unprocessable } from '../../platform/problem.ts'
import { getAddons } from '../addons/addons.ts'
import type { Context } from '../context.ts'
import { couponsByIds } from '../coupons/coupons.ts'
import { findUsableCoupon, redeemCoupon } from '../coupons/redeem.ts'
import type { CouponRow } from '../coupons/store.ts'
import { customersByIds } from '../customers/customers.ts'
import type { LocalDate } from '../dates.ts'
import { draftInvoice } from '../invoices/issue.ts'
import * as invoices from '../invoices/store.ts'
import * as lots from '../ledger/store.ts'
import { toMinor } from '../money.ts'
import { plansByIds } from '../plans/plans.ts'
import type { PlanRow } from '../plans/store.ts'
import { taxesOf } from './purchase.ts'
import { type NewTerms, quoteChange } from './quote-change.ts'
import type { PlanChangeRequest } from './schema.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import { invoicesOf, readAddons, readQuantity, sellAddons } from './terms.ts'

/** What a request to change a plan asks for, in terms that can be computed and billed. */

/** An unpaid one too, as long as its term runs: the credit then first pays what is owed. */
const changeable = new Set(['live', 'non_renewing', 'dunning', 'trial', 'unpaid'])

export function check(row: SubscriptionRow, plan: PlanRow, request: PlanChangeRequest): void {
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

/** Inside the running period, whatever a change of the time zone did to the calendar. */
export function changeDate(row: SubscriptionRow, today: LocalDate): LocalDate {
  return row.periodStart !== null && today < row.periodStart ? row.periodStart : today
}

export async function resolve(
  tx: Tx,
  context: Context,
  row: SubscriptionRow,
  plan: PlanRow,
  request: PlanChangeRequest,
  on: LocalDate,
) {
  const { business, now } = context
  const addons = await store.addonsOf(tx, business.id, [row.id])
  const [attached] = row.couponId === null ? [] : await couponsByIds(tx, business.id, [row.couponId])
  const choices = readAddons(request.addons)
  const chosen: SubscriptionAddon[] = choices
    ? sellAddons(
        choices,
        await getAddons(
          tx,
          business.id,
          choices.map(choice => choice.addonId),
        ),
        plan,
        on,
      )
    : addons
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
    // One that is sold once and was billed is not billed again because the plan changes.
    addons: chosen.map(
      addon => addons.find(one => one.addonId === addon.addonId && one.quantity === addon.quantity) ?? addon,
    ),
    coupon,
    couponLeft: fresh && invoicesLeft !== null && row.periodEnd !== null ? invoicesLeft - 1 : invoicesLeft,
    setupFeeMinor: await setupFee(tx, business.id, row, plan, given(request.setup_fee)),
    updateReason: request.update_reason ?? '',
  }
  return { terms, addons, coupon: attached, redeemed: fresh?.id ?? null }
}

/** Only when the request says so, or when this plan's fee was never paid before. */
async function setupFee(
  tx: Tx,
  businessId: string,
  row: SubscriptionRow,
  plan: PlanRow,
  given: number | string | undefined,
): Promise<bigint> {
  if (given !== undefined) return toMinor(given, plan.currencyCode, 'setup_fee')
  if (plan.setupFeeMinor === 0n || plan.id === row.planId) return 0n
  return (await invoices.setupFeeWasBilled(tx, businessId, row.id, plan.id)) ? 0n : plan.setupFeeMinor
}

export async function prepare(
  tx: Tx,
  context: Context,
  row: SubscriptionRow,
  parts: {
    terms: NewTerms
    addons: SubscriptionAddon[]
    coupon: CouponRow | undefined
    on: LocalDate
    request: PlanChangeRequest
  },
) {
  const { business, now } = context
  const { terms, addons, coupon, on, request } = parts
  const [[plan], [customer], lines, open] = await Promise.all([
    plansByIds(tx, business.id, [row.planId]),
    customersByIds(tx, business.id, [row.customerId]),
    invoices.runningLines(tx, business.id, row.id, on),
    lots.lockOpenLots(tx, business.id, [row.id]),
  ])
  const billed = await invoices.lockInvoices(tx, business.id, [...new Set(lines.map(line => line.invoiceId))])
  const quote = quoteChange({
    subscription: { ...row, paymentTerm: request.payment_term ?? 'net0' },
    addons,
    plan: plan!,
    coupon,
    next: terms,
    on,
    lines,
    dueByInvoice: new Map(
      billed.filter(one => one.status === 'sent' || one.status === 'overdue').map(one => [one.id, one.dueMinor]),
    ),
    lots: open
      .filter(lot => lot.currency === row.currency)
      .map(lot => ({ id: lot.id, balanceMinor: lot.createdMinor - lot.usedMinor - lot.reservedMinor })),
    rates: await taxesOf(tx, business.id, customer!),
  })
  const invoice = draftInvoice({
    kind: 'change',
    subscription: quote.subscription,
    addons: quote.addons,
    customer: customer!,
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
