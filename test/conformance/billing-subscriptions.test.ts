import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cards, openShop } from '../billing-shop.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const id = expect.stringMatching(/^[0-9a-f]{24}$/)
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const text = expect.any(String)

const subscriptionShape = {
  id,
  customer_id: id,
  product_id: id,
  plan_id: id,
  email_id: text,
  plan: expect.objectContaining({ id, plan_name: text, price: expect.any(Number), billing_period_num: text }),
  amount: expect.any(Number),
  setup_fee: expect.any(Number),
  quantity: expect.any(Number),
  status: text,
  payment_terms: text,
  currency_symbol: text,
  payment_method: text,
  taxable: expect.any(Boolean),
  gateway_type: text,
  gateway_id: text,
  custom_fields: expect.any(Array),
  addons: expect.any(Array),
  update_reason: text,
  update_type: text,
  starts_at: moment,
  activation_date: text,
  expiry_date: text,
  next_billing_date: text,
  last_billing_date: text,
  trial_days: expect.any(Number),
  trial_expiry_date: text,
  createdAt: moment,
  updatedAt: moment,
}

describe('POST /subscription/{customer_id}', () => {
  test('answers every field of a subscription', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30, plan_type: 'per_unit' })
    const { answer, customerId, cardId } = await shop.subscribe(plan.id, {
      body: { quantity: '2', custom_fields: [{ size: 'L' }], payment_term: 'net15' },
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ status: 'success', message: text })
    expect(answer.body.data).toMatchObject(subscriptionShape)
    expect(answer.body.data).toMatchObject({
      customer_id: customerId,
      payment_method: cardId,
      status: 'live',
      amount: 60,
      quantity: 2,
      coupon: null,
      canceled_date: null,
      trial_expiry_date: '',
      custom_fields: [{ size: 'L' }],
      payment_terms: 'net15',
      next_billing_date: '2026-02-01T00:00:00.000Z',
      expiry_date: '2126-01-01T00:00:00.000Z',
    })
    await shop.sound()
  })

  test('refuses what is not there or does not fit', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const { id: customerId } = await shop.customer()
    const order = (body: object, customer = customerId) => shop.billing.post(`/subscription/${customer}`, body)
    expect((await order({ plan_id: plan.id })).body.code).toBe('payment_method_missing')
    expect((await order({})).status).toBe(400)
    expect((await order({ plan_id: '000000000000000000000000', gateway_type: 'offline' })).status).toBe(404)
    expect((await order({ plan_id: plan.id, gateway_type: 'offline' }, 'nope')).status).toBe(404)
    expect((await order({ plan_id: plan.id, payment_method: 'nope' })).body.code).toBe('payment_method_not_found')
    expect((await order({ plan_id: plan.id, gateway_type: 'offline', coupon_code: 'NOPE' })).body.code).toBe(
      'coupon_unknown',
    )
    expect((await order({ plan_id: plan.id, gateway_type: 'offline', addons: [{ addon_id: 'nope' }] })).status).toBe(
      422,
    )
    for (const wrong of [
      { quantity: 0 },
      { quantity: '1.5' },
      { quantity: 100_001 },
      { quantity: 'x' },
      { addons: 'x' },
      { addons: [1] },
      { addons: 7 },
      { price: '1.001' },
      { starts_at: 'soon' },
      { gateway_type: 'bank' },
      { payment_term: 'net1' },
    ])
      expect((await order({ plan_id: plan.id, gateway_type: 'offline', ...wrong })).status, JSON.stringify(wrong)).toBe(
        400,
      )
    expect(
      (await order({ plan_id: plan.id, gateway_type: 'offline', starts_at: '2025-12-31T00:00:00Z' })).body.code,
    ).toBe('starts_in_past')
    const other = await shop.customer()
    const stolen = await shop.card(other.id)
    expect((await order({ plan_id: plan.id, payment_method: stolen })).status).toBe(422)
    const stranger = await openShop(w)
    expect(
      (await stranger.billing.post(`/subscription/${customerId}`, { plan_id: plan.id, gateway_type: 'offline' }))
        .status,
    ).toBe(404)
    await shop.sound()
  })

  test('a declined card: 402, and the subscription waits for another', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const { answer, customerId } = await shop.subscribe(plan.id, { number: cards.declined })
    expect([answer.status, answer.body.code]).toEqual([402, 'card_declined'])
    const [waiting] = (await shop.billing.get(`/subscriptions/${customerId}`)).body.data
    expect(waiting).toMatchObject({
      status: 'pending',
      next_billing_date: '',
      last_billing_date: '',
      activation_date: '',
    })
    const [draft] = (await shop.billing.get(`/invoices/${customerId}`)).body.data
    expect(draft).toMatchObject({ status: 'pending', invoice_id: '' })
    const good = await shop.card(customerId)
    const paid = await shop.billing.post(`/invoice/collect/${draft.id}`, { card_id: good })
    expect(paid.body.data).toMatchObject({ status: 'paid', invoice_id: 'INV-1' })
    expect((await shop.billing.get(`/subscription/${waiting.id}`)).body.data).toMatchObject({
      status: 'live',
      payment_method: good,
    })
    expect((await shop.events('subscription_create')).length).toBe(1)
    await shop.sound()
  })

  test('a card that times out after charging: 504, settled later by itself', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const { answer, customerId } = await shop.subscribe(plan.id, { number: cards.timesOut })
    expect(answer.status).toBe(504)
    const status = async () => (await shop.billing.get(`/subscriptions/${customerId}`)).body.data[0].status
    expect(await status()).toBe('pending')
    await shop.at('2026-01-01T12:06:00Z')
    expect(await status()).toBe('live')
    await shop.sound()
  })

  test('a card that asks for confirmation: a link to it, and confirming makes it live', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const { answer, customerId } = await shop.subscribe(plan.id, { number: cards.asks })
    expect(answer.body.data).toMatchObject({ status: 'pending', next_action: { type: 'redirect', url: text } })
    const [payment] = (await shop.billing.get(`/transactions/${customerId}`)).body.data
    expect((await shop.billing.post(`/transaction/confirm/${payment.id}`)).body.data.status).toBe('success')
    expect((await shop.billing.get(`/subscriptions/${customerId}`)).body.data[0].status).toBe('live')
    expect((await shop.billing.post(`/transaction/confirm/${payment.id}`)).status).toBe(422)
    await shop.sound()
  })

  test('one Idempotency-Key makes one subscription and one charge', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const { id: customerId } = await shop.customer()
    await shop.card(customerId)
    const ask = () =>
      shop.billing.post(`/subscription/${customerId}`, { plan_id: plan.id }, { 'idempotency-key': 'k1' })
    const first = await ask()
    expect((await ask()).text).toBe(first.text)
    // The program died after the act and before the answer was kept: a repeat finds what was made.
    await w.db`delete from idempotency_key where business_id = ${shop.id}`
    expect((await ask()).body.data.id).toBe(first.body.data.id)
    expect((await shop.billing.get(`/transactions/${customerId}`)).body.data.length).toBe(1)
    await shop.sound()
  })
})

