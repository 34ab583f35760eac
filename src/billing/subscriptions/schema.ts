import { Type } from 'typebox'
import { Choice, IdInPath, Nullable, Timestamp, TimestampText } from '../../platform/schema.ts'
import { AddonSchema } from '../addons/schema.ts'
import { CouponSchema } from '../coupons/schema.ts'
import { Address } from '../customers/schema.ts'
import { paymentTerms } from '../dates.ts'
import { AmountShown } from '../fields.ts'
import { CardSchema } from '../payment-methods/schema.ts'
import { PlanSchema } from '../plans/schema.ts'

export const SubscriptionPath = Type.Object({ subscription_id: IdInPath })

/** A moment that may not have come yet: empty until then. */
const Moment = Type.Unsafe<Date | string>({ type: 'string', description: 'ISO 8601, UTC, milliseconds; empty if none' })

/** What a subscription says of itself; what its ids name is added around it. */
export const OwnFields = {
  id: Type.String(),
  customer_id: Type.String(),
  product_id: Type.String(),
  plan_id: Type.String(),
  email_id: Type.String(),
  amount: AmountShown,
  setup_fee: AmountShown,
  quantity: Type.Integer(),
  status: Type.String(),
  payment_terms: Type.String(),
  currency_code: Type.String(),
  currency_symbol: Type.String(),
  payment_method: Type.String(),
  taxable: Type.Boolean(),
  gateway_type: Type.String(),
  gateway_id: Type.String(),
  custom_fields: Type.Array(Type.Unknown()),
  update_reason: Type.String(),
  update_type: Type.String(),
  cancel_at_end: Type.Boolean(),
  cancel_reason: Type.String(),
  starts_at: Moment,
  activation_date: Moment,
  expiry_date: Moment,
  next_billing_date: Moment,
  last_billing_date: Moment,
  canceled_date: Nullable(Timestamp),
  trial_days: Type.Integer(),
  trial_expiry_date: Moment,
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

export const SubscriptionAddonSchema = Type.Object({
  ...AddonSchema.properties,
  quantity: Type.Integer(),
  adjusted_amount: AmountShown,
})

export const SubscriptionSchema = Type.Object({
  ...OwnFields,
  plan: PlanSchema,
  addons: Type.Array(SubscriptionAddonSchema),
  coupon: Nullable(CouponSchema),
})

/** A confirmation that only the customer can give. */
export const NextAction = Type.Object({ type: Type.Literal('redirect'), url: Type.String() })
export const NewSubscriptionSchema = Type.Object({
  ...SubscriptionSchema.properties,
  next_action: Type.Optional(NextAction),
})

/** A whole number or an amount, as itself or in text. */
const NumberOrText = Type.Unsafe<number | string>({ type: ['number', 'string'], maxLength: 40 })

/** As JSON text or as itself: [{ addon_id, quantity }], or { "<id>": { checked, quantity } }. */
const AddonChoice = Type.Unsafe<unknown>({
  type: ['string', 'array', 'object'],
  maxLength: 100_000,
  description: 'JSON, or text of it: [{ addon_id, quantity }] or { "<addon id>": { checked, quantity } }',
})

const orderFields = {
  plan_id: IdInPath,
  gateway_type: Type.Optional(Choice(['test', 'stripe', 'offline'] as const)),
  payment_method: Type.Optional(Type.String({ maxLength: 100, description: 'id of a saved payment method' })),
  card: Type.Optional(CardSchema),
  token: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  quantity: Type.Optional(NumberOrText),
  price: Type.Optional(NumberOrText),
  coupon_code: Type.Optional(Type.String({ maxLength: 255 })),
  addons: Type.Optional(AddonChoice),
  starts_at: Type.Optional(TimestampText),
  payment_term: Type.Optional(Choice(paymentTerms)),
  custom_fields: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 100 })),
}

export const NewSubscription = Type.Object(orderFields)
export type NewSubscription = Type.Static<typeof NewSubscription>

export const NewSubscriptionWithCustomer = Type.Object({
  ...orderFields,
  email_id: Type.String({ maxLength: 254 }),
  first_name: Type.Optional(Type.String({ maxLength: 255 })),
  last_name: Type.Optional(Type.String({ maxLength: 255 })),
  company_name: Type.Optional(Type.String({ maxLength: 255 })),
  phone: Type.Optional(Type.String({ maxLength: 50 })),
  website: Type.Optional(Type.String({ maxLength: 2_000 })),
  billing_address: Type.Optional(Nullable(Address)),
  shipping_address: Type.Optional(Nullable(Address)),
})

export const CancelRequest = Type.Object({
  cancel_at_end: Type.Optional(Type.Unsafe<boolean | 'true' | 'false'>({ enum: [true, false, 'true', 'false'] })),
  cancel_reason: Type.Optional(Type.String({ maxLength: 2_000 })),
})

export const PlanChangeRequest = Type.Object({
  plan_id: IdInPath,
  customer_id: Type.Optional(Type.String({ maxLength: 100 })),
  payment_term: Type.Optional(Choice(paymentTerms)),
  activated_at_val: Type.Optional(Choice(['immediately', 'eot'] as const)),
  card_id: Type.Optional(Type.String({ maxLength: 100 })),
  payment_mode: Choice(['offline', 'credit_card'] as const),
  coupon_code: Type.Optional(Type.String({ maxLength: 255 })),
  price: Type.Optional(NumberOrText),
  quantity: Type.Optional(NumberOrText),
  setup_fee: Type.Optional(NumberOrText),
  addons: Type.Optional(AddonChoice),
  update_reason: Type.Optional(Type.String({ maxLength: 2_000 })),
})
export type PlanChangeRequest = Type.Static<typeof PlanChangeRequest>

export const ScheduledChangeSchema = Type.Object({
  id: Type.String(),
  subscription_id: Type.String(),
  plan_id: Type.String(),
  plan: PlanSchema,
  update_type: Type.String(),
  quantity: Type.Integer(),
  price: AmountShown,
  update_reason: Type.String(),
  activates_at: Moment,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const UserSchema = Type.Object({
  id: Type.String(),
  verified: Type.String(),
  currency: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  email: Type.String(),
  address_line1: Type.String(),
  address_line2: Type.String(),
  city: Type.String(),
  state: Type.String(),
  country: Type.String(),
  zip_code: Type.String(),
  phone: Type.String(),
  mobile: Type.String(),
  facebook_url: Type.String(),
  twitter_url: Type.String(),
  time_zone: Type.String(),
  date_format: Type.String(),
  ip_address: Type.String(),
  currency_symbol: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
