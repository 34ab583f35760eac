import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cards, openShop, type Shop } from '../billing-shop.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

interface Invoice {
  id: string
  status: string
  amount: number
  due_amount: number
}

const invoicesOf = async (shop: Shop, customerId: string): Promise<Invoice[]> =>
  (await shop.billing.get(`/invoices/${customerId}?limit=100`)).body.data.reverse()
const charged = async (shop: Shop, customerId: string): Promise<number[]> =>
  (await shop.billing.get(`/transactions/${customerId}?status=success`)).body.data
    .map((one: { amount: number }) => one.amount)
    .reverse()

async function onetimeAddon(shop: Shop): Promise<string> {
  const addon = await shop.billing.post(`/addon/${shop.productId}`, {
    ...{ name: 'Course', code: 'course', price: 9, status: 'true', associate_plans: 'all_plans' },
    ...{ billing_period: 'm', billing_period_num: 1, billing_cycle: 'onetime' },
  })
  return addon.body.data.id
}

describe('amounts under the minimum of the gateway', () => {
  test('what a change takes off an older invoice is not charged with it', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const [small, large] = [await shop.plan({ price: 60 }), await shop.plan({ price: 90 })]
    const sold = await shop.subscribe(small.id)
    const crumb = (await shop.change(sold.id, { plan_id: small.id, setup_fee: '0.27' })).body.data
    expect(crumb.invoice).toMatchObject({ status: 'sent', due_amount: 0.27 })
    await shop.at('2026-04-06')
    const { invoice, customer } = (await shop.change(sold.id, { plan_id: large.id })).body.data
    expect(invoice.credit_note).toMatchObject({ new_credits: 49.73, new_plan_total: '75.00', charge_amount: 25.27 })
    expect(await charged(shop, sold.customerId)).toEqual([60, 25.27])
    expect(customer.credit).toBeNull()
    expect((await invoicesOf(shop, sold.customerId)).map(one => one.due_amount)).toEqual([0, 0, 0])
    await shop.sound()
  })

  test('crumbs of several terms are charged together once there is enough of them', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const plan = await shop.plan({ price: 0.2 })
    const sold = await shop.subscribe(plan.id)
    await shop.at('2026-05-02')
    expect(await charged(shop, sold.customerId)).toEqual([])
    expect((await invoicesOf(shop, sold.customerId)).map(one => one.due_amount)).toEqual([0.2, 0.2])
    await shop.at('2026-06-02')
    expect(await charged(shop, sold.customerId)).toEqual([0.6])
    await shop.at('2026-09-02')
    expect(await charged(shop, sold.customerId)).toEqual([0.6, 0.6])
    const invoices = await invoicesOf(shop, sold.customerId)
    expect(invoices.map(one => one.status)).toEqual(Array.from({ length: 6 }, () => 'paid'))
    expect(await shop.events('subscription_renew')).toHaveLength(5)
    await shop.sound()
  })

  test('a change that asks for little takes along what was carried to it', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const plan = await shop.plan({ price: 0.3 })
    const sold = await shop.subscribe(plan.id)
    await shop.at('2026-05-01T12:00:00Z')
    expect(await charged(shop, sold.customerId)).toEqual([0.6])
    await shop.at('2026-06-02')
    const dear = await shop.plan({ price: 0.7 })
    await shop.at('2026-06-16')
    const { invoice } = (await shop.change(sold.id, { plan_id: dear.id })).body.data
    expect(invoice.credit_note).toMatchObject({ new_credits: 0, new_plan_total: '0.35', charge_amount: 0.35 })
    expect(await charged(shop, sold.customerId)).toEqual([0.6, 0.5])
    expect((await invoicesOf(shop, sold.customerId)).map(one => one.due_amount)).toEqual([0, 0, 0, 0])
    await shop.sound()
  })

  test('a card that declines them leads to dunning like any other', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const sold = await shop.subscribe((await shop.plan({ price: 0.3 })).id, { number: cards.declined })
    await shop.at('2026-05-02')
    const { status } = (await shop.billing.get(`/subscription/${sold.id}`)).body.data
    expect(status).toBe('dunning')
    await shop.sound()
  })
})