describe('POST /subscription', () => {
  test('makes the customer, and finds them again by email', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const card = { number: cards.ok, exp_month: 1, exp_year: 2060, cvc: '123' }
    const order = { email_id: 'grace@example.com', first_name: 'Grace', plan_id: plan.id, card }
    const first = await shop.billing.post('/subscription', order)
    expect(first.body.data).toMatchObject({ status: 'live', email_id: 'grace@example.com' })
    const second = await shop.billing.post('/subscription', { ...order, email_id: 'GRACE@example.com' })
    expect(second.body.data.customer_id).toBe(first.body.data.customer_id)
    expect(
      JSON.stringify(await w.db`select * from billing_payment_method where business_id = ${shop.id}`),
    ).not.toContain('424242424242')
    expect((await shop.billing.post('/subscription', { ...order, email_id: 'no' })).status).toBe(400)
    expect(
      (await shop.billing.post('/subscription', { ...order, card: { ...card, number: '4111111111111111' } })).body.code,
    ).toBe('not_a_test_card')
    expect((await shop.billing.post('/subscription', { ...order, card: { ...card, exp_year: 2020 } })).body.code).toBe(
      'card_expired',
    )
  })
})

describe('reading, canceling, pausing', () => {
  test('lists newest first, by customer and status, of this business alone', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const a = await shop.subscribe(plan.id)
    const b = await shop.subscribe(plan.id)
    const ids = async (path: string) => (await shop.billing.get(path)).body.data.map((one: { id: string }) => one.id)
    expect(await ids('/subscriptions')).toEqual([b.id, a.id])
    expect(await ids('/subscriptions?limit=1&page=2')).toEqual([a.id])
    expect(await ids(`/subscriptions/${a.customerId}`)).toEqual([a.id])
    await shop.billing.post(`/subscription/${a.id}/cancel`)
    expect(await ids('/subscriptions?status=canceled')).toEqual([a.id])
    expect((await shop.billing.get('/subscriptions?status=gone')).status).toBe(400)
    const stranger = await openShop(w)
    for (const path of [`/subscription/${a.id}`, `/subscriptions/${a.customerId}`, `/scheduledchanges/${a.id}`])
      expect((await stranger.billing.get(path)).status, path).toBe(404)
    expect((await stranger.billing.post(`/subscription/${b.id}/cancel`)).status).toBe(404)
  })

  test('canceled now it ends, at the end of the term it is withdrawn by resume', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const now = await shop.subscribe(plan.id)
    const end = await shop.subscribe(plan.id)
    const canceled = await shop.billing.post(`/subscription/${now.id}/cancel`, { cancel_reason: 'bored' })
    expect(canceled.body.data).toMatchObject({
      status: 'canceled',
      canceled_date: moment,
      cancel_reason: 'bored',
      next_billing_date: '',
    })
    expect((await shop.billing.post(`/subscription/${now.id}/cancel`)).body.code).toBe('subscription_ended')
    expect(
      (await shop.billing.post(`/subscription/${end.id}/cancel`, { cancel_at_end: 'true' })).body.data.status,
    ).toBe('non_renewing')
    expect((await shop.billing.put(`/subscription/${end.id}/resume`)).body.data).toMatchObject({
      status: 'live',
      next_billing_date: '2026-02-01T00:00:00.000Z',
    })
    expect((await shop.billing.put(`/subscription/${end.id}/resume`)).body.code).toBe('subscription_not_paused')
    expect((await shop.billing.put(`/subscription/${now.id}/pause`)).status).toBe(422)
    await shop.sound()
  })
})

