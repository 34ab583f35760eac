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

describe('PUT /subscription/{subscription_id}/upgrade-downgrade', () => {
  const id = expect.stringMatching(/^[0-9a-f]{24}$/)
  const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const text = expect.any(String)
  const number = expect.any(Number)

  test('answers user, customer, product, plan, subscription and invoice with every field', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const { data } = await changed(shop, { start: '', on: '2026-04-16', from: { price: 30 }, to: { price: 50 } })
    const texts = (names: string) => Object.fromEntries(names.split(' ').map(name => [name, text]))
    expect(data.user).toEqual({
      ...texts(
        'verified currency first_name last_name email address_line1 address_line2 city state country zip_code phone mobile facebook_url twitter_url time_zone date_format ip_address currency_symbol',
      ),
      id,
      createdAt: moment,
      updatedAt: moment,
    })
    expect(data.customer).toMatchObject({
      id,
      first_name: 'Ada',
      last_name: 'Byron',
      email_id: text,
      credit: null,
      billing_address: texts('street1 city state state_code zip_code country'),
      shipping_address: {},
      createdAt: moment,
      updatedAt: moment,
    })
    expect(data.product).toEqual({
      id,
      product_name: 'Box',
      description: null,
      redirect_url: null,
      createdAt: moment,
      updatedAt: moment,
    })
    expect(data.plan).toMatchObject({
      ...texts(
        'plan_name plan_code plan_type plan_active currency_code currency_symbol billing_period billing_period_num billing_cycle billing_cycle_num trial_type setup_fee_type failed_payment_gateway plan_description',
      ),
      id,
      product_id: id,
      price: 50,
      trial_period: 0,
      setup_fee: 0,
      custom_payment_term: number,
      failed_payment_gateway_array: [],
      funnel: [],
      is_metered: false,
    })
    expect(data.subscription).toMatchObject({
      id,
      plan: { id: data.plan.id },
      coupon: null,
      addons: [],
      amount: 50,
      quantity: 1,
      taxable: true,
    })
    expect(data.invoice).toMatchObject({
      id,
      invoice_id: 'INV-2',
      customer_id: data.customer.id,
      subscription_id: data.subscription.id,
      product_id: data.product.id,
      quantity: '1',
      setup_fee: 0,
      amount: 25,
      due_amount: 0,
      status: 'paid',
      payment_term: 'net0',
      due_date: moment,
      currency_symbol: '$',
      subscription: { id: data.subscription.id, plan_id: data.plan.id, update_type: 'upgrade' },
      createdAt: moment,
      updatedAt: moment,
    })
    expect(data.invoice.credit_note).toEqual({
      total_tax: text,
      current_plan_name: text,
      current_plan_price: 30,
      current_plan_quantity: 1,
      current_plan_total: 30,
      new_plan_name: text,
      new_plan_price: 50,
      new_plan_total: '25.00',
      update_type: 'upgrade',
      transaction_note: text,
      used_amount: 15,
      used_days: 15,
      remaining_days: 15,
      new_credits: 15,
      total_credit_amount: 15,
      charge_amount: 10,
      credit_applied: [{ id, amount: 15, deducted_from: 15, remaining_amount: 0 }],
    })
    expect(data.invoice.tax_apply).toMatchObject({
      country: '',
      tax_id: '',
      exempt_tax: [],
      total_amount: 25,
      total_tax: '0.00',
    })
  })

  test('refuses what does not fit', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const next = await shop.plan({ price: 50 })
    const euro = await shop.plan({ price: 50, currency_code: 'EUR' })
    const resting = await shop.plan({ price: 50, plan_active: 'false' })
    const product = (await shop.billing.post('/product/create', { product_name: 'Other' })).body.data
    const foreign = (
      await shop.billing.post('/plan/create', { product_id: product.id, plan_name: 'F', plan_code: 'f', price: 1 })
    ).body.data
    const sold = await shop.subscribe(plan.id)
    const code = async (body: object, to = sold.id) => {
      const answer = await shop.billing.put(`/subscription/${to}/upgrade-downgrade`, body)
      return [answer.status, answer.body.code]
    }
    const fine = { plan_id: next.id, payment_mode: 'credit_card' }
    expect(await code({ payment_mode: 'offline' })).toEqual([400, 'validation_failed'])
    expect(await code({ plan_id: next.id })).toEqual([400, 'validation_failed'])
    expect(await code({ ...fine, payment_mode: 'cheque' })).toEqual([400, 'validation_failed'])
    for (const wrong of [
      { activated_at_val: 'later' },
      { payment_term: 'net7' },
      { price: '-1' },
      { price: '1.001' },
      { price: 'abc' },
      { quantity: '0' },
      { quantity: '1e9' },
      { setup_fee: '1.234' },
      { addons: '{' },
      { addons: '[{"addon_id":5}]' },
    ])
      expect(await code({ ...fine, ...wrong }), JSON.stringify(wrong)).toEqual([400, 'validation_failed'])
    expect(await code({ ...fine, plan_id: '000000000000000000000000' })).toEqual([404, 'plan_not_found'])
    expect(await code(fine, '000000000000000000000000')).toEqual([404, 'subscription_not_found'])
    expect(await code({ ...fine, plan_id: foreign.id })).toEqual([422, 'plan_of_other_product'])
    expect(await code({ ...fine, plan_id: euro.id })).toEqual([422, 'plan_currency'])
    expect(await code({ ...fine, plan_id: resting.id })).toEqual([422, 'plan_inactive'])
    expect(await code({ ...fine, customer_id: 'someone' })).toEqual([422, 'customer_differs'])
    expect(await code({ ...fine, card_id: 'nope' })).toEqual([422, 'payment_method_not_found'])
    expect(await code({ ...fine, coupon_code: 'NOPE' })).toEqual([422, 'coupon_unknown'])
    const stranger = await openShop(w)
    expect((await stranger.change(sold.id, fine)).status).toBe(404)
    await shop.billing.post(`/subscription/${sold.id}/cancel`)
    expect(await code(fine)).toEqual([422, 'subscription_not_live'])
    await shop.sound()
  })

  test('price and quantity of the request are kept for renewals; add-ons come in either form', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const plan = await shop.plan({ price: 30, plan_type: 'per_unit' })
    const sold = await shop.subscribe(plan.id)
    const addon = (
      await shop.billing.post(`/addon/${shop.productId}`, {
        name: 'Space',
        code: 'SPACE',
        price: 4,
        billing_period: 'm',
        billing_period_num: 1,
        billing_cycle: 'lifetime',
        status: 'true',
        associate_plans: 'all_plans',
      })
    ).body.data
    const { data } = (
      await shop.change(sold.id, {
        plan_id: plan.id,
        customer_id: sold.customerId,
        price: '11.50',
        quantity: '2',
        addons: JSON.stringify({ [addon.id]: { checked: true, quantity: 3 }, unknown: { checked: false } }),
      })
    ).body
    expect(data.subscription).toMatchObject({
      amount: 23,
      quantity: 2,
      addons: [{ id: addon.id, quantity: 3, adjusted_amount: 12 }],
    })
    await shop.at('2026-05-02')
    expect((await shop.billing.get(`/invoices/${sold.customerId}`)).body.data[0].amount).toBe(35)
    await shop.sound()
  })

  test('a small difference is carried to the next invoice instead of being charged', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const { invoice, customerId } = await changed(shop, {
      start: '',
      on: '2026-04-16',
      from: { price: 30 },
      to: { price: 30.5 },
    })
    expect(invoice).toMatchObject({ status: 'sent', due_amount: 0.25 })
    await shop.at('2026-05-02')
    const payments = (await shop.billing.get(`/transactions/${customerId}`)).body.data
    expect(payments[0].amount).toBe(30.75)
    const invoices = (await shop.billing.get(`/invoices/${customerId}`)).body.data
    expect(invoices.map((one: { status: string }) => one.status)).toEqual(['paid', 'paid', 'paid'])
    await shop.sound()
  })

  test('an add-on that an earlier change took away counts as used no more', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const { billing, productId } = shop
    const addon = await billing.post(`/addon/${productId}`, {
      ...{ name: 'Seats', code: 'seats', price: 12, status: 'true', associate_plans: 'all_plans' },
      ...{ billing_period: 'm', billing_period_num: 1, billing_cycle: 'lifetime' },
    })
    const [small, large] = [await shop.plan({ price: 30 }), await shop.plan({ price: 60 })]
    const sold = await shop.subscribe(small.id, { body: { addons: [{ addon_id: addon.body.data.id, quantity: 1 }] } })
    await shop.at('2026-04-11')
    const without = await shop.change(sold.id, { plan_id: small.id, addons: [] })
    expect(without.body.data.invoice.credit_note).toMatchObject({ used_amount: 14, new_credits: 28 })
    const next = await shop.change(sold.id, { plan_id: large.id })
    expect(next.body.data.invoice.credit_note).toMatchObject({ used_days: 0, used_amount: 0, new_credits: 20 })
    await shop.at('2026-04-21')
    const last = await shop.change(sold.id, { plan_id: small.id })
    expect(last.body.data.invoice.credit_note).toMatchObject({ used_days: 10, used_amount: 20, new_credits: 20 })
    await shop.sound()
  })

  test('there and back on one day costs nothing', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const a = await shop.plan({ price: 33.33 })
    const b = await shop.plan({ price: 77.77 })
    const sold = await shop.subscribe(a.id)
    await shop.at('2026-04-12')
    const up = (await shop.change(sold.id, { plan_id: b.id })).body.data
    const down = (await shop.change(sold.id, { plan_id: a.id })).body.data
    expect(down.customer.credit).toBe(up.invoice.credit_note.charge_amount)
    expect(down.invoice.credit_note).toMatchObject({ used_days: 0, used_amount: 0, charge_amount: 0 })
    await shop.sound()
  })

  test('at the end of the term: one pending change, replaced by a new one, removed by an immediate one or on request', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const high = await shop.plan({ price: 50 })
    const low = await shop.plan({ price: 10, billing_period: 'y' })
    const sold = await shop.subscribe(plan.id)
    const eot = (to: { id: string }) => shop.change(sold.id, { plan_id: to.id, activated_at_val: 'eot' })
    expect((await eot(high)).body.data).toMatchObject({
      invoice: null,
      plan: { id: high.id },
      subscription: { plan_id: plan.id },
    })
    await eot(low)
    const pending = (await shop.billing.get(`/scheduledchanges/${sold.id}`)).body.data
    expect(pending).toMatchObject({
      plan_id: low.id,
      update_type: 'downgrade',
      activates_at: '2026-02-01T00:00:00.000Z',
      price: 10,
    })
    expect((await shop.billing.delete(`/scheduledchanges/${sold.id}`)).status).toBe(200)
    expect((await shop.billing.delete(`/scheduledchanges/${sold.id}`)).status).toBe(404)
    await eot(low)
    await shop.change(sold.id, { plan_id: high.id })
    expect((await shop.billing.get(`/scheduledchanges/${sold.id}`)).status).toBe(404)
    await eot(low)
    await shop.at('2026-02-02')
    const after = (await shop.billing.get(`/subscription/${sold.id}`)).body.data
    expect(after).toMatchObject({ plan_id: low.id, next_billing_date: '2027-02-01T00:00:00.000Z' })
    await shop.sound()
  })

  test('one Idempotency-Key changes once, also when the program died before it answered', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const plan = await shop.plan({ price: 30 })
    const high = await shop.plan({ price: 50 })
    const sold = await shop.subscribe(plan.id)
    await shop.at('2026-04-16')
    const ask = () => shop.change(sold.id, { plan_id: high.id }, { 'idempotency-key': 'k' })
    const first = await ask()
    expect((await ask()).text).toBe(first.text)
    await w.db`delete from idempotency_key where business_id = ${shop.id}`
    expect((await ask()).body.data.invoice.id).toBe(first.body.data.invoice.id)
    expect((await shop.billing.get(`/invoices/${sold.customerId}`)).body.data.length).toBe(2)
    await shop.sound()
  })
})

