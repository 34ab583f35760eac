import type { Page } from 'playwright-core'
import type { TestBusiness } from '../world.ts'

/** A shop with every kind of plan, made through the API as a merchant would. */
export interface Shop {
  productId: string
  plans: Record<'basic' | 'team' | 'year' | 'trial' | 'once' | 'gift' | 'free', string>
  addons: Record<'jam' | 'board', string>
  /** a checkout page of the given plans; answers its id */
  page(plans: string[], more?: object): Promise<string>
}

const made = async (answer: Promise<{ status: number; body: { data: { id: string } } }>): Promise<string> => {
  const { status, body } = await answer
  if (status !== 200) throw new Error(`The shop could not be made: ${JSON.stringify(body)}`)
  return body.data.id
}

export async function makeShop(business: TestBusiness): Promise<Shop> {
  const { billing } = business
  const productId = await made(
    billing.post('/product/create', {
      product_name: 'Bread Box',
      description: '<p>Fresh bread at your door, every <b>Saturday</b>.</p>',
      redirect_url: 'https://bread.example/welcome',
    }),
  )
  const plan = (plan_code: string, plan_name: string, fields: object) =>
    made(billing.post('/plan/create', { product_id: productId, plan_code, plan_name, billing_period: 'm', ...fields }))
  const plans = {
    basic: await plan('basic', 'Basic', { price: 9.5, plan_description: 'One loaf a week.' }),
    team: await plan('team', 'Team', {
      price: 12,
      plan_type: 'per_unit',
      setup_fee: 25,
      plan_description: '<ul><li>One loaf for each person</li><li>Delivered to the office</li></ul>',
    }),
    year: await plan('year', 'Yearly', { price: 99, billing_period: 'y', plan_description: 'Two months for free.' }),
    trial: await plan('trial', 'Try first', { price: 15, trial_period: 14, trial_type: 'day' }),
    once: await plan('once', 'Gift box', { price: 40, billing_cycle: 'onetime' }),
    gift: await plan('gift', 'Supporter', { price: 5, plan_type: 'donation' }),
    free: await plan('free', 'Newsletter', { price: 0 }),
  }
  const addon = (code: string, name: string, fields: object) =>
    made(
      billing.post(`/addon/${productId}`, {
        code,
        name,
        billing_period: 'm',
        billing_period_num: 1,
        billing_cycle: 'lifetime',
        status: 'true',
        associate_plans: 'all_plans',
        ...fields,
      }),
    )
  const addons = {
    jam: await addon('jam', 'A jar of jam', { price: 4, category_array: ['Extras'] }),
    board: await addon('board', 'Bread board', { price: 20, billing_cycle: 'onetime', category_array: ['Kitchen'] }),
  }
  await billing.post('/taxes', { name: 'VAT', country: 'DE', rate: 19 })
  await billing.post(`/coupon/${productId}`, {
    coupon_name: 'Welcome',
    coupon_code: 'WELCOME20',
    discount: 20,
    discount_type: 'percent',
    redemption_type: 'onetime',
    apply_to: 'total_amount',
    associate_plans: 'all_plans',
    maximum_redemption: 0,
  })
  await billing.post(`/products/${productId}/licenses`, {
    name: 'Door codes',
    method: 'auto',
    pattern: 'BREAD-XXXX-XXXX',
  })
  let pages = 0
  return {
    productId,
    plans,
    addons,
    page: (ids, more = {}) =>
      made(
        billing.post('/multiplans', {
          product_id: productId,
          page_title: `Bread for everyone ${pages++ || ''}`.trim(),
          plans: ids,
          ...more,
        }),
      ),
  }
}

let people = 0

/** Fills in a person; answers the email address. */
export async function fillPerson(page: Page, country = 'US'): Promise<string> {
  const email = `ann${++people}@example.com`
  await page.getByRole('textbox', { name: 'Email' }).fill(email)
  await page.getByLabel('First name').fill('Ann')
  await page.getByLabel('Last name').fill('Baker')
  await page.getByLabel('Country').selectOption(country)
  await page.getByLabel('Street and number').fill('1 Mill Lane')
  await page.getByLabel('City').fill('Portland')
  return email
}

export async function fillCard(page: Page, number = '4242424242424242'): Promise<void> {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expiry date').fill('12 / 35')
  await page.getByLabel('Security code').fill('123')
}