describe('add-ons that are sold once', () => {
  test('only what is new of them is billed; less of them costs nothing', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const addonId = await onetimeAddon(shop)
    const plan = await shop.plan({ price: 30 })
    const sold = await shop.subscribe(plan.id, { body: { addons: [{ addon_id: addonId, quantity: 3 }] } })
    const choose = async (quantity: number, body = {}) =>
      (await shop.change(sold.id, { plan_id: plan.id, addons: [{ addon_id: addonId, quantity }], ...body })).body.data
    const fewer = await choose(2)
    expect(fewer.invoice.credit_note).toMatchObject({ new_plan_total: '30.00', charge_amount: 0 })
    expect(fewer.subscription.addons).toMatchObject([{ id: addonId, quantity: 2 }])
    const more = await choose(5)
    expect(more.invoice.credit_note).toMatchObject({ new_plan_total: '57.00', charge_amount: 27 })
    const { lines } = (await shop.billing.get(`/invoice/${more.invoice.id}`)).body.data
    expect(lines[1]).toMatchObject({ item_id: addonId, quantity: 3, unit_price: 9, amount: 27 })
    expect(more.subscription.addons).toMatchObject([{ id: addonId, quantity: 5, adjusted_amount: 27 }])
    await choose(6, { activated_at_val: 'eot' })
    await shop.at('2026-06-02')
    const amounts = (await invoicesOf(shop, sold.customerId)).map(one => one.amount)
    expect(amounts).toEqual([57, 30, 57, 39, 30])
    await shop.sound()
  })

  test('can’t be deleted while a change at the end of the term waits for them', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const addonId = await onetimeAddon(shop)
    const plan = await shop.plan({ price: 30 })
    const sold = await shop.subscribe(plan.id)
    await shop.change(sold.id, {
      ...{ plan_id: plan.id, activated_at_val: 'eot' },
      addons: [{ addon_id: addonId, quantity: 1 }],
    })
    const refused = await shop.billing.delete(`/addon/${addonId}`)
    expect([refused.status, refused.body.code]).toEqual([422, 'addon_in_use'])
    await shop.billing.delete(`/scheduledchanges/${sold.id}`)
    expect((await shop.billing.delete(`/addon/${addonId}`)).status).toBe(200)
  })
})