describe('payment methods', () => {
  test('figures of a card may come as text or as numbers', async () => {
    const shop = await openShop(w)
    const { id } = await shop.customer()
    const save = (card: Record<string, unknown>) =>
      shop.billing.post(`/paymentmethod/${id}`, { gateway_type: 'test', card })
    const text = await save({ number: '4242 4242 4242 4242', exp_month: '02', exp_year: '2060', cvc: '012' })
    expect(text.body.data).toMatchObject({ last4: '4242', exp_month: 2, exp_year: 2060 })
    const numbers = await save({ number: 5555555555554444, exp_month: 2, exp_year: 2060, cvc: 123 })
    expect(numbers.body.data).toMatchObject({ last4: '4444', brand: 'mastercard' })
    for (const wrong of [{ exp_month: '13' }, { exp_month: 0 }, { exp_year: '60' }, { exp_year: 1999 }, { cvc: 12345 }])
      expect(
        (await save({ number: '4242424242424242', exp_month: 2, exp_year: 2060, cvc: '123', ...wrong })).status,
      ).toBe(400)
  })

  test('are kept without their number, listed newest first, and deleted', async () => {
    const shop = await openShop(w)
    const { id: customerId } = await shop.customer()
    const add = (body: object) => shop.billing.post(`/paymentmethod/${customerId}`, body)
    const card = { number: '4242 4242 4242 4242', exp_month: 12, exp_year: 2060, cvc: '1234' }
    const first = await add({ gateway_type: 'test', card })
    expect(first.body.data).toEqual({
      id,
      customer_id: customerId,
      gateway_type: 'test',
      brand: 'visa',
      last4: '4242',
      exp_month: 12,
      exp_year: 2060,
      createdAt: moment,
      updatedAt: moment,
    })
    const second = await add({ gateway_type: 'test', card: { ...card, number: '5555555555554444' } })
    const list = (await shop.billing.get(`/paymentmethods/${customerId}`)).body.data
    expect(list.map((one: { id: string }) => one.id)).toEqual([second.body.data.id, first.body.data.id])
    for (const wrong of [{ exp_month: 13 }, { exp_month: 0 }, { cvc: '12' }, { number: 'abc' }, { exp_year: 1999 }])
      expect((await add({ gateway_type: 'test', card: { ...card, ...wrong } })).status, JSON.stringify(wrong)).toBe(400)
    expect((await add({ gateway_type: 'test' })).body.code).toBe('card_missing')
    expect((await add({ gateway_type: 'offline' })).status).toBe(400)
    expect((await add({ gateway_type: 'stripe', token: 'pm_1' })).body.code).toBe('gateway_not_connected')
    const stranger = await openShop(w)
    expect((await stranger.billing.delete(`/paymentmethod/${first.body.data.id}`)).status).toBe(404)
    expect((await stranger.billing.get(`/paymentmethods/${customerId}`)).status).toBe(404)
    expect((await shop.billing.delete(`/paymentmethod/${first.body.data.id}`)).body.data.id).toBe(first.body.data.id)
    expect((await shop.billing.delete(`/paymentmethod/${first.body.data.id}`)).status).toBe(404)
  })
})

