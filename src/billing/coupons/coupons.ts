import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Database, isUniqueViolation, type Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import { carryMinor, readPercent, showPercent } from '../fields.ts'
import { toMajor } from '../money.ts'
import { selectPlans, showAssociation } from '../plans/associate.ts'
import { chooseCurrency } from '../plans/choose-currency.ts'
import type { PlanRow } from '../plans/store.ts'
import { lockProductForUse } from '../products/products.ts'
import type { CouponChanges, CouponFields, CouponSchema } from './schema.ts'
import type { CouponRow } from './store.ts'
import * as store from './store.ts'

export function createCoupon(
  db: Database,
  business: Business,
  productId: string,
  fields: Static<typeof CouponFields>,
): Promise<CouponRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    await lockProductForUse(tx, business.id, productId)
    const made = await withChanges(tx, business, blankCoupon(productId, now), fields)
    const coupon = (await store.insertCoupon(tx, business.id, made)) ?? fail(codeTaken(fields.coupon_code))
    await emit(tx, event(business.id, 'coupon_create', coupon, now))
    return coupon
  })
}

export const findCoupon = store.findCoupon
/** Also deleted ones: a subscription keeps the coupon it was sold with. */
export const couponsByIds = store.couponsByIds
export const pageOfCoupons = store.pageOfCoupons

export function updateCoupon(
  db: Database,
  business: Business,
  id: string,
  changes: Static<typeof CouponChanges>,
): Promise<CouponRow> {
  return db
    .begin(async tx => {
      const now = await nowFor(tx, business)
      const { productId } = (await store.findCoupon(tx, business.id, id)) ?? fail(notFound('Coupon'))
      if (changes.product_id !== undefined && changes.product_id !== productId)
        throw unprocessable(
          'product_fixed',
          'A coupon stays with its product. Create one for the other product instead.',
        )
      await lockProductForUse(tx, business.id, productId)
      const before = (await store.lockCoupon(tx, business.id, id)) ?? fail(notFound('Coupon'))
      const after = await withChanges(tx, business, { ...before, updatedAt: now }, changes)
      if (after.maximumRedemption !== 0 && after.maximumRedemption < after.usedRedemption)
        throw unprocessable(
          'maximum_below_used',
          `The coupon was used ${after.usedRedemption} times already. Set its status to inactive to stop it.`,
          [{ field: 'maximum_redemption', message: `must be at least ${after.usedRedemption}, or 0 for no limit` }],
        )
      const coupon = await store.updateCoupon(tx, business.id, after)
      await emit(tx, event(business.id, 'coupon_update', coupon, now))
      return coupon
    })
    .catch(error => {
      throw isUniqueViolation(error, 'billing_coupon_code') ? codeTaken(changes.coupon_code ?? '') : error
    })
}

/** Subscriptions that were sold with it keep it. */
export function deleteCoupon(db: Database, business: Business, id: string): Promise<CouponRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const coupon = (await store.lockCoupon(tx, business.id, id)) ?? fail(notFound('Coupon'))
    await store.hideCoupon(tx, business.id, id, now)
    await emit(tx, event(business.id, 'coupon_delete', coupon, now))
    return coupon
  })
}

const codeTaken = (code: string) =>
  conflict('coupon_code_taken', `Another coupon of this product has the code "${code}". Choose another coupon_code.`, [
    { field: 'coupon_code', message: 'is taken' },
  ])

const blankCoupon = (productId: string, now: Date): CouponRow => ({
  id: newId(),
  productId,
  couponName: '',
  couponCode: '',
  status: 'active',
  applyTo: 'total_amount',
  discountType: 'percent',
  discountPpm: null,
  discountMinor: null,
  currencyCode: '',
  redemptionType: 'onetime',
  redemptionCycle: 0,
  maximumRedemption: 0,
  usedRedemption: 0,
  planIds: null,
  validUpto: null,
  createdAt: now,
  updatedAt: now,
})

