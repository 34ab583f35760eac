import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { getProduct } from '../products/products.ts'
import { ProductPath } from '../products/schema.ts'
import * as coupons from './coupons.ts'
import { CouponChanges, CouponFields, CouponPath, CouponSchema } from './schema.ts'

export const create = endpoint({
  summary: 'Create a coupon of a product',
  params: ProductPath,
  body: CouponFields,
  answer: envelope(CouponSchema),
  run: async ({ db, business, params, body }) =>
    ok('Coupon created', coupons.showCoupon(await coupons.createCoupon(db, business, params.product_id, body))),
})

export const list = endpoint({
  summary: 'Coupons of a product, newest first',
  params: ProductPath,
  query: Type.Object(PageQuery),
  answer: pageEnvelope(CouponSchema),
  run: async ({ db, business, params, query }) => {
    const product = await getProduct(db, business.id, params.product_id)
    const page = pageRequest(query)
    const { rows, total } = await coupons.pageOfCoupons(db, business.id, product.id, page)
    return okPage('Coupons', rows.map(coupons.showCoupon), page, total)
  },
})

export const update = endpoint({
  summary: 'Change a coupon',
  params: CouponPath,
  body: CouponChanges,
  answer: envelope(CouponSchema),
  run: async ({ db, business, params, body }) =>
    ok('Coupon updated', coupons.showCoupon(await coupons.updateCoupon(db, business, params.id, body))),
})

export const remove = endpoint({
  summary: 'Delete a coupon',
  description: 'Subscriptions that were sold with it keep it. Answers the deleted coupon.',
  params: CouponPath,
  answer: envelope(CouponSchema),
  run: async ({ db, business, params }) =>
    ok('Coupon deleted', coupons.showCoupon(await coupons.deleteCoupon(db, business, params.id))),
})
