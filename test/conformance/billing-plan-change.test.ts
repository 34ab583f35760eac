import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cards, openShop, type Shop } from '../billing-shop.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

/** Sells `from`, moves to the day of the change and changes to `to`. */
async function changed(
  shop: Shop,
  options: {
    start: string
    on: string
    from: Record<string, unknown>
    to: Record<string, unknown>
    order?: Record<string, unknown>
    customer?: Record<string, unknown>
    body?: Record<string, unknown>
  },
) {
  const from = await shop.plan(options.from)
  const to = await shop.plan(options.to)
  const sold = await shop.subscribe(from.id, { body: options.order, customer: options.customer })
  expect(sold.answer.status).toBe(200)
  await shop.at(options.on)
  const answer = await shop.change(sold.id, { plan_id: to.id, ...options.body })
  expect(answer.text, answer.text).toContain('"success"')
  await shop.sound()
  const { data } = answer.body
  return { ...sold, from, to, data, note: data.invoice.credit_note, invoice: data.invoice }
}

describe('worked examples', () => {
  test('1: upgrade in the same period', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const { note, invoice, data } = await changed(shop, {
      start: '2026-04-01',
      on: '2026-04-16',
      from: { price: 30 },
      to: { price: 50 },
    })
    expect(note).toMatchObject({
      update_type: 'upgrade',
      used_days: 15,
      remaining_days: 15,
      used_amount: 15,
      new_credits: 15,
      new_plan_total: '25.00',
      total_tax: '0.00',
      total_credit_amount: 15,
      charge_amount: 10,
    })
    expect(note.credit_applied).toMatchObject([{ amount: 15, deducted_from: 15, remaining_amount: 0 }])
    expect(invoice).toMatchObject({ amount: 25, due_amount: 0, status: 'paid' })
    expect(data.subscription).toMatchObject({ status: 'live', update_type: 'upgrade' })
    expect(data.subscription.next_billing_date).toBe('2026-05-01T00:00:00.000Z')
    expect(data.customer.credit).toBeNull()
  })

  test('2: downgrade that leaves credit', async () => {
    const shop = await openShop(w, { now: '2026-01-31T12:00:00Z' })
    const { note, data } = await changed(shop, {
      start: '2026-01-31',
      on: '2026-02-10',
      from: { price: 99.99 },
      to: { price: 29.99 },
    })
    expect(note).toMatchObject({
      update_type: 'downgrade',
      used_days: 10,
      remaining_days: 18,
      used_amount: 35.71,
      new_credits: 64.28,
      new_plan_total: '19.28',
      total_credit_amount: 64.28,
      charge_amount: 0,
    })
    expect(note.credit_applied).toMatchObject([{ amount: 19.28, deducted_from: 64.28, remaining_amount: 45 }])
    expect(data.customer.credit).toBe(45)
  })

  test('3 and 3b: quantity up and down', async () => {
    const shop = await openShop(w, { now: '2026-03-01T12:00:00Z' })
    const plan = await shop.plan({ price: 10, plan_type: 'per_unit' })
    const up = await shop.subscribe(plan.id, { body: { quantity: 3 } })
    const down = await shop.subscribe(plan.id, { body: { quantity: '5' } })
    await shop.at('2026-03-11')
    const raised = await shop.change(up.id, { plan_id: plan.id, quantity: '5' })
    expect(raised.body.data.invoice.credit_note).toMatchObject({
      update_type: 'upgrade',
      used_days: 10,
      remaining_days: 21,
      used_amount: 9.68,
      new_credits: 20.32,
      new_plan_total: '33.87',
      charge_amount: 13.55,
    })
    expect(raised.body.data.invoice.quantity).toBe('5')
    const lowered = await shop.change(down.id, { plan_id: plan.id, quantity: 3 })
    expect(lowered.body.data.invoice.credit_note).toMatchObject({
      update_type: 'downgrade',
      used_amount: 16.13,
      new_credits: 33.87,
      new_plan_total: '20.32',
      charge_amount: 0,
    })
    expect(lowered.body.data.customer.credit).toBe(13.55)
    await shop.sound()
  })

  test('4 and 4b: a coupon on both plans, or on the old one only', async () => {
    const shop = await openShop(w, { now: '2026-06-01T12:00:00Z' })
    const old = await shop.plan({ price: 50 })
    const next = await shop.plan({ price: 80 })
    const coupon = { discount: 20, discount_type: 'percent', redemption_type: 'forever', apply_to: 'total_amount' }
    const made = [
      await shop.billing.post(`/coupon/${shop.productId}`, {
        ...coupon,
        coupon_name: 'Both',
        coupon_code: 'BOTH',
        associate_plans: 'all_plans',
      }),
      await shop.billing.post(`/coupon/${shop.productId}`, {
        ...coupon,
        coupon_name: 'Old',
        coupon_code: 'OLD',
        associate_plans: 'selected_plans',
        plans_array: [old.id],
      }),
    ]
    expect(made.map(answer => answer.status)).toEqual([200, 200])
    const both = await shop.subscribe(old.id, { body: { coupon_code: 'BOTH' } })
    const only = await shop.subscribe(old.id, { body: { coupon_code: 'old' } })
    await shop.at('2026-06-21')
    const first = (await shop.change(both.id, { plan_id: next.id })).body.data
    expect(first.invoice.credit_note).toMatchObject({
      used_days: 20,
      remaining_days: 10,
      used_amount: 26.67,
      new_credits: 13.33,
      new_plan_total: '21.33',
      charge_amount: 8,
      update_type: 'upgrade',
    })
    expect(first.subscription.coupon).toMatchObject({ coupon_code: 'BOTH', used_redemption: 1 })
    const second = (await shop.change(only.id, { plan_id: next.id })).body.data
    expect(second.invoice.credit_note).toMatchObject({
      new_credits: 13.33,
      new_plan_total: '26.67',
      charge_amount: 13.34,
    })
    expect(second.subscription.coupon).toBeNull()
    await shop.sound()
  })

  test('5: tax, setup fee and older credit', async () => {
    const shop = await openShop(w, { now: '2026-08-15T12:00:00Z' })
    await shop.billing.post('/taxes', { name: 'GST', country: 'IN', rate: 18 })
    const old = await shop.plan({ price: 49 })
    const next = await shop.plan({ price: 99 })
    const sold = await shop.subscribe(old.id, { customer: { billing_address: { country: 'IN' } } })
    const [payment] = (await shop.billing.get(`/transactions/${sold.customerId}`)).body.data
    expect(payment.amount).toBe(57.82)
    // The older credit of 4.00 comes from another subscription's worth of goodwill: a lot of its own, with its ledger act.
    await w.db.begin(async tx => {
      await tx`insert into billing_credit_lot (business_id, id, subscription_id, customer_id, currency, source_id, created_minor, created_at)
        values (${shop.id}, '000000000000000000000001', ${sold.id}, ${sold.customerId}, 'USD', 'goodwill', 400, now())`
      await tx`insert into billing_ledger (business_id, source_key, at, customer_id, subscription_id, currency, write_off, customer_credit)
        values (${shop.id}, 'goodwill', now(), ${sold.customerId}, ${sold.id}, 'USD', 400, -400)`
    })
    await shop.at('2026-08-25')
    const { invoice } = (await shop.change(sold.id, { plan_id: next.id, setup_fee: '10.00' })).body.data
    expect(invoice.credit_note).toMatchObject({
      used_days: 10,
      remaining_days: 21,
      used_amount: 15.81,
      new_credits: 39.16,
      new_plan_total: '77.06',
      total_tax: '13.87',
      total_credit_amount: 43.16,
      charge_amount: 47.77,
    })
    expect(invoice.credit_note.credit_applied).toMatchObject([
      { id: '000000000000000000000001', amount: 4, deducted_from: 4, remaining_amount: 0 },
      { amount: 39.16, deducted_from: 39.16, remaining_amount: 0 },
    ])
    expect(invoice).toMatchObject({ amount: 90.93, due_amount: 0, setup_fee: 10, status: 'paid' })
    expect(invoice.tax_apply).toMatchObject({ country: 'IN', exempt_tax: [], total_amount: 77.06, total_tax: '13.87' })
    await shop.sound()
  })

  test('6: on trial nothing is billed before it ends', async () => {
    const shop = await openShop(w, { now: '2026-05-01T12:00:00Z' })
    const { note, data, id, customerId } = await changed(shop, {
      start: '2026-05-01',
      on: '2026-05-06',
      from: { price: 49, trial_period: 14 },
      to: { price: 99 },
    })
    expect(note).toMatchObject({
      used_days: 5,
      remaining_days: 9,
      used_amount: 0,
      new_credits: 0,
      new_plan_total: '0.00',
      total_tax: '0.00',
      total_credit_amount: 0,
      charge_amount: 0,
      credit_applied: [],
      update_type: 'upgrade',
    })
    expect(data.subscription).toMatchObject({ status: 'trial', trial_expiry_date: '2026-05-15T00:00:00.000Z' })
    await shop.at('2026-05-16')
    const after = (await shop.billing.get(`/subscription/${id}`)).body.data
    expect(after).toMatchObject({ status: 'live', activation_date: '2026-05-15T00:00:00.000Z', amount: 99 })
    const payments = (await shop.billing.get(`/transactions/${customerId}`)).body.data
    expect(payments).toMatchObject([{ amount: 99, status: 'success' }])
    await shop.sound()
  })

  test('7: yearly to monthly restarts the period', async () => {
    const shop = await openShop(w, { now: '2026-01-01T12:00:00Z' })
    const { note, data } = await changed(shop, {
      start: '2026-01-01',
      on: '2026-04-01',
      from: { price: 1200, billing_period: 'y' },
      to: { price: 120 },
    })
    expect(note).toMatchObject({
      update_type: 'upgrade',
      used_days: 90,
      remaining_days: 275,
      used_amount: 295.89,
      new_credits: 904.11,
      new_plan_total: '120.00',
      charge_amount: 0,
    })
    expect(data.customer.credit).toBe(784.11)
    expect(data.subscription.next_billing_date).toBe('2026-05-01T00:00:00.000Z')
  })

  test('8: the current invoice is still unpaid', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const { note, customerId, invoice } = await changed(shop, {
      start: '2026-04-01',
      on: '2026-04-16',
      from: { price: 30 },
      to: { price: 50 },
      order: { gateway_type: 'offline', payment_term: 'net30' },
      body: { payment_mode: 'offline', payment_term: 'net15' },
    })
    expect(note).toMatchObject({
      used_amount: 15,
      new_credits: 0,
      new_plan_total: '25.00',
      total_credit_amount: 0,
      credit_applied: [],
      charge_amount: 25,
    })
    expect(invoice).toMatchObject({
      status: 'sent',
      due_amount: 25,
      payment_term: 'net15',
      due_date: '2026-05-01T23:59:59.999Z',
    })
    const all = (await shop.billing.get(`/invoices/${customerId}`)).body.data
    expect(all.map((one: { invoice_id: string; due_amount: number }) => [one.invoice_id, one.due_amount])).toEqual([
      ['INV-2', 25],
      ['INV-1', 15],
    ])
  })
})

