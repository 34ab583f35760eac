import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { among } from '../store-among.ts'
import { countRows } from '../store-count.ts'

export interface CouponRow {
  id: string
  productId: string
  couponName: string
  couponCode: string
  status: 'active' | 'inactive'
  applyTo: 'total_amount' | 'subscription_amount' | 'addon_amount'
  discountType: 'percent' | 'flat'
  /** parts per million, for percent */
  discountPpm: number | null
  /** in minor units of currencyCode, for flat */
  discountMinor: bigint | null
  currencyCode: string
  redemptionType: 'onetime' | 'forever' | 'number_time'
  /** how many invoices it is taken off; 0 for all */
  redemptionCycle: number
  /** 0: no limit */
  maximumRedemption: number
  usedRedemption: number
  /** null: for every plan of the product */
  planIds: string[] | null
  /** last local date on which it can be used */
  validUpto: string | null
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, product_id as "productId", coupon_name as "couponName", coupon_code as "couponCode", status,
  apply_to as "applyTo", discount_type as "discountType", discount_ppm as "discountPpm", discount_minor as "discountMinor",
  currency_code as "currencyCode", redemption_type as "redemptionType", redemption_cycle as "redemptionCycle",
  maximum_redemption as "maximumRedemption", used_redemption as "usedRedemption", plan_ids as "planIds",
  valid_upto as "validUpto", created_at as "createdAt", updated_at as "updatedAt"`

/** Without used_redemption, which only a redemption changes. */
const values = (coupon: CouponRow) => ({
  coupon_name: coupon.couponName,
  coupon_code: coupon.couponCode,
  status: coupon.status,
  apply_to: coupon.applyTo,
  discount_type: coupon.discountType,
  discount_ppm: coupon.discountPpm,
  discount_minor: coupon.discountMinor,
  currency_code: coupon.currencyCode,
  redemption_type: coupon.redemptionType,
  redemption_cycle: coupon.redemptionCycle,
  maximum_redemption: coupon.maximumRedemption,
  plan_ids: coupon.planIds,
  valid_upto: coupon.validUpto,
  updated_at: coupon.updatedAt,
})

/** Undefined when the code is taken in the product. */
export const insertCoupon = (tx: Tx, businessId: string, coupon: CouponRow) => {
  const row = { business_id: businessId, id: coupon.id, product_id: coupon.productId, created_at: coupon.createdAt }
  return tx<CouponRow[]>`
    insert into billing_coupon ${tx({ ...row, ...values(coupon) })}
    on conflict (business_id, product_id, lower(coupon_code)) where deleted_at is null do nothing
    returning ${columns(tx)}`.then(first)
}

export const findCoupon = (db: Db, businessId: string, id: string) =>
  db<CouponRow[]>`
  select ${columns(db)} from billing_coupon
  where business_id = ${businessId} and id = ${id} and deleted_at is null`.then(first)

/** Also deleted ones: a subscription keeps the coupon it was sold with. */
export const couponsByIds = (db: Db, businessId: string, ids: readonly string[]) => db<CouponRow[]>`
  select ${columns(db)} from billing_coupon where business_id = ${businessId} and id ${among(db, ids)}`

export const couponWithCode = (db: Db, businessId: string, productId: string, code: string) =>
  db<CouponRow[]>`
  select ${columns(db)} from billing_coupon
  where business_id = ${businessId} and product_id = ${productId} and lower(coupon_code) = lower(${code})
    and deleted_at is null`.then(first)

export const lockCoupon = (tx: Tx, businessId: string, id: string) =>
  tx<CouponRow[]>`
  select ${columns(tx)} from billing_coupon
  where business_id = ${businessId} and id = ${id} and deleted_at is null for update`.then(first)

export async function pageOfCoupons(
  db: Db,
  businessId: string,
  productId: string,
  page: PageRequest,
): Promise<Page<CouponRow>> {
  const where = db`business_id = ${businessId} and product_id = ${productId} and deleted_at is null`
  const [rows, total] = await Promise.all([
    db<CouponRow[]>`
      select ${columns(db)} from billing_coupon where ${where} order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_coupon where ${where}`),
  ])
  return { rows, total }
}

export const updateCoupon = (tx: Tx, businessId: string, coupon: CouponRow) =>
  tx<CouponRow[]>`
  update billing_coupon set ${tx(values(coupon))} where business_id = ${businessId} and id = ${coupon.id}
  returning ${columns(tx)}`.then(only)

/** Counts one more; undefined when it was used as often as it may be. The row stays locked until the sale is decided. */
export const countRedemption = (tx: Tx, businessId: string, id: string) =>
  tx<CouponRow[]>`
  update billing_coupon set used_redemption = used_redemption + 1
  where business_id = ${businessId} and id = ${id} and (maximum_redemption = 0 or used_redemption < maximum_redemption)
  returning ${columns(tx)}`.then(first)

export const hideCoupon = (tx: Tx, businessId: string, id: string, now: Date) => tx`
  update billing_coupon set deleted_at = ${now} where business_id = ${businessId} and id = ${id}`
