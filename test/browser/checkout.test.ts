import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accessibilityFaults, type BrowserWorld, browserWorld, picture } from '../browser.ts'
import type { TestBusiness } from '../world.ts'
import { fillCard, fillPerson, makeShop, type Shop } from './shop.ts'

/** People at the counter, in a real browser. */

let w: BrowserWorld
let business: TestBusiness
let shop: Shop
let everything: string
beforeAll(async () => {
  w = await browserWorld()
  business = await w.business()
  shop = await makeShop(business)
  everything = await shop.page(Object.values(shop.plans), { preferred_plan_id: shop.plans.team })
})
afterAll(() => w.close())

const openPage = async (id: string, options = {}): Promise<Page> => {
  const page = await w.visitor(options)
  await page.goto(`${w.url}/checkout/${id}`)
  return page
}
const total = (page: Page) => page.locator('[data-total]').innerText()
const chargesOf = (email: string) =>
  w.db<{ amount: number }[]>`
  select t.amount_minor::int as amount from billing_transaction t
  join billing_customer c on c.business_id = t.business_id and c.id = t.customer_id
  where t.business_id = ${business.id} and t.type = 'payment' and t.state = 'succeeded' and c.email_id = ${email}`.then(
    rows => rows.map(row => row.amount),
  )
const payButton = (page: Page) => page.locator('.paybar button')

describe('each kind of plan', () => {
  test.each([
    ['Basic', '$9.50', 'Thank you for your order', [950]],
    ['Team', '$37.00', 'Thank you for your order', [3700]],
    ['Yearly', '$99.00', 'Thank you for your order', [9900]],
    ['Try first', '$0.00', 'Your trial has begun', []],
    ['Gift box', '$40.00', 'Thank you for your order', [4000]],
    ['Supporter', '$5.00', 'Thank you for your order', [500]],
  ])('%s is bought for %s', async (name, shown, title, charged) => {
    const page = await openPage(everything)
    await page.getByRole('radio', { name: new RegExp(`^${name}`) }).check()
    await expect.poll(() => total(page)).toBe(shown)
    const email = await fillPerson(page)
    await fillCard(page)
    await payButton(page).click()
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    expect(await chargesOf(email)).toEqual(charged)
  })
})

test('choices, coupon and tax change the total at once; the receipt shows what was paid', async () => {
  const page = await openPage(everything)
  const problems: string[] = []
  page.on('console', message => message.type() === 'error' && problems.push(message.text()))
  page.on('request', request => !request.url().startsWith(w.url) && problems.push(request.url()))
  expect(await page.getByRole('radio', { name: /^Team/ }).isChecked()).toBe(true)
  await page.getByLabel('Quantity', { exact: true }).fill('3')
  await expect.poll(() => total(page)).toBe('$61.00')
  await page.getByRole('checkbox', { name: /jar of jam/ }).check()
  await expect.poll(() => total(page)).toBe('$65.00')
  const email = await fillPerson(page, 'DE')
  await expect.poll(() => total(page)).toBe('$77.35')
  await page.getByLabel('Coupon code').fill('nonsense')
  await page.getByLabel('Coupon code').press('Enter')
  await page.getByText('We don’t know this code.').waitFor()
  await page.getByLabel('Coupon code').fill('welcome20')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('WELCOME20 saves you $8.00.').waitFor()
  expect(await total(page)).toBe('$67.83')
  await picture(page, 'checkout-filled')
  await fillCard(page)
  await page.getByRole('button', { name: 'Pay $67.83' }).click()
  await page.getByText('Visa ending in 4242').waitFor()
  await page.getByText(/^BREAD-\w{4}-\w{4}$/).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await picture(page, 'receipt')
  expect(await chargesOf(email)).toEqual([6783])
  expect(problems).toEqual([])
})

test('a declined card is told beside its field, nothing else is lost, and another card pays', async () => {
  const page = await openPage(everything)
  await page.getByRole('radio', { name: /^Basic/ }).check()
  const email = await fillPerson(page)
  await fillCard(page, '4000000000000002')
  await expect.poll(() => total(page)).toBe('$9.50')
  await payButton(page).click()
  const number = page.getByLabel('Card number')
  await page.locator('#f-card_number-error').waitFor()
  expect(await number.getAttribute('aria-invalid')).toBe('true')
  expect(await number.inputValue()).toBe('')
  expect(await page.getByRole('textbox', { name: 'Email' }).inputValue()).toBe(email)
  expect(await page.getByLabel('Country').inputValue()).toBe('US')
  expect(await page.getByRole('radio', { name: /^Basic/ }).isChecked()).toBe(true)
  // Who can't see the page hears it: the summary of faults has the focus.
  expect(await page.evaluate('document.activeElement.id')).toBe('faults')
  expect(await accessibilityFaults(page)).toEqual([])
  await picture(page, 'checkout-declined')
  await fillCard(page)
  await payButton(page).click()
  await page.getByText('Thank you for your order').waitFor()
  expect(await chargesOf(email)).toEqual([950])
})

