import type { Business } from '../../platform/business.ts'
import type { Db, Tx } from '../../platform/database.ts'
import { fail, unprocessable } from '../../platform/problem.ts'
import { localDate } from '../dates.ts'
import type { PlanRow } from '../plans/store.ts'
import type { CouponRow } from './store.ts'
import * as store from './store.ts'

/** The coupon behind a code, if it may be used for a plan now; else the reason why not, in words a customer can be shown. */
export async function findUsableCoupon(
  db: Db,
  business: Pick<Business, 'id' | 'timeZone'>,
  { plan, code, now }: { plan: Pick<PlanRow, 'id' | 'productId' | 'currencyCode'>; code: string; now: Date },
): Promise<CouponRow> {
  const coupon = await store.couponWithCode(db, business.id, plan.productId, code.trim())
  if (!coupon) return refuse('coupon_unknown', `There is no coupon "${code}". Check the code.`)
  if (coupon.status !== 'active') return refuse('coupon_inactive', `The coupon "${code}" is not active any more.`)
  if (coupon.validUpto !== null && localDate(now, business.timeZone) > coupon.validUpto)
    return refuse('coupon_expired', `The coupon "${code}" was valid until ${coupon.validUpto}.`)
  if (coupon.maximumRedemption !== 0 && coupon.usedRedemption >= coupon.maximumRedemption) return refuseUsedUp(code)
  const fits = coupon.planIds === null || coupon.planIds.includes(plan.id)
  if (!fits || (coupon.discountType === 'flat' && coupon.currencyCode !== plan.currencyCode))
    return refuse('coupon_not_for_plan', `The coupon "${code}" does not count for this plan.`)
  return coupon
}

/** Counts one redemption in the transaction of the sale: of two who use the last one at once, one is refused. */
export async function redeemCoupon(tx: Tx, businessId: string, couponId: string): Promise<CouponRow> {
  const coupon = await store.countRedemption(tx, businessId, couponId)
  if (coupon) return coupon
  const [known] = await store.couponsByIds(tx, businessId, [couponId])
  return refuseUsedUp(known?.couponCode ?? couponId)
}

const refuse = (code: string, message: string): never =>
  fail(unprocessable(code, message, [{ field: 'coupon_code', message: 'can’t be used' }]))

const refuseUsedUp = (code: string): never =>
  refuse('coupon_used_up', `The coupon "${code}" has been used as often as it may be.`)
