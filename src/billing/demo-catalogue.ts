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

/** A small software house: a service sold by subscription and a desktop program sold with license codes. */
export interface DemoCatalogue {
  plans: Record<'starter' | 'team' | 'business' | 'desktop' | 'updates' | 'instalments', PlanRow>
  addonIds: Record<'support' | 'storage' | 'onboarding', string>
  couponCode: string
  multiplan: Multiplan
  customers: CustomerRow[]
}

export async function fillCatalogue(platform: Platform, business: Business): Promise<DemoCatalogue> {
  const notes = await createProduct(platform.db, business, {
    product_name: 'Inkwell Notes',
    description: 'Notes that a team writes together, on every device.',
  })
  const desktop = await createProduct(platform.db, business, {
    product_name: 'Inkwell Desktop',
    description: 'The writing program for those who like to own their tools.',
  })
  const plans = await makePlans(platform, business, { notesId: notes.id, desktopId: desktop.id })
  const addonIds = await makeAddons(platform, business, plans)
  await makeCoupons(platform, business, plans)
  await makeTaxes(platform, business)
  await makeLicenses(platform, business, plans)
  const { starter, team, business: large } = plans
  const offer = {
    product_id: notes.id,
    page_title: 'Inkwell Notes: choose your plan',
    plans: [starter.id, team.id, large.id],
    preferred_plan_id: team.id,
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
  { notesId, desktopId }: { notesId: string; desktopId: string },
): Promise<DemoCatalogue['plans']> {
  const starter = await createPlan(db, business, {
    product_id: notesId,
    plan_name: 'Starter',
    plan_code: 'notes-starter',
    price: 9,
    trial_period: 14,
    plan_description: '<p>One writer, 1,000 notes, sync on three devices.</p>',
  })
  const team = await createPlan(db, business, {
    product_id: notesId,
    plan_name: 'Team',
    plan_code: 'notes-team',
    plan_type: 'per_unit',
    price: 12,
    trial_period: 14,
    plan_description: '<p>Per writer and month: shared notebooks, comments, history.</p>',
  })
  const large = await createPlan(db, business, {
    product_id: notesId,
    plan_name: 'Business, yearly',
    plan_code: 'notes-business-yearly',
    price: 990,
    billing_period: 'y',
    setup_fee: 150,
    plan_description: '<p>Up to 100 writers, single sign-on, a person to call.</p>',
  })
  const program = await createPlan(db, business, {
    product_id: desktopId,
    plan_name: 'Desktop, one licence',
    plan_code: 'desktop-once',
    price: 79,
    billing_cycle: 'onetime',
    plan_description: '<p>Yours for good, with a year of updates.</p>',
  })
  const updates = await createPlan(db, business, {
    product_id: desktopId,
    plan_name: 'Updates',
    plan_code: 'desktop-updates',
    price: 29,
    billing_period: 'y',
  })
  const instalments = await createPlan(db, business, {
    product_id: desktopId,
    plan_name: 'Desktop in three instalments',
    plan_code: 'desktop-instalments',
    price: 28,
    billing_cycle: 'specific',
    billing_cycle_num: 3,
  })
  return { starter, team, business: large, desktop: program, updates, instalments }
}

async function makeAddons({ db }: Platform, business: Business, plans: DemoCatalogue['plans']) {
  const addon = {
    billing_period: 'm',
    billing_period_num: 1,
    billing_cycle: 'lifetime',
    status: true,
    associate_plans: 'all_plans',
  } as const
  const { productId } = plans.team
  const support = await createAddon(db, business, productId, {
    ...addon,
    name: 'Priority support',
    code: 'priority-support',
    price: 15,
    category_array: ['Support'],
    description: 'Answer within two hours',
  })
  const storage = await createAddon(db, business, productId, {
    ...addon,
    name: '100 GB more',
    code: 'storage-100',
    price: 4,
    associate_plans: 'selected_plans',
    plans_array: [plans.starter.id, plans.team.id],
    category_array: ['Storage'],
  })
  const onboarding = await createAddon(db, business, productId, {
    ...addon,
    name: 'Onboarding session',
    code: 'onboarding',
    price: 120,
    billing_cycle: 'onetime',
    category_array: ['Support'],
  })
  return { support: support.id, storage: storage.id, onboarding: onboarding.id }
}

async function makeCoupons({ db }: Platform, business: Business, plans: DemoCatalogue['plans']): Promise<void> {
  await createCoupon(db, business, plans.team.productId, {
    coupon_name: 'Welcome: 20 % off the first three months',
    coupon_code: 'WELCOME20',
    discount: 20,
    redemption_type: 'number_time',
    redemption_cycle: 3,
    maximum_redemption: 500,
  })
  await createCoupon(db, business, plans.desktop.productId, {
    coupon_name: 'Conference visitors',
    coupon_code: 'CONF10',
    discount: 10,
    discount_type: 'flat',
    maximum_redemption: 50,
    associate_plans: 'selected_plans',
    plans_array: [plans.desktop.id],
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
  await createLicense(db, business, plans.desktop.productId, {
    name: 'Desktop keys, printed batch',
    license_codes: Array.from({ length: 25 }, (_, i) => `INK-2026-${String(7_310 + i * 17).padStart(5, '0')}`),
    plan_id: plans.desktop.id,
  })
  await createLicense(db, business, plans.desktop.productId, {
    name: 'Desktop keys',
    method: 'auto',
    quantity: 10,
    pattern: 'INK-XXXX-XXXX-XXXX',
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
