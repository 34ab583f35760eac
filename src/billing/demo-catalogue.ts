import type { Business } from '../platform/business.ts'
import type { Platform } from '../platform/platform.ts'
import { createAddon } from './addons/addons.ts'
import { createCoupon } from './coupons/coupons.ts'
import { createCustomer } from './customers/customers.ts'
import type { CustomerFields } from './customers/schema.ts'
import type { CustomerRow } from './customers/store.ts'
import { createLicense } from './licenses/licenses.ts'
import { createMultiplan, type Multiplan } from './multiplans/multiplans.ts'
import { createPlan } from './plans/plans.ts'
import type { PlanRow } from './plans/store.ts'
import { createProduct } from './products/products.ts'
import { createTax } from './taxes/taxes.ts'

/** A bakery that sends bread by subscription and teaches baking, with access codes to its courses. */
export interface DemoCatalogue {
  plans: Record<'small' | 'family' | 'office' | 'course' | 'membership' | 'instalments', PlanRow>
  addonIds: Record<'spreads' | 'cake' | 'knife', string>
  couponCode: string
  multiplan: Multiplan
  customers: CustomerRow[]
}

export async function fillCatalogue(platform: Platform, business: Business): Promise<DemoCatalogue> {
  const box = await createProduct(platform.db, business, {
    product_name: 'Bread box',
    description: 'Sourdough from the night’s bake, at the door every Saturday.',
  })
  const school = await createProduct(platform.db, business, {
    product_name: 'Baking school',
    description: 'Courses to watch and bake along with, at your own pace.',
  })
  const plans = await makePlans(platform, business, { boxId: box.id, schoolId: school.id })
  const addonIds = await makeAddons(platform, business, plans)
  await makeCoupons(platform, business, plans)
  await makeTaxes(platform, business)
  await makeLicenses(platform, business, plans)
  const offer = {
    product_id: box.id,
    page_title: 'Choose your bread box',
    plans: [plans.small.id, plans.family.id, plans.office.id],
    preferred_plan_id: plans.family.id,
  }
  const multiplan = await createMultiplan(platform.db, business, offer, platform.config.publicUrl)
  const customers = await platform.db.begin(async tx => {
    const made: CustomerRow[] = []
    for (const person of people) made.push(await createCustomer(tx, business, person, 'dashboard'))
    return made
  })
  return { plans, addonIds, couponCode: 'WELCOME20', multiplan, customers }
}

async function makePlans(
  { db }: Platform,
  business: Business,
  { boxId, schoolId }: { boxId: string; schoolId: string },
): Promise<DemoCatalogue['plans']> {
  const small = await createPlan(db, business, {
    product_id: boxId,
    plan_name: 'Small box',
    plan_code: 'box-small',
    price: 19,
    trial_period: 14,
    plan_description: '<p>One loaf a week, the first two weeks free.</p>',
  })
  const family = await createPlan(db, business, {
    product_id: boxId,
    plan_name: 'Family box',
    plan_code: 'box-family',
    plan_type: 'per_unit',
    price: 16,
    plan_description: '<p>As many loaves a week as you like; the price is for each.</p>',
  })
  const office = await createPlan(db, business, {
    product_id: boxId,
    plan_name: 'Office breakfast, yearly',
    plan_code: 'box-office-yearly',
    price: 990,
    billing_period: 'y',
    setup_fee: 60,
    plan_description: '<p>Rolls and bread for twenty, every working Monday.</p>',
  })
  const course = await createPlan(db, business, {
    product_id: schoolId,
    plan_name: 'Sourdough course',
    plan_code: 'course-sourdough',
    price: 79,
    billing_cycle: 'onetime',
    plan_description: '<p>Twelve lessons, yours for good.</p>',
  })
  const membership = await createPlan(db, business, {
    product_id: schoolId,
    plan_name: 'School membership, yearly',
    plan_code: 'school-yearly',
    price: 120,
    billing_period: 'y',
  })
  const instalments = await createPlan(db, business, {
    product_id: schoolId,
    plan_name: 'Sourdough course in three instalments',
    plan_code: 'course-sourdough-3',
    price: 28,
    billing_cycle: 'specific',
    billing_cycle_num: 3,
  })
  return { small, family, office, course, membership, instalments }
}

