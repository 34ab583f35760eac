import { type TSchema, Type } from 'typebox'
import type { EventType } from '../platform/events.ts'
import { AddonSchema } from './addons/schema.ts'
import { CouponSchema } from './coupons/schema.ts'
import { CustomerSchema } from './customers/schema.ts'
import { customerExample, planExample, subscriptionExample } from './event-examples.ts'
import { LicenseSchema } from './licenses/schema.ts'
import { MultiplanSchema } from './multiplans/schema.ts'
import { PlanSchema } from './plans/schema.ts'
import { ProductSchema } from './products/schema.ts'
import { TaxSchema } from './taxes/schema.ts'

const times = { createdAt: '2026-11-15T09:30:00.000Z', updatedAt: '2026-11-15T09:30:00.000Z' }
const { id: planId, product_id: productId } = planExample

const product = {
  id: productId,
  product_name: 'Inkwell Notes',
  description: 'Notes that a team writes together',
  redirect_url: null,
  ...times,
}

const addon = {
  id: '6af8f1c0a1b2c3d4e5000004',
  product_id: productId,
  user_id: '6af8f1c0a1b2c3d4e5000000',
  name: 'Priority support',
  code: 'priority-support',
  price: 15,
  currency_code: 'USD',
  currency_symbol: '$',
  billing_period: 'm',
  billing_period_num: 1,
  billing_cycle: 'lifetime',
  status: true,
  associate_plans: 'all',
  plans_array: null,
  category_array: ['Support'],
  description: '',
  ...times,
}

const multiplan = {
  id: '6af8f1c0a1b2c3d4e5000005',
  product_id: productId,
  page_title: 'Choose your plan',
  multiplan_list: 'radio',
  preferred_plan_id: planId,
  plans: [planExample],
  checkout_page: 'https://pay.example.com/checkout/6af8f1c0a1b2c3d4e5000005',
  ...times,
}

const coupon = {
  id: '6af8f1c0a1b2c3d4e5000006',
  product_id: productId,
  coupon_name: 'Welcome',
  coupon_code: 'WELCOME20',
  status: 'active',
  apply_to: 'total_amount',
  discount: 20,
  discount_type: 'percent',
  currency_code: 'USD',
  redemption_type: 'number_time',
  redemption_cycle: 3,
  maximum_redemption: 500,
  used_redemption: 41,
  associate_plans: 'all',
  plans_array: null,
  valid_upto: '2027-12-31',
  ...times,
}

const tax = {
  id: '6af8f1c0a1b2c3d4e5000007',
  name: 'VAT',
  country: 'GB',
  state: '',
  rate: 20,
  ...times,
}

const license = {
  id: '6af8f1c0a1b2c3d4e5000008',
  product_id: productId,
  name: 'Desktop keys',
  method: 'list',
  pattern: '',
  status: 'active',
  total_license: 500,
  used_license: 41,
  license_codes: [],
  plan_id: '',
  ...times,
}

const sale = {
  license_id: license.id,
  product_id: productId,
  plan_id: planId,
  subscription_id: subscriptionExample.id,
  code: 'K7QM-2WXN-9RTD',
}
const SaleSchema = Type.Object({
  license_id: Type.String(),
  product_id: Type.String(),
  plan_id: Type.String(),
  subscription_id: Type.String(),
  code: Type.String(),
})

const all = (name: string, what: string, data: TSchema, example: object): EventType[] => [
  { type: `${name}_create`, summary: `${what} was created.`, data, example },
  { type: `${name}_update`, summary: `${what} was changed.`, data, example },
  { type: `${name}_delete`, summary: `${what} was deleted.`, data, example },
]

/** What the catalogue tells the outside. */
export const catalogueEventTypes: readonly EventType[] = [
  ...all('customer', 'A customer', CustomerSchema, customerExample),
  ...all('product', 'A product', ProductSchema, product),
  ...all('plan', 'A plan', PlanSchema, planExample),
  ...all('addon', 'An add-on', AddonSchema, addon),
  ...all('multiplan', 'A multiplan', MultiplanSchema, multiplan),
  ...all('coupon', 'A coupon', CouponSchema, coupon),
  ...all('tax', 'A tax', TaxSchema, tax),
  ...all('license', 'A license (its codes are left out)', LicenseSchema, license),
  { type: 'license_assign', summary: 'A sale was given its license code.', data: SaleSchema, example: sale },
  {
    type: 'license_exhausted',
    summary: 'A sale found no free license code. Add codes to the license.',
    data: SaleSchema,
    example: { ...sale, code: '' },
  },
]