describe('cards', () => {
  test('a declined card keeps the old plan and leaves nothing behind', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const old = await shop.plan({ price: 30 })
    const next = await shop.plan({ price: 50 })
    const sold = await shop.subscribe(old.id)
    await shop.at('2026-04-16')
    const poor = await shop.card(sold.customerId, cards.poor)
    const before = (await shop.billing.get(`/subscription/${sold.id}`)).body
    const refused = await shop.change(sold.id, { plan_id: next.id, card_id: poor })
    expect(refused.status).toBe(402)
    expect(refused.body).toMatchObject({ success: false, status: 'error', code: 'insufficient_funds' })
    expect((await shop.billing.get(`/subscription/${sold.id}`)).body).toEqual(before)
    await shop.sound()
    const again = await shop.change(sold.id, { plan_id: next.id })
    expect(again.body.data.invoice.invoice_id).toBe('INV-2')
    await shop.sound()
  })

  test('an unknown outcome answers 504 and is settled later, without a second charge', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const old = await shop.plan({ price: 30 })
    const next = await shop.plan({ price: 50 })
    const sold = await shop.subscribe(old.id)
    await shop.at('2026-04-16')
    const slow = await shop.card(sold.customerId, cards.timesOut)
    const unknown = await shop.change(sold.id, { plan_id: next.id, card_id: slow })
    expect(unknown.status).toBe(504)
    expect(unknown.body.code).toBe('payment_outcome_unknown')
    expect((await shop.billing.get(`/subscription/${sold.id}`)).body.data.plan_id).toBe(old.id)
    expect((await shop.change(sold.id, { plan_id: next.id })).body.code).toBe('change_in_progress')
    await shop.at('2026-04-16T12:10:00Z')
    const after = (await shop.billing.get(`/subscription/${sold.id}`)).body.data
    expect(after.plan_id).toBe(next.id)
    const charges = await w.db`select 1 from billing_test_charge where business_id = ${shop.id}`
    expect(charges.length).toBe(2)
    await shop.sound()
  })
})