describe('add-ons with a period of their own', () => {
  const weekly = async (shop: Shop): Promise<string> => {
    const addon = await shop.billing.post(`/addon/${shop.productId}`, {
      ...{ name: 'Seats', code: 'seats', price: 7, status: 'true', associate_plans: 'all_plans' },
      ...{ billing_period: 'w', billing_period_num: 1, billing_cycle: 'lifetime' },
    })
    return addon.body.data.id
  }

  test('are credited from each invoice that paid for days to come', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const addonId = await weekly(shop)
    const plan = await shop.plan({ price: 31 })
    const sold = await shop.subscribe(plan.id, { body: { addons: [{ addon_id: addonId, quantity: 1 }] } })
    await shop.at('2026-05-03')
    // Paid for: five weeks until 6 May with the first invoice, four more with the second.
    const { invoice } = (await shop.change(sold.id, { plan_id: plan.id, addons: [] })).body.data
    expect(invoice.credit_note).toMatchObject({ used_amount: 34, new_credits: 60, new_plan_total: '29.00' })
    await shop.sound()
  })

  const addonLines = async (shop: Shop, customerId: string) => {
    const [newest] = (await invoicesOf(shop, customerId)).slice(-1)
    const { lines } = (await shop.billing.get(`/invoice/${newest!.id}`)).body.data
    return lines
      .slice(1)
      .map((line: Record<string, unknown>) => [line.quantity, line.amount, line.starts_on, line.ends_on])
  }

  test('chosen for the end of the term they begin there', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const addonId = await weekly(shop)
    const plan = await shop.plan({ price: 31 })
    const sold = await shop.subscribe(plan.id)
    await shop.at('2026-04-10')
    await shop.change(sold.id, {
      ...{ plan_id: plan.id, activated_at_val: 'eot' },
      addons: [{ addon_id: addonId, quantity: 2 }],
    })
    await shop.at('2026-05-02')
    expect(await addonLines(shop, sold.customerId)).toEqual([[2, 70, '2026-05-01', '2026-06-05']])
    await shop.sound()
  })

  test('that shared the period of the plan until a change at the end of the term begin their own there', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const addonId = await weekly(shop)
    const plan = await shop.plan({ price: 7, billing_period: 'w' })
    const monthly = await shop.plan({ price: 31 })
    const sold = await shop.subscribe(plan.id, { body: { addons: [{ addon_id: addonId, quantity: 1 }] } })
    await shop.at('2026-04-16')
    await shop.change(sold.id, { plan_id: monthly.id, activated_at_val: 'eot' })
    await shop.at('2026-04-23')
    expect(await addonLines(shop, sold.customerId)).toEqual([[1, 35, '2026-04-22', '2026-05-27']])
    await shop.sound()
  })

  test('cost nothing for the time of a pause', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const addonId = await weekly(shop)
    const plan = await shop.plan({ price: 31 })
    const sold = await shop.subscribe(plan.id, { body: { addons: [{ addon_id: addonId, quantity: 1 }] } })
    await shop.billing.put(`/subscription/${sold.id}/pause`, {})
    await shop.at('2026-07-10')
    await shop.billing.put(`/subscription/${sold.id}/resume`, {})
    expect(await addonLines(shop, sold.customerId)).toEqual([[1, 35, '2026-07-10', '2026-08-14']])
    await shop.at('2026-08-11')
    expect(await addonLines(shop, sold.customerId)).toEqual([[1, 28, '2026-08-14', '2026-09-11']])
    await shop.sound()
  })

  test('what a change billed anew is not credited a second time', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const addonId = await weekly(shop)
    const plan = await shop.plan({ price: 31 })
    const sold = await shop.subscribe(plan.id, { body: { addons: [{ addon_id: addonId, quantity: 1 }] } })
    await shop.at('2026-05-03')
    const more = await shop.change(sold.id, { plan_id: plan.id, addons: [{ addon_id: addonId, quantity: 2 }] })
    expect(more.body.data.invoice.credit_note).toMatchObject({ new_credits: 60, new_plan_total: '99.00' })
    await shop.at('2026-05-04')
    const none = await shop.change(sold.id, { plan_id: plan.id, addons: [] })
    expect(none.body.data.invoice.credit_note).toMatchObject({ used_amount: 3, new_credits: 96 })
    await shop.sound()
  })
})

describe('a coupon for one invoice', () => {
  test.each([0, 7])('given for the end of the term, after %i days of trial, counts on one', async trial => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const [from, to] = [await shop.plan({ price: 100, trial_period: trial }), await shop.plan({ price: 200 })]
    await shop.billing.post(`/coupon/${shop.productId}`, {
      ...{ coupon_name: 'Half', coupon_code: 'HALF', discount: 50, discount_type: 'percent' },
      ...{ redemption_type: 'onetime', apply_to: 'total_amount', associate_plans: 'all_plans' },
    })
    const sold = await shop.subscribe(from.id)
    await shop.change(sold.id, { plan_id: to.id, activated_at_val: 'eot', coupon_code: 'HALF' })
    await shop.at('2026-07-02')
    const amounts = (await invoicesOf(shop, sold.customerId)).map(one => one.amount)
    expect(amounts).toEqual(trial === 0 ? [100, 100, 200, 200] : [100, 200, 200])
    await shop.sound()
  })
})

