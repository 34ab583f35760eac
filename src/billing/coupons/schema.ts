import { Type } from 'typebox'
import { Choice, IdInPath, Nullable, Timestamp } from '../../platform/schema.ts'
import { AmountShown, Label } from '../fields.ts'
import { AssociatePlans, PlansArray } from '../plans/associate.ts'

export const CouponPath = Type.Object({ id: IdInPath })

const details = {
  status: Type.Optional(Choice(['active', 'inactive'])),
  apply_to: Type.Optional(Choice(['total_amount', 'subscription_amount', 'addon_amount'])),
  redemption_type: Type.Optional(Choice(['onetime', 'forever', 'number_time'])),
  redemption_cycle: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1_000, description: 'how many invoices, for number_time' }),
  ),
  maximum_redemption: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2_000_000_000, description: 'how many subscriptions; 0 is no limit' }),
  ),
  associate_plans: Type.Optional(AssociatePlans),
  plans_array: Type.Optional(PlansArray),
  valid_upto: Type.Optional(
    Nullable(
      Type.String({
        pattern: '^((?!0000)\\d{4}-\\d{2}-\\d{2})?$',
        patternMessage: 'must be a date such as 2027-12-31',
        description: 'the last day it can be used; empty: without end',
      }),
    ),
  ),
  currency_code: Type.Optional(
    Type.String({ minLength: 3, maxLength: 3, description: 'of a flat discount; ISO 4217' }),
  ),
}
const Discount = Type.Number({ exclusiveMinimum: 0, maximum: 9_999_999_999.999 })
const DiscountType = Choice(['percent', 'flat'])

export const CouponFields = Type.Object({
  ...details,
  coupon_name: Label,
  coupon_code: Label,
  discount: Discount,
  discount_type: Type.Optional(DiscountType),
})
export const CouponChanges = Type.Object({
  ...details,
  coupon_name: Type.Optional(Label),
  coupon_code: Type.Optional(Label),
  discount: Type.Optional(Discount),
  discount_type: Type.Optional(DiscountType),
  product_id: Type.Optional(IdInPath),
})

export const CouponSchema = Type.Object({
  id: Type.String(),
  product_id: Type.String(),
  coupon_name: Type.String(),
  coupon_code: Type.String(),
  status: Type.String(),
  apply_to: Type.String(),
  discount: AmountShown,
  discount_type: Type.String(),
  currency_code: Type.String(),
  redemption_type: Type.String(),
  redemption_cycle: Type.Integer(),
  maximum_redemption: Type.Integer(),
  used_redemption: Type.Integer(),
  associate_plans: Type.String(),
  plans_array: Nullable(Type.Array(Type.String())),
  valid_upto: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
