import { addonsOnSale } from '../billing/addons/addons.ts'
import type { AddonRow } from '../billing/addons/store.ts'
import type { Context } from '../billing/context.ts'
import { findUsableCoupon } from '../billing/coupons/redeem.ts'
import type { CouponRow } from '../billing/coupons/store.ts'
import type { PlanRow } from '../billing/plans/store.ts'
import { type Quote, quoteSubscription } from '../billing/subscriptions/quote.ts'
import { taxFor } from '../billing/taxes/tax-for.ts'
import type { Form } from '../platform/endpoint.ts'
import { Problem } from '../platform/problem.ts'
import { isTriedOut, noteTry } from '../platform/site/tries.ts'
import { type ChosenAddon, type Faults, readAddons, readAmount, readQuantity } from './entry.ts'
import { couponLimit } from './limits.ts'
import { defaultPlan, type Offer } from './offer.ts'
import type { Texts } from './texts/en.ts'

/** What is in the basket, and what it costs. A choice that can't be is told, and the nearest possible one is shown. */
export interface Choice {
  plan: PlanRow
  quantity: number
  /** given by the customer, for plans that let them decide */
  amountMinor: bigint | undefined
  addons: ChosenAddon[]
  coupon: CouponRow | undefined
  addonsOnSale: AddonRow[]
  quote: Quote
  faults: Faults
}

export async function readChoice(
  context: Context,
  offer: Offer,
  form: Form,
  who: { session: string; ip: string; texts: Texts },
): Promise<Choice | undefined> {
  const { db, business } = context
  const { texts } = who
  const faults: Faults = {}
  const asked = offer.plans.find(plan => plan.id === form.plan)
  if (!asked && form.plan) faults.plan = texts.faults.planGone
  const plan = asked ?? defaultPlan(offer)
  if (!plan) return undefined
  const [onSale, coupon, rates] = await Promise.all([
    addonsOnSale(db, business.id, plan),
    readCoupon(context, plan, form, faults, who),
    taxFor(db, business.id, { country: form.country, state: form.state, taxExempt: false }),
  ])
  const order = {
    plan,
    quantity: readQuantity(form, plan, faults, texts),
    amountMinor: readAmount(form, plan, faults, texts),
    addons: readAddons(form, onSale, faults, texts),
    coupon,
  }
  const quote = quoteOrFault()
  return { ...order, ...quote.order, addonsOnSale: onSale, quote: quote.quote, faults }

  function quoteOrFault() {
    try {
      return { order, quote: quoteSubscription(context, { ...order, rates }) }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      faults[order.plan.planType === 'donation' ? 'amount' : 'quantity'] = texts.faults.amountTooLarge
      const smaller = { ...order, quantity: 1, amountMinor: undefined, addons: [] }
      return { order: smaller, quote: quoteSubscription(context, { ...smaller, rates }) }
    }
  }
}

async function readCoupon(
  context: Context,
  plan: PlanRow,
  form: Form,
  faults: Faults,
  who: { session: string; ip: string; texts: Texts },
): Promise<CouponRow | undefined> {
  const { db, business, now } = context
  const code = (form.coupon ?? '').trim()
  if (code === '') return undefined
  const limit = couponLimit(who)
  if (await isTriedOut(db, business.id, limit)) {
    faults.coupon = who.texts.faults.couponTries
    return undefined
  }
  try {
    return await findUsableCoupon(db, business, { plan, code: code.slice(0, 255), now })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    faults.coupon = couponFault(error.code, who.texts)
    if (error.code === 'coupon_unknown') await noteTry(db, business.id, limit, code.toLowerCase())
    return undefined
  }
}

export function couponFault(code: string, texts: Texts): string {
  const { faults } = texts
  switch (code) {
    case 'coupon_used_up':
      return faults.couponUsedUp
    case 'coupon_inactive':
    case 'coupon_expired':
      return faults.couponOver
    case 'coupon_not_for_plan':
      return faults.couponOtherPlan
    default:
      return faults.couponUnknown
  }
}
