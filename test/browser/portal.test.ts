import { afterAll, beforeAll, expect, test } from 'vitest'
import { enterPath } from '../../src/checkout/portal/session.ts'
import { accessibilityFaults, type BrowserWorld, browserWorld, picture } from '../browser.ts'
import type { TestBusiness } from '../world.ts'
import { fillCard, makeShop, type Shop } from './shop.ts'

/** A customer looks after what was bought, and a reader signs up, in a real browser. */

let w: BrowserWorld
let business: TestBusiness
let shop: Shop
beforeAll(async () => {
  w = await browserWorld()
  business = await w.business()
  shop = await makeShop(business)
  await shop.page([shop.plans.basic, shop.plans.year])
})
afterAll(() => w.close())

test('the portal: preview and change the plan, change the card, cancel', async () => {
  const { body } = await business.billing.post('/subscription', {
    email_id: 'ann@example.com',
    first_name: 'Ann',
    plan_id: shop.plans.basic,
    gateway_type: 'test',
    card: { number: '4242424242424242', exp_month: 12, exp_year: 2035, cvc: '123' },
  })
  const page = await w.visitor()
  await page.goto(w.url + enterPath(w.platform.secrets, business.id, body.data.customer_id))
  await page.getByRole('heading', { name: 'Bread Box · Basic' }).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByRole('link', { name: 'Change plan' }).click()
  await page.getByRole('radio', { name: /^Yearly/ }).check()
  await page.getByRole('button', { name: 'See what it costs' }).click()
  const shown = await page.locator('[data-total]').innerText()
  expect(await accessibilityFaults(page)).toEqual([])
  await picture(page, 'portal-preview')
  await page.getByRole('button', { name: 'Change my plan' }).click()
  await page.getByText('Your plan is now Yearly.').waitFor()
  const { data: invoices } = (await business.billing.get(`/invoices?subscription_id=${body.data.id}`)).body
  expect(`$${invoices[0].credit_note.charge_amount.toFixed(2)}`).toBe(shown)
  await page.getByRole('link', { name: 'Change card' }).click()
  await fillCard(page, '5555555555554444')
  await page.getByRole('button', { name: 'Save card' }).click()
  await page.getByText('Mastercard ending in 4444').waitFor()
  await picture(page, 'portal')
  await page.getByRole('link', { name: 'Cancel subscription' }).click()
  await page.getByRole('button', { name: 'Cancel my subscription' }).click()
  await page.getByText('Your subscription ends on').waitFor()
})

test('signing up to a list, without script', async () => {
  const { body } = await business.email.post('/lists', { name: 'Bread news' })
  const page = await w.visitor({ javaScriptEnabled: false, viewport: { width: 390, height: 800 } })
  await page.goto(`${w.url}/subscribe/${business.id}/${body.data.list.id}`)
  await page.getByRole('button', { name: 'Subscribe' }).click()
  await page.locator('#f-email-error').waitFor()
  await page.getByRole('textbox', { name: 'Email' }).fill('reader@example.com')
  await picture(page, 'subscribe')
  await page.getByRole('button', { name: 'Subscribe' }).click()
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
})