test('a card that needs authentication: refused once, confirmed the second time', async () => {
  const page = await openPage(everything)
  await page.getByRole('radio', { name: /^Gift box/ }).check()
  await expect.poll(() => total(page)).toBe('$40.00')
  const email = await fillPerson(page)
  await fillCard(page, '4000002500003155')
  await payButton(page).click()
  await page.getByRole('heading', { name: 'Confirm your payment' }).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await picture(page, 'confirm')
  await page.getByRole('button', { name: 'Refuse' }).click()
  await page.locator('#f-card_number-error').waitFor()
  expect(await page.getByRole('textbox', { name: 'Email' }).inputValue()).toBe(email)
  await fillCard(page, '4000002500003155')
  await payButton(page).click()
  await page.getByRole('button', { name: 'Confirm payment' }).click()
  await page.getByText('Thank you for your order').waitFor()
  expect(await chargesOf(email)).toEqual([4000])
})

test('double click, back button and a second tab charge once', async () => {
  const page = await openPage(everything)
  const tab = await page.context().newPage()
  await tab.goto(page.url())
  for (const one of [page, tab]) {
    await one.getByRole('radio', { name: /^Basic/ }).check()
    await expect.poll(() => total(one)).toBe('$9.50')
  }
  const email = await fillPerson(page)
  await fillCard(page)
  await fillPerson(tab)
  await tab.getByRole('textbox', { name: 'Email' }).fill(email)
  await fillCard(tab)
  await payButton(page).dblclick()
  await page.getByText('Thank you for your order').waitFor()
  await payButton(tab).click()
  await tab.getByText('Thank you for your order').waitFor()
  await page.goBack()
  await page.getByText('You have already placed this order.').waitFor()
  await page.getByRole('link', { name: 'See your receipt' }).click()
  await page.getByText('Thank you for your order').waitFor()
  expect(await chargesOf(email)).toEqual([950])
})

test('everything works with the keyboard alone', async () => {
  const page = await openPage(await shop.page([shop.plans.basic, shop.plans.once]))
  const tabTo = async (selector: string) => {
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
    }
    throw new Error(`${selector} can't be reached with the keyboard`)
  }
  await tabTo('[name=plan]')
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => total(page)).toBe('$40.00')
  const type = async (name: string, text: string) => {
    await tabTo(`[name=${name}]`)
    await page.keyboard.type(text)
  }
  await type('email', 'keys@example.com')
  await type('first_name', 'Ann')
  await type('last_name', 'Baker')
  await type('country', 'Germ')
  await type('street', '1 Mill Lane')
  await type('city', 'Berlin')
  await type('card_number', '4242424242424242')
  await type('card_expiry', '1235')
  await type('card_cvc', '123')
  await expect.poll(() => total(page)).toBe('$47.60')
  await tabTo('.paybar button')
  const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
  expect(outline).toBe('solid')
  await page.keyboard.press('Enter')
  await page.getByText('Thank you for your order').waitFor()
  expect(await chargesOf('keys@example.com')).toEqual([4760])
})

test('on a phone nothing sticks out, and the total is always in sight', async () => {
  const page = await openPage(everything, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true })
  const inSight = async () => {
    const box = await page.locator('.paybar .due').boundingBox()
    return box !== null && box.y >= 0 && box.y + box.height <= 740
  }
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
  expect(await inSight()).toBe(true)
  await page.evaluate('scrollTo(0, document.body.scrollHeight)')
  expect(await inSight()).toBe(true)
  await page.getByRole('radio', { name: /^Yearly/ }).check()
  await expect.poll(() => page.locator('.paybar .due').innerText()).toContain('$99.00')
  await picture(page, 'checkout-phone')
  await fillPerson(page)
  await fillCard(page)
  await page.getByRole('button', { name: 'Pay $99.00' }).click()
  await page.getByText('Thank you for your order').waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
  await picture(page, 'receipt-phone')
})

test('without script: update, coupon, wrong total, and paying', async () => {
  const page = await openPage(await shop.page([shop.plans.basic, shop.plans.team], { multiplan_list: 'select' }), {
    javaScriptEnabled: false,
  })
  await page.getByLabel('Plan').selectOption({ label: 'Team · $12.00 per unit and month · plus $25.00 setup fee' })
  await page.getByRole('button', { name: 'Update total' }).click()
  await page.getByLabel('Quantity', { exact: true }).fill('2')
  await page.getByLabel('Coupon code').fill('WELCOME20')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('WELCOME20 saves you $4.80.').waitFor()
  expect(await total(page)).toBe('$44.20')
  await page.getByLabel('Quantity', { exact: true }).fill('5')
  const email = await fillPerson(page)
  await fillCard(page)
  await payButton(page).click()
  await page.getByText('The total is now $73.00.').waitFor()
  expect(await chargesOf(email)).toEqual([])
  await fillCard(page)
  await payButton(page).click()
  await page.getByText('Thank you for your order').waitFor()
  expect(await chargesOf(email)).toEqual([7300])
})

describe('accessible to all', () => {
  test.each(['light', 'dark'] as const)('no serious fault in %s', async colorScheme => {
    const page = await openPage(everything, { colorScheme })
    await picture(page, `checkout-${colorScheme}`)
    expect(await accessibilityFaults(page)).toEqual([])
    await payButton(page).click()
    await page.locator('#f-email-error').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await picture(page, `checkout-faults-${colorScheme}`)
  })

  test('the pages that say no are kind and accessible', async () => {
    const id = await shop.page([shop.plans.basic])
    await business.billing.delete(`/multiplans/${id}`)
    const page = await openPage(id)
    await page.getByRole('heading', { name: 'This offer has ended' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await picture(page, 'gone')
  })
})
