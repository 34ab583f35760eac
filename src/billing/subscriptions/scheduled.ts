import type { Static } from 'typebox'
import type { Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { fail, notFound } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import type { CouponRow } from '../coupons/store.ts'
import { boundary, daysBetween, type PaymentTerm } from '../dates.ts'
import { tellSubscription } from '../events-lifecycle.ts'
import { recurringTotal } from '../invoices/bill.ts'
import { toMajor } from '../money.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import { plansByIds, showPlan } from '../plans/plans.ts'
import type { PlanRow } from '../plans/store.ts'
import type { ChangeFacts } from './prepare-change.ts'
import { directionOf } from './proration.ts'
import { type NewTerms, withTerms } from './quote-change.ts'
import type { PlanChangeRequest, ScheduledChangeSchema } from './schema.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'
import { discountFrom, sale, sharesRhythm, wholePeriod } from './terms.ts'

/** A change at the end of the term: one a subscription, applied by its renewal, without credit or proration. */

/** As it is kept; amounts in text. */
export interface ScheduledTerms {
  quantity: number
  unitPrice: string
  setupFee: string
  addons: Record<string, unknown>[]
  couponId: string | null
  couponLeft: number | null
  redeemed: string | null
  paymentTerm: PaymentTerm
  paymentMode: PlanChangeRequest['payment_mode']
  /** the card to charge then, where one was named */
  cardId: string | null
  updateReason: string
}

export async function schedule(
  tx: Tx,
  context: Context,
  facts: Pick<ChangeFacts, 'row' | 'addons' | 'coupon'>,
  asked: {
    terms: NewTerms
    request: PlanChangeRequest
    redeemed: string | null
    idempotencyKey: string | null
  },
): Promise<void> {
  const { business, now } = context
  const { row } = facts
  const { terms, request, redeemed } = asked
  const replaced = await changes.dropScheduled(tx, business.id, row.id, now)
  if (replaced) await release(tx, business.id, replaced)
  const updateType = direction(facts, terms)
  const kept: ScheduledTerms = {
    quantity: terms.quantity,
    unitPrice: String(terms.unitPriceMinor),
    setupFee: String(terms.setupFeeMinor),
    addons: terms.addons.map(addon => ({
      ...addon,
      unitPriceMinor: String(addon.unitPriceMinor),
      adjustedMinor: String(addon.adjustedMinor),
    })),
    couponId: terms.coupon?.id ?? null,
    // It begins to count with the renewal, not with the running period; on trial none runs yet.
    couponLeft:
      redeemed !== null && terms.couponLeft !== null && row.periodEnd !== null
        ? terms.couponLeft + 1
        : terms.couponLeft,
    redeemed,
    paymentTerm: request.payment_term ?? 'net0',
    paymentMode: request.payment_mode,
    cardId: request.payment_mode === 'credit_card' ? request.card_id || null : null,
    updateReason: terms.updateReason,
  }
  await changes.insertChange(
    tx,
    business.id,
    {
      id: newId(),
      subscriptionId: row.id,
      state: 'scheduled',
      updateType,
      planId: terms.plan.id,
      terms: kept as unknown as Record<string, unknown>,
      invoiceId: null,
      transactionId: null,
      createdAt: now,
      updatedAt: now,
    },
    asked.idempotencyKey,
  )
  await tellSubscription(tx, context, [`subscription_${updateType}_scheduled`], row)
}

const release = async (tx: Tx, businessId: string, change: changes.ChangeRow) => {
  const { redeemed } = change.terms as unknown as ScheduledTerms
  if (redeemed) await store.releaseCoupon(tx, businessId, redeemed)
}

function direction(
  { row, addons, coupon }: Pick<ChangeFacts, 'row' | 'addons' | 'coupon'>,
  terms: NewTerms,
): 'upgrade' | 'downgrade' {
  const after = withTerms(row, terms, { onTrial: row.periodEnd === null })
  const start = row.periodEnd ?? row.anchorDate
  const total = (of: SubscriptionRow, sold: readonly SubscriptionAddon[], discount: CouponRow | undefined) => {
    const end = boundary(start, of.periodUnit, of.periodCount, 1)
    const shared = sold.filter(addon => sharesRhythm(addon, of))
    const { items } = sale({ ...of, setupFeeDue: false }, shared, wholePeriod(start, end), { planName: '' })
    return { totalMinor: recurringTotal(items, discountFrom(discount)), days: daysBetween(start, end) }
  }
  return directionOf(total(after, terms.addons, terms.coupon), total(row, addons, coupon))
}

/** The subscription and its add-ons as a scheduled change makes them, for the renewal that applies it. */
export function withScheduled(
  row: SubscriptionRow,
  change: changes.ChangeRow,
  { plan, coupon, card }: { plan: PlanRow; coupon: CouponRow | undefined; card: MethodRow | undefined },
): { row: SubscriptionRow; addons: SubscriptionAddon[] } {
  const kept = change.terms as unknown as ScheduledTerms
  const addons = kept.addons.map(addon => ({
    ...addon,
    unitPriceMinor: BigInt(addon.unitPriceMinor as string),
    adjustedMinor: BigInt(addon.adjustedMinor as string),
  })) as unknown as SubscriptionAddon[]
  const changed = withTerms(
    row,
    {
      plan,
      quantity: kept.quantity,
      unitPriceMinor: BigInt(kept.unitPrice),
      addons,
      coupon,
      couponLeft: kept.couponLeft,
      setupFeeMinor: BigInt(kept.setupFee),
      updateReason: kept.updateReason,
    },
    { onTrial: true },
  )
  const paidWith = card && { paymentMethodId: card.id, gateway: card.gateway }
  return { row: { ...changed, ...paidWith, updateType: change.updateType, paymentTerm: kept.paymentTerm }, addons }
}

/** The invoice that the change begins with is paid as was asked for, whatever pays those after it. */
export const isToBePaidByHand = (change: changes.ChangeRow | undefined): boolean =>
  (change?.terms as ScheduledTerms | undefined)?.paymentMode === 'offline'

export async function getScheduled(
  context: Context,
  subscriptionId: string,
): Promise<Static<typeof ScheduledChangeSchema>> {
  const { db, business } = context
  const row = (await store.findSubscription(db, business.id, subscriptionId)) ?? fail(notFound('Subscription'))
  const change = (await changes.findScheduled(db, business.id, subscriptionId)) ?? fail(notFound('Scheduled change'))
  return show(context, row, change)
}

export async function removeScheduled(
  context: Context,
  subscriptionId: string,
): Promise<Static<typeof ScheduledChangeSchema>> {
  const { db, business, now } = context
  const { row, change } = await db.begin(async tx => {
    const row = (await store.lockSubscription(tx, business.id, subscriptionId)) ?? fail(notFound('Subscription'))
    const change =
      (await changes.dropScheduled(tx, business.id, subscriptionId, now)) ?? fail(notFound('Scheduled change'))
    await release(tx, business.id, change)
    await tellSubscription(tx, context, [`subscription_${change.updateType}_changes_removed`], row)
    return { row, change }
  })
  return show(context, row, change)
}

async function show(context: Context, row: SubscriptionRow, change: changes.ChangeRow) {
  const [plan] = await plansByIds(context.db, context.business.id, [change.planId])
  const kept = change.terms as unknown as ScheduledTerms
  return {
    id: change.id,
    subscription_id: row.id,
    plan_id: change.planId,
    plan: showPlan(plan!),
    update_type: change.updateType,
    quantity: kept.quantity,
    price: toMajor(BigInt(kept.unitPrice), row.currency),
    update_reason: kept.updateReason,
    activates_at: row.nextBillingAt?.toISOString() ?? '',
    createdAt: change.createdAt,
    updatedAt: change.updatedAt,
  }
}