describe('invoices', () => {
  test('one invoice with its lines, as PDF, by customer, of this business alone', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30, setup_fee: 5 })
    const sold = await shop.subscribe(plan.id)
    const [listed] = (await shop.billing.get('/invoices')).body.data
    expect(listed).toMatchObject({
      id,
      invoice_id: 'INV-1',
      customer_id: sold.customerId,
      subscription_id: sold.id,
      product_id: shop.productId,
      quantity: '1',
      setup_fee: 5,
      amount: 35,
      due_amount: 0,
      status: 'paid',
      payment_term: 'net0',
      due_date: '2026-01-01T23:59:59.999Z',
      createdAt: moment,
      updatedAt: moment,
      currency_symbol: '$',
      credit_note: null,
      tax_apply: { country: '', tax_id: '', exempt_tax: [], total_amount: 35, total_tax: '0.00' },
    })
    expect(listed.subscription).toMatchObject(subscriptionShape)
    const one = (await shop.billing.get(`/invoice/${listed.id}`)).body.data
    expect(one.lines).toMatchObject([
      { type: 'plan', amount: 30, starts_on: '2026-01-01', ends_on: '2026-02-01' },
      { type: 'setup_fee', amount: 5, starts_on: '', ends_on: '' },
    ])
    const pdf = await shop.billing.get(`/invoice/${listed.id}/pdf`)
    expect(pdf.headers['content-type']).toBe('application/pdf')
    expect(pdf.headers['content-disposition']).toContain('INV-1.pdf')
    expect(pdf.text.slice(0, 5)).toBe('%PDF-')
    expect((await shop.billing.get(`/invoice/${listed.id}/pdf`)).text).toBe(pdf.text)
    const stranger = await openShop(w)
    for (const path of [`/invoice/${listed.id}`, `/invoice/${listed.id}/pdf`, `/invoices/${sold.customerId}`])
      expect((await stranger.billing.get(path)).status, path).toBe(404)
    for (const verb of ['recordpayment', 'void', 'collect'])
      expect(
        (await stranger.billing.post(`/invoice/${verb}/${listed.id}`, { payment_mode: 'cash' })).status,
        verb,
      ).toBe(404)
  })

  test('payments by hand: in parts, never too much; void reverses what nobody paid', async () => {
    const shop = await openShop(w)
    const plan = await shop.plan({ price: 30 })
    const sold = await shop.subscribe(plan.id, { body: { gateway_type: 'offline', payment_term: 'net30' } })
    const [invoice] = (await shop.billing.get(`/invoices/${sold.customerId}`)).body.data
    const pay = (body: object) => shop.billing.post(`/invoice/recordpayment/${invoice.id}`, body)
    expect((await pay({})).status).toBe(400)
    for (const amount of [0, -1, 1.234, 'x'])
      expect((await pay({ payment_mode: 'cash', amount })).status, String(amount)).toBe(400)
    expect((await pay({ payment_mode: 'cash', amount: 30.01 })).body.code).toBe('payment_exceeds_due')
    const part = await pay({ payment_mode: 'check', amount: 10, transaction: '#1', payment_note: 'first' })
    expect(part.body.data).toMatchObject({ status: 'sent', due_amount: 20, paid_amount: 10 })
    expect((await shop.billing.post(`/invoice/void/${invoice.id}`)).body.code).toBe('invoice_paid')
    expect((await pay({ payment_mode: 'cash' })).body.data).toMatchObject({ status: 'paid', due_amount: 0 })
    expect((await pay({ payment_mode: 'cash' })).body.code).toBe('invoice_paid')
    const [second, first] = (await shop.billing.get(`/transactions/${sold.customerId}`)).body.data
    expect(first).toMatchObject({ transaction: '#1', description: 'check: first', gateway_type: 'offline', amount: 10 })
    expect(second.amount).toBe(20)
    const other = await shop.subscribe(plan.id, { body: { gateway_type: 'offline' } })
    const [owed] = (await shop.billing.get(`/invoices/${other.customerId}`)).body.data
    expect((await shop.billing.post(`/invoice/void/${owed.id}`)).body.data).toMatchObject({
      status: 'void',
      due_amount: 0,
      invoice_id: 'INV-2',
    })
    expect((await shop.billing.post(`/invoice/void/${owed.id}`)).status).toBe(422)
    expect((await shop.billing.post(`/invoice/recordpayment/${owed.id}`, { payment_mode: 'cash' })).body.code).toBe(
      'invoice_void',
    )
    await shop.sound()
  })
})