describe('POST /subscription/{subscription_id}/preview-change', () => {
  test('tells the figures of the change itself, and keeps nothing', async () => {
    const shop = await openShop(w, { now: '2026-08-15T12:00:00Z' })
    await shop.billing.post('/taxes', { name: 'GST', country: 'IN', rate: 18 })
    const coupon = { coupon_name: 'C', coupon_code: 'C', discount: 10, discount_type: 'percent', maximum_redemption: 1 }
    await shop.billing.post(`/coupon/${shop.productId}`, coupon)
    const [old, next] = [await shop.plan({ price: 49 }), await shop.plan({ price: 99, setup_fee: 10 })]
    const { id } = await shop.subscribe(old.id, { customer: { billing_address: { country: 'IN' } } })
    await shop.at('2026-08-25')
    const wish = { plan_id: next.id, coupon_code: 'C', quantity: '1' }
    const preview = await shop.billing.post(`/subscription/${id}/preview-change`, wish)
    expect(preview.status).toBe(200)
    expect((await shop.billing.get(`/subscription/${id}`)).body.data.plan_id).toBe(old.id)
    expect((await shop.billing.get('/invoices')).body.data).toHaveLength(1)
    const { invoice, subscription } = (await shop.change(id, wish)).body.data
    const { lines } = (await shop.billing.get(`/invoice/${invoice.id}`)).body.data
    const withoutIds = (note: { credit_applied: object[] }) => ({
      ...note,
      credit_applied: note.credit_applied.map(one => ({ ...one, id: '' })),
    })
    expect({ ...preview.body.data, credit_note: withoutIds(preview.body.data.credit_note) }).toEqual({
      update_type: 'upgrade',
      amount: invoice.amount,
      charge_amount: invoice.credit_note.charge_amount,
      currency_code: 'USD',
      currency_symbol: '$',
      next_billing_date: subscription.next_billing_date,
      credit_note: withoutIds(invoice.credit_note),
      lines,
    })
    await shop.sound()
  })

  test('refuses what the change would refuse, to a read-only key too', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 49 })
    const { id } = await shop.subscribe(plan.id)
    const ask = (body: object, at = id) => shop.billing.post(`/subscription/${at}/preview-change`, body)
    expect((await ask({})).status).toBe(400)
    expect((await ask({ plan_id: 'nope' })).status).toBe(404)
    expect((await ask({ plan_id: plan.id }, 'nope')).status).toBe(404)
    expect((await ask({ plan_id: plan.id, coupon_code: 'NOPE' })).body.code).toBe('coupon_unknown')
    const stranger = await openShop(w)
    expect((await stranger.billing.post(`/subscription/${id}/preview-change`, { plan_id: plan.id })).status).toBe(404)
    const { apiKey, secretKey } = (await shop.account.post('/keys', { service: 'billing', readOnly: true })).body.data
    const answer = await w.app.inject({
      method: 'POST',
      url: `/billing/api/v1/subscription/${id}/preview-change`,
      headers: { authorization: `Basic ${Buffer.from(`${apiKey}:${secretKey}`).toString('base64')}` },
      payload: { plan_id: plan.id, quantity: 2 },
    })
    expect(answer.statusCode).toBe(200)
  })
})