async function makeAddons({ db }: Platform, business: Business, plans: DemoCatalogue['plans']) {
  const addon = {
    billing_period: 'm',
    billing_period_num: 1,
    billing_cycle: 'lifetime',
    status: true,
    associate_plans: 'all_plans',
  } as const
  const { productId } = plans.family
  const spreads = await createAddon(db, business, productId, {
    ...addon,
    name: 'Butter and jam',
    code: 'spreads',
    price: 6,
    category_array: ['Breakfast'],
    description: 'From the dairy next door; order by Wednesday',
  })
  const cake = await createAddon(db, business, productId, {
    ...addon,
    name: 'Cake of the month',
    code: 'cake',
    price: 14,
    associate_plans: 'selected_plans',
    plans_array: [plans.small.id, plans.family.id],
    category_array: ['Treats'],
  })
  const knife = await createAddon(db, business, productId, {
    ...addon,
    name: 'Bread knife',
    code: 'knife',
    price: 25,
    billing_cycle: 'onetime',
    category_array: ['Breakfast'],
  })
  return { spreads: spreads.id, cake: cake.id, knife: knife.id }
}

async function makeCoupons({ db }: Platform, business: Business, plans: DemoCatalogue['plans']): Promise<void> {
  await createCoupon(db, business, plans.family.productId, {
    coupon_name: 'Welcome: 20 % off the first three months',
    coupon_code: 'WELCOME20',
    discount: 20,
    redemption_type: 'number_time',
    redemption_cycle: 3,
    maximum_redemption: 500,
  })
  await createCoupon(db, business, plans.course.productId, {
    coupon_name: 'Market visitors',
    coupon_code: 'MARKET10',
    discount: 10,
    discount_type: 'flat',
    maximum_redemption: 50,
    associate_plans: 'selected_plans',
    plans_array: [plans.course.id],
  })
}

const taxes = [
  { name: 'USt', country: 'DE', rate: 19 },
  { name: 'TVA', country: 'FR', rate: 20 },
  { name: 'VAT', country: 'GB', rate: 20 },
  { name: 'GST', country: 'IN', rate: 18 },
  { name: 'GST', country: 'CA', rate: 5 },
  { name: 'GST', country: 'CA', state: 'Quebec', rate: 5 },
  { name: 'QST', country: 'CA', state: 'Quebec', rate: 9.975 },
  { name: 'Sales tax', country: 'US', state: 'California', rate: 7.25 },
]

async function makeTaxes({ db }: Platform, business: Business): Promise<void> {
  for (const tax of taxes) await createTax(db, business, tax)
}

async function makeLicenses({ db }: Platform, business: Business, plans: DemoCatalogue['plans']): Promise<void> {
  await createLicense(db, business, plans.course.productId, {
    name: 'Sourdough course, printed cards',
    license_codes: Array.from({ length: 25 }, (_, i) => `DOUGH-${String(7_310 + i * 17).padStart(5, '0')}`),
    plan_id: plans.course.id,
  })
  await createLicense(db, business, plans.course.productId, {
    name: 'Access codes',
    method: 'auto',
    quantity: 10,
    pattern: 'BAKE-XXXX-XXXX',
  })
}

const people: CustomerFields[] = [
  person('Grace', 'Okafor', {
    company_name: 'Okafor Studio',
    city: 'San Francisco',
    state: 'California',
    country: 'US',
  }),
  person('Jonas', 'Weber', {
    company_name: 'Weber & Söhne GmbH',
    city: 'Hamburg',
    country: 'DE',
    tax_id: 'DE123456789',
  }),
  person('Amélie', 'Laurent', { city: 'Lyon', country: 'FR' }),
  person('Priya', 'Raman', { company_name: 'Raman Textiles', city: 'Pune', state: 'Maharashtra', country: 'IN' }),
  person('Oliver', 'Hughes', { company_name: 'Hughes Architects', city: 'Bristol', country: 'GB' }),
  person('Chloé', 'Tremblay', { city: 'Montréal', state: 'Quebec', country: 'CA' }),
  person('Noah', 'Fraser', { city: 'Toronto', state: 'Ontario', country: 'CA' }),
  person('Mei', 'Tanaka', { company_name: 'Tanaka Design', city: 'Osaka', country: 'JP' }),
  person('Lucas', 'Almeida', { city: 'Porto', country: 'PT' }),
  person('Sofia', 'Lind', { company_name: 'Föreningen Lind', city: 'Uppsala', country: 'SE', tax_exempt: true }),
  person('Daniel', 'Cohen', { city: 'Austin', state: 'Texas', country: 'US' }),
  person('Hannah', 'Keller', { company_name: 'Keller Verlag', city: 'Zürich', country: 'CH' }),
]

function person(
  first_name: string,
  last_name: string,
  more: { city: string; state?: string; country: string; company_name?: string; tax_id?: string; tax_exempt?: boolean },
): CustomerFields {
  const { city, state = '', country, ...rest } = more
  const plain = `${first_name}.${last_name}`.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return { first_name, last_name, email_id: `${plain}@example.com`, billing_address: { city, state, country }, ...rest }
}
