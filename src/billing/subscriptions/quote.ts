import type { AddonRow } from '../addons/store.ts'
import type { Context } from '../context.ts'
import type { CouponRow } from '../coupons/store.ts'
import { type LocalDate, localDate } from '../dates.ts'
import { type Bill, makeBill, type TaxRate } from '../invoices/bill.ts'
import { majorText } from '../money.ts'
import type { PlanRow } from '../plans/store.ts'
import { newRow } from './create.ts'
import { nextPeriod } from './periods.ts'
import { couponUsed } from './purchase.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import { discountFrom, invoicesOf, sale, sellAddons, wholePeriod } from './terms.ts'

/** What a subscription would cost, computed by the same functions as the sale itself, so that what is shown is charged. */
export interface Quote {
  plan: PlanRow
  currency: string
  /** the first invoice: of today, or of the day the trial ends */
  first: Bill
  firstOn: LocalDate
  trial: boolean
  todayMinor: bigint
  /** the invoice after that, as each one will be while nothing changes; undefined when there is only one */
  later: Bill | undefined
}

export interface QuoteOrder {
  plan: PlanRow
  quantity: number
  /** instead of the plan's price */
  amountMinor: bigint | undefined
  addons: readonly { addon: AddonRow; quantity: number }[]
  coupon: CouponRow | undefined
  rates: readonly TaxRate[]
}

export function quoteSubscription(context: Context, order: QuoteOrder): Quote {
  const { plan, coupon, rates } = order
  const price = order.amountMinor === undefined ? undefined : majorText(order.amountMinor, plan.currencyCode)
  const row = newRow(context, { id: '' }, plan, { plan_id: plan.id, quantity: order.quantity, price }, undefined)
  const counted = { ...row, couponLeft: coupon ? invoicesOf(coupon) : null }
  const choices = order.addons.map(({ addon, quantity }) => ({ addonId: addon.id, quantity }))
  const rows = order.addons.map(({ addon }) => addon)
  const addons = sellAddons(choices, rows, plan, row.anchorDate)
  const first = billNext(counted, addons, { plan, coupon, rates })
  const trial = row.status === 'trial'
  return {
    plan,
    currency: plan.currencyCode,
    first: first.bill,
    firstOn: trial ? row.anchorDate : localDate(context.now, context.business.timeZone),
    trial,
    todayMinor: trial ? 0n : first.bill.totalMinor,
    later: row.cyclesLeft === 1 ? undefined : billNext(first.row, first.addons, { plan, coupon, rates }).bill,
  }
}

function billNext(
  row: SubscriptionRow,
  addons: readonly SubscriptionAddon[],
  order: Pick<QuoteOrder, 'plan' | 'coupon' | 'rates'>,
): { bill: Bill; row: SubscriptionRow; addons: SubscriptionAddon[] } {
  const period = nextPeriod(row)
  const sold = sale(row, addons, wholePeriod(period.start, period.end), order.plan)
  const coupon = row.couponLeft === 0 ? undefined : order.coupon
  return {
    bill: makeBill(sold.items, discountFrom(coupon), order.rates),
    row: couponUsed({ ...row, periodNo: period.no, setupFeeDue: false }),
    addons: sold.addons,
  }
}