describe('at the end of the term', () => {
  test('a subscription that is to end can’t be changed then', async () => {
    const shop = await openShop(w)
    const [old, next] = [await shop.plan({ price: 30 }), await shop.plan({ price: 50 })]
    const { id } = await shop.subscribe(old.id)
    await shop.billing.post(`/subscription/${id}/cancel`, { cancel_at_end: true })
    const refused = await shop.change(id, { plan_id: next.id, activated_at_val: 'eot' })
    expect([refused.status, refused.body.code]).toEqual([422, 'subscription_ends'])
    await shop.billing.put(`/subscription/${id}/resume`)
    expect((await shop.change(id, { plan_id: next.id, activated_at_val: 'eot' })).status).toBe(200)
  })

  test('another plan follows the last cycle; another quantity does not prolong it', async () => {
    const shop = await openShop(w, { now: '2026-01-10T12:00:00Z' })
    const limited = { price: 30, plan_type: 'per_unit', billing_cycle: 'specific', billing_cycle_num: 2 }
    const [old, next] = [await shop.plan(limited), await shop.plan({ price: 50 })]
    const [goesOn, ends] = [await shop.subscribe(old.id), await shop.subscribe(old.id)]
    await shop.at('2026-02-20')
    await shop.change(goesOn.id, { plan_id: next.id, activated_at_val: 'eot' })
    await shop.change(ends.id, { plan_id: old.id, quantity: 2, activated_at_val: 'eot' })
    await shop.at('2026-04-11')
    const read = async (id: string) => (await shop.billing.get(`/subscription/${id}`)).body.data
    expect(await read(goesOn.id)).toMatchObject({ status: 'live', plan_id: next.id, amount: 50 })
    expect(await read(ends.id)).toMatchObject({ status: 'expired', quantity: 1 })
    await shop.sound()
  })
})