describe('how a change at the end of the term is paid', () => {
  test('offline: its invoice waits for its term, the next ones are charged again', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const [from, to] = [await shop.plan({ price: 30 }), await shop.plan({ price: 50 })]
    const sold = await shop.subscribe(from.id)
    await shop.change(sold.id, {
      ...{ plan_id: to.id, activated_at_val: 'eot', payment_mode: 'offline', payment_term: 'net60' },
    })
    await shop.at('2026-05-02')
    expect((await invoicesOf(shop, sold.customerId))[1]).toMatchObject({
      ...{ status: 'sent', amount: 50, due_amount: 50, due_date: '2026-06-30T23:59:59.999Z' },
    })
    await shop.at('2026-06-02')
    expect((await invoicesOf(shop, sold.customerId)).map(one => one.due_amount)).toEqual([0, 50, 0])
    await shop.sound()
  })

  test('card_id is charged, and stays the card of the subscription', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const [from, to] = [await shop.plan({ price: 30 }), await shop.plan({ price: 50 })]
    const sold = await shop.subscribe(from.id)
    const poor = await shop.card(sold.customerId, cards.poor)
    await shop.change(sold.id, { plan_id: to.id, activated_at_val: 'eot', card_id: poor })
    expect((await shop.billing.get(`/subscription/${sold.id}`)).body.data.payment_method).toBe(sold.cardId)
    await shop.at('2026-05-01')
    const after = (await shop.billing.get(`/subscription/${sold.id}`)).body.data
    expect(after).toMatchObject({ status: 'dunning', plan_id: to.id, payment_method: poor })
    const [failed] = (await shop.billing.get(`/transactions/${sold.customerId}?status=failure`)).body.data
    expect(failed).toMatchObject({ amount: 50, failure_code: 'insufficient_funds' })
    await shop.sound()
  })

  test('a card that was deleted meanwhile leaves it to that of the subscription', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const [from, to] = [await shop.plan({ price: 30 }), await shop.plan({ price: 50 })]
    const sold = await shop.subscribe(from.id)
    const other = await shop.card(sold.customerId)
    await shop.change(sold.id, { plan_id: to.id, activated_at_val: 'eot', card_id: other })
    await shop.billing.delete(`/paymentmethod/${other}`)
    await shop.at('2026-05-01')
    expect(await charged(shop, sold.customerId)).toEqual([30, 50])
  })
})

describe('a business that moves to another time zone', () => {
  /** What is known of a key is kept for up to a second, so this waits until billing writes that day. */
  const moves = async (shop: Shop, timeZone: string, day: string) => {
    await shop.account.put('/business', { timeZone })
    await expect.poll(async () => (await shop.billing.get('/mrr')).body.data[0].to, { timeout: 5_000 }).toBe(day)
  }

  test('keeps the end of the running period when a plan changes in it', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const [from, to] = [await shop.plan({ price: 30 }), await shop.plan({ price: 60 })]
    const sold = await shop.subscribe(from.id)
    await shop.at('2026-04-16T02:00:00Z')
    await moves(shop, 'America/Los_Angeles', '2026-04-15')
    const { subscription, invoice } = (await shop.change(sold.id, { plan_id: to.id })).body.data
    expect(invoice.credit_note).toMatchObject({ used_days: 14, remaining_days: 16 })
    expect(subscription.next_billing_date).toBe('2026-05-01T00:00:00.000Z')
    await shop.at('2026-05-01T01:00:00Z')
    const after = (await shop.billing.get(`/subscription/${sold.id}`)).body.data
    expect(after.next_billing_date).toBe('2026-06-01T07:00:00.000Z')
    await shop.sound()
  })

  test('where the next day is written before the period is over, a change is one of its last day', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const [from, to] = [await shop.plan({ price: 30 }), await shop.plan({ price: 60 })]
    const sold = await shop.subscribe(from.id)
    await shop.at('2026-04-30T20:00:00Z')
    await moves(shop, 'Pacific/Auckland', '2026-05-01')
    const { subscription, invoice } = (await shop.change(sold.id, { plan_id: to.id })).body.data
    expect(invoice.credit_note).toMatchObject({
      ...{ used_days: 29, remaining_days: 1, new_credits: 1, new_plan_total: '2.00', charge_amount: 1 },
    })
    expect(subscription.next_billing_date).toBe('2026-05-01T00:00:00.000Z')
    await shop.at('2026-05-01T01:00:00Z')
    expect(await charged(shop, sold.customerId)).toEqual([30, 1, 60])
    await shop.sound()
  })
})