async function withChanges(
  tx: Tx,
  business: Business,
  coupon: CouponRow,
  changes: Static<typeof CouponChanges>,
): Promise<CouponRow> {
  const plans = await selectPlans(tx, business.id, coupon.productId, changes, coupon.planIds)
  const after: CouponRow = {
    ...coupon,
    couponName: changes.coupon_name ?? coupon.couponName,
    couponCode: changes.coupon_code?.trim() ?? coupon.couponCode,
    status: changes.status ?? coupon.status,
    applyTo: changes.apply_to ?? coupon.applyTo,
    ...(await discount(tx, business, coupon, changes, plans)),
    ...redemption(coupon, changes),
    maximumRedemption: changes.maximum_redemption ?? coupon.maximumRedemption,
    planIds: plans === null ? null : plans.map(plan => plan.id),
    validUpto: changes.valid_upto === undefined ? coupon.validUpto : readDate(changes.valid_upto),
  }
  return after
}

async function discount(
  tx: Tx,
  business: Business,
  coupon: CouponRow,
  changes: Static<typeof CouponChanges>,
  plans: PlanRow[] | null,
) {
  const discountType = changes.discount_type ?? coupon.discountType
  // 10 % must not become 10 dollars unasked.
  if (discountType !== coupon.discountType && changes.discount === undefined)
    throw invalidField('discount', 'is required when discount_type changes')
  const currencyCode = await chooseCurrency(tx, business, {
    given: changes.currency_code,
    before: coupon.currencyCode,
    plans,
    productId: coupon.productId,
  })
  if (discountType === 'percent') {
    const discountPpm = changes.discount === undefined ? coupon.discountPpm : readPercent(changes.discount, 'discount')
    return { discountType, currencyCode, discountPpm, discountMinor: null }
  }
  if (plans?.some(plan => plan.currencyCode !== currencyCode))
    throw unprocessable(
      'coupon_currency',
      `The discount is in ${currencyCode}, but not all of the plans are. Make one coupon for each currency.`,
      [{ field: 'plans_array', message: `must hold plans sold in ${currencyCode}` }],
    )
  const discountMinor = carryMinor(changes.discount, {
    minor: coupon.discountMinor ?? 0n,
    from: coupon.currencyCode,
    to: currencyCode,
    field: 'discount',
  })
  return { discountType, currencyCode, discountPpm: null, discountMinor }
}

/** Spec silent: how many invoices it is taken off: one, all, or as many as number_time says. */
function redemption(coupon: CouponRow, changes: Static<typeof CouponChanges>) {
  const redemptionType = changes.redemption_type ?? coupon.redemptionType
  if (redemptionType === 'onetime') return { redemptionType, redemptionCycle: 1 }
  if (redemptionType === 'forever') return { redemptionType, redemptionCycle: 0 }
  const before = coupon.redemptionType === 'number_time' ? coupon.redemptionCycle : 0
  const redemptionCycle = changes.redemption_cycle ?? before
  if (redemptionCycle < 1)
    throw invalidField('redemption_cycle', 'must be at least 1 when redemption_type is number_time')
  return { redemptionType, redemptionCycle }
}

function readDate(date: string | null): string | null {
  if (date === null || date === '') return null
  try {
    return Temporal.PlainDate.from(date, { overflow: 'reject' }).toString()
  } catch {
    throw invalidField('valid_upto', 'must be a date such as 2027-12-31')
  }
}

export const showCoupon = (row: CouponRow): Static<typeof CouponSchema> => ({
  id: row.id,
  product_id: row.productId,
  coupon_name: row.couponName,
  coupon_code: row.couponCode,
  status: row.status,
  apply_to: row.applyTo,
  discount:
    row.discountPpm === null ? toMajor(row.discountMinor ?? 0n, row.currencyCode) : showPercent(row.discountPpm),
  discount_type: row.discountType,
  currency_code: row.currencyCode,
  redemption_type: row.redemptionType,
  redemption_cycle: row.redemptionCycle,
  maximum_redemption: row.maximumRedemption,
  used_redemption: row.usedRedemption,
  ...showAssociation(row.planIds),
  valid_upto: row.validUpto ?? '',
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

const event = (businessId: string, type: string, coupon: CouponRow, at: Date) =>
  ({ businessId, type, source: 'api', objectId: coupon.id, data: showCoupon(coupon), at }) as const
