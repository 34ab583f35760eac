import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { getAddons } from '../addons/addons.ts'
import { contextOf } from '../context.ts'
import { findUsableCoupon } from '../coupons/redeem.ts'
import { createCustomer } from '../customers/customers.ts'
import { pageOfInvoices } from '../invoices/store.ts'
import { getPlan } from '../plans/plans.ts'
import { taxFor } from '../taxes/tax-for.ts'
import { createSubscription } from './create.ts'
import { quoteSubscription } from './quote.ts'

let w: World
let shop: TestBusiness
const plans: string[] = []
const addons: string[] = []
beforeAll(async () => {
  w = await world()
  shop = await w.business()
  const id = async (answer: Promise<{ body: { data: { id: string } } }>) => (await answer).body.data.id
  const product_id = await id(shop.billing.post('/product/create', { product_name: 'Box' }))
  const plan = (plan_code: string, fields: object) =>
    id(
      shop.billing.post('/plan/create', {
        product_id,
        plan_code,
        plan_name: plan_code,
        billing_period: 'm',
        ...fields,
      }),
    )
  plans.push(
    await plan('flat', { price: 9.99 }),
    await plan('unit', { price: 3.33, plan_type: 'per_unit', setup_fee: 12.34 }),
    await plan('gift', { price: 5, plan_type: 'donation' }),
    await plan('year', { price: 100, billing_period: 'y', setup_fee: 1 }),
    await plan('once', { price: 40, billing_cycle: 'onetime' }),
  )
  const addon = (code: string, fields: object) =>
    id(
      shop.billing.post(`/addon/${product_id}`, {
        code,
        name: code,
        status: true,
        associate_plans: 'all_plans',
        billing_period_num: 1,
        billing_period: 'm',
        billing_cycle: 'lifetime',
        price: 7,
        ...fields,
      }),
    )
  addons.push(
    await addon('monthly', {}),
    await addon('once', { billing_cycle: 'onetime' }),
    await addon('weekly', { billing_period: 'w', price: 2 }),
  )
  for (const [coupon_code, fields] of Object.entries({
    P33: { discount: 33, discount_type: 'percent' },
    F5: { discount: 5, discount_type: 'flat' },
  }))
    await shop.billing.post(`/coupon/${product_id}`, {
      coupon_name: coupon_code,
      coupon_code,
      redemption_type: 'onetime',
      apply_to: 'total_amount',
      associate_plans: 'all_plans',
      ...fields,
    })
  await shop.billing.post('/taxes', { name: 'VAT', country: 'DE', rate: 19 })
  await shop.billing.post('/taxes', { name: 'GST', country: 'CA', rate: 5 })
  await shop.billing.post('/taxes', { name: 'PST', country: 'CA', rate: 7.25 })
})
afterAll(() => w.close())

test('what is quoted is what is billed, to the cent', async () => {
  let people = 0
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        plan: fc.nat(plans.length - 1),
        quantity: fc.integer({ min: 1, max: 99 }),
        amount: fc.integer({ min: 1, max: 100_000 }),
        addons: fc.uniqueArray(fc.nat(addons.length - 1)),
        addonQuantity: fc.integer({ min: 1, max: 9 }),
        coupon: fc.constantFrom(undefined, 'P33', 'F5'),
        country: fc.constantFrom('US', 'DE', 'CA'),
      }),
      async given => {
        const context = await contextOf({ platform: w.platform, db: w.db, business: shop })
        const plan = await getPlan(w.db, shop.id, plans[given.plan]!)
        const chosen = await getAddons(
          w.db,
          shop.id,
          given.addons.map(i => addons[i]!),
        )
        const coupon = given.coupon
          ? await findUsableCoupon(w.db, shop, { plan, code: given.coupon, now: context.now })
          : undefined
        const gift = plan.planType === 'donation'
        const quote = quoteSubscription(context, {
          plan,
          quantity: given.quantity,
          amountMinor: gift ? BigInt(given.amount) : undefined,
          addons: chosen.map(addon => ({ addon, quantity: given.addonQuantity })),
          coupon,
          rates: await taxFor(w.db, shop.id, { country: given.country, taxExempt: false }),
        })
        const customer = await w.db.begin(tx =>
          createCustomer(tx, shop, {
            email_id: `p${++people}@example.com`,
            billing_address: { country: given.country },
          }),
        )
        const { id } = await createSubscription(
          context,
          customer,
          {
            plan_id: plan.id,
            gateway_type: 'offline',
            quantity: given.quantity,
            ...(gift && { price: `${Math.floor(given.amount / 100)}.${String(given.amount % 100).padStart(2, '0')}` }),
            addons: chosen.map(addon => ({ addon_id: addon.id, quantity: given.addonQuantity })),
            ...(given.coupon && { coupon_code: given.coupon }),
          },
          undefined,
        )
        const { rows } = await pageOfInvoices(w.db, shop.id, { subscriptionId: id }, { page: 1, limit: 9, offset: 0 })
        expect(rows.map(row => [row.netMinor, row.taxMinor, row.totalMinor])).toEqual([
          [quote.first.netMinor, quote.first.taxMinor, quote.todayMinor],
        ])
        expect(quote.later === undefined).toBe(plan.billingCycle === 'onetime')
      },
    ),
    { numRuns: 40 },
  )
})

test('the next invoice leaves out what is paid once, and a coupon that is used up', async () => {
  const context = await contextOf({ platform: w.platform, db: w.db, business: shop })
  const plan = await getPlan(w.db, shop.id, plans[1]!)
  const coupon = await findUsableCoupon(w.db, shop, { plan, code: 'F5', now: context.now })
  const chosen = await getAddons(w.db, shop.id, [addons[1]!])
  const quote = quoteSubscription(context, {
    plan,
    quantity: 10,
    amountMinor: undefined,
    addons: chosen.map(addon => ({ addon, quantity: 1 })),
    coupon,
    rates: [],
  })
  expect(quote.first.totalMinor).toBe(3330n + 1234n + 700n - 500n)
  expect(quote.later?.totalMinor).toBe(3330n)
})
