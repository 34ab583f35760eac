import { afterAll, beforeAll, expect, test } from 'vitest'
import { openShop } from '../billing-shop.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

test("a customer's year: trial, paid, coupon, upgrade, downgrade at the end, failed card, dunning, refund, cancel", async () => {
  const shop = await openShop(w, { now: '2026-01-17T09:00:00Z', timeZone: 'Europe/Berlin' })
  await shop.billing.post('/taxes', { name: 'VAT', country: 'DE', rate: 19 })
  await shop.billing.post(`/coupon/${shop.productId}`, {
    coupon_name: 'Three months',
    coupon_code: 'HELLO',
    discount: 10,
    discount_type: 'percent',
    redemption_type: 'number_time',
    redemption_cycle: 3,
    apply_to: 'total_amount',
    associate_plans: 'all_plans',
  })
  const basic = await shop.plan({ price: 20, trial_period: 14, setup_fee: 5 })
  const pro = await shop.plan({ price: 60 })
  const license = await shop.billing.post(`/products/${shop.productId}/licenses`, {
    name: 'Keys',
    method: 'list',
    license_codes: 'AAA\nBBB',
  })
  expect(license.status).toBe(200)

  // Trial from 17 to 31 January; nothing is taken.
  const sold = await shop.subscribe(basic.id, {
    customer: { billing_address: { country: 'DE' } },
    body: { coupon_code: 'HELLO' },
  })
  const get = async () => (await shop.billing.get(`/subscription/${sold.id}`)).body.data
  const invoices = async () => (await shop.billing.get(`/invoices/${sold.customerId}?limit=100`)).body.data
  const payments = async () => (await shop.billing.get(`/transactions/${sold.customerId}`)).body.data
  expect(await get()).toMatchObject({ status: 'trial', trial_days: 14, trial_expiry_date: '2026-01-30T23:00:00.000Z' })
  expect(await payments()).toEqual([])

  // Paid: 20 - 10 % + setup 5 = 23, + 19 % = 27.37.
  await shop.at('2026-01-31')
  expect(await get()).toMatchObject({ status: 'live', next_billing_date: '2026-02-27T23:00:00.000Z' })
  expect((await payments()).map((one: { amount: number }) => one.amount)).toEqual([27.37])
  expect((await shop.events('subscription_activate')).length).toBe(1)
  const codes = (await shop.billing.get(`/products/${shop.productId}/licenses`)).body.data
  expect(codes[0].used_license).toBe(1)
  await shop.sound()

  // The month ends never drift: 31 January, 28 February, 31 March.
  await shop.at('2026-03-05')
  expect((await get()).next_billing_date).toBe('2026-03-30T22:00:00.000Z')
  expect((await payments())[0].amount).toBe(21.42)

  // Upgrade on 15 March with 16 of 31 days left (28 Feb to 31 Mar): credit 18 * 16/31 = 9.29, tax 1.77.
  await shop.at('2026-03-15')
  const upgraded = await shop.change(sold.id, { plan_id: pro.id, update_reason: 'more space' })
  expect(upgraded.status, upgraded.text).toBe(200)
  expect(upgraded.body.data.invoice.credit_note).toMatchObject({
    used_days: 15,
    remaining_days: 16,
    new_credits: 11.06,
  })
  expect(upgraded.body.data.subscription).toMatchObject({ update_reason: 'more space', update_type: 'upgrade' })
  await shop.sound()

  // Third and last invoice with the coupon, then the full price.
  await shop.at('2026-05-02')
  const spring = (await invoices()).map((one: { amount: number }) => one.amount)
  expect(spring.slice(0, 2)).toEqual([71.4, 64.26])

  // Downgrade at the end of the term: nothing changes before.
  const scheduled = await shop.change(sold.id, { plan_id: basic.id, activated_at_val: 'eot' })
  expect(scheduled.body.data.invoice).toBeNull()
  expect((await get()).plan_id).toBe(pro.id)
  expect((await shop.billing.get(`/scheduledchanges/${sold.id}`)).body.data).toMatchObject({ update_type: 'downgrade' })
  await shop.at('2026-06-01')
  expect(await get()).toMatchObject({ plan_id: basic.id, update_type: 'downgrade', status: 'live' })
  expect((await invoices())[0].amount).toBe(23.8)
  expect((await shop.billing.get(`/scheduledchanges/${sold.id}`)).status).toBe(404)
  await shop.sound()

  // The card fails from now on: dunning with retries, and a new card ends it.
  await w.db`update billing_payment_method set gateway_method = 'declines:card_declined' where business_id = ${shop.id}`
  await shop.at('2026-07-01')
  expect((await get()).status).toBe('dunning')
  await shop.at('2026-07-04')
  expect((await payments()).filter((one: { status: string }) => one.status === 'failure').length).toBe(2)
  const [owed] = await invoices()
  expect(owed).toMatchObject({ status: 'sent', due_amount: 23.8 })
  const fresh = await shop.card(sold.customerId)
  const collected = await shop.billing.post(`/invoice/collect/${owed.id}`, { card_id: fresh })
  expect(collected.body.data).toMatchObject({ status: 'paid', due_amount: 0 })
  expect((await get()).status).toBe('live')
  await shop.sound()

  // A part of that payment goes back.
  const [paid] = await payments()
  const refund = await shop.billing.post(`/transaction/refund/${paid.id}`, { amount: 3.8, description: 'sorry' })
  expect(refund.body).toMatchObject({ status: 'success', data: { status: 'refund', amount: 3.8 } })
  expect((await shop.billing.get(`/invoice/${owed.id}`)).body.data).toMatchObject({
    status: 'paid',
    refunded_amount: 3.8,
  })

  // Canceled at the end of the term.
  const cancel = await shop.billing.post(`/subscription/${sold.id}/cancel`, {
    cancel_at_end: true,
    cancel_reason: 'moving',
  })
  expect(cancel.body.data).toMatchObject({ status: 'non_renewing', next_billing_date: '' })
  await shop.at('2027-01-17')
  expect(await get()).toMatchObject({ status: 'canceled', cancel_reason: 'moving' })
  expect((await get()).canceled_date).toBe('2026-07-30T22:00:00.000Z')
  expect((await invoices())[0].id).toBe(owed.id)
  await shop.sound()
  const told = new Set((await shop.events()).map(event => event.type))
  for (const type of [
    'subscription_create',
    'subscription_activate',
    'subscription_renew',
    'subscription_about_to_renew',
    'subscription_upgrade',
    'subscription_downgrade_scheduled',
    'subscription_downgrade',
    'subscription_cancel_scheduled',
    'subscription_cancel',
    'payment_success',
    'payment_failure',
    'payment_refund',
    'invoice_create',
    'invoice_dunning',
    'credit_create',
    'credit_close',
  ])
    expect(told, type).toContain(type)
})

test('a card that never works: retries after 2, 5, 7 and 7 days, then unpaid; a recorded payment begins a new term', async () => {
  const shop = await openShop(w, { now: '2026-01-10T12:00:00Z' })
  const plan = await shop.plan({ price: 20 })
  const sold = await shop.subscribe(plan.id)
  await w.db`update billing_payment_method set gateway_method = 'declines:card_declined' where business_id = ${shop.id}`
  await shop.at('2026-03-05')
  const row = (await shop.billing.get(`/subscription/${sold.id}`)).body.data
  expect(row).toMatchObject({ status: 'unpaid', next_billing_date: '' })
  const payments = (await shop.billing.get(`/transactions/${sold.customerId}?status=failure`)).body.data
  // 10 Feb 0:00, then 12, 17, 24 Feb and 3 Mar.
  expect(payments.map((one: { createdAt: string }) => one.createdAt.slice(0, 10)).reverse()).toEqual([
    '2026-02-10',
    '2026-02-12',
    '2026-02-17',
    '2026-02-24',
    '2026-03-03',
  ])
  const [owed] = (await shop.billing.get(`/invoices/${sold.customerId}`)).body.data
  expect(owed.status).toBe('overdue')
  await shop.at('2026-03-20')
  await shop.billing.post(`/invoice/recordpayment/${owed.id}`, { payment_mode: 'cash' })
  await w.db`update billing_payment_method set gateway_method = 'succeeds' where business_id = ${shop.id}`
  await shop.at('2026-03-21')
  const again = (await shop.billing.get(`/subscription/${sold.id}`)).body.data
  expect(again).toMatchObject({ status: 'live', next_billing_date: '2026-04-20T00:00:00.000Z' })
  await shop.sound()
})

test('a card that asks for confirmation: the subscription stays live in grace, and the customer confirms', async () => {
  const shop = await openShop(w, { now: '2026-01-10T12:00:00Z' })
  const plan = await shop.plan({ price: 20 })
  const sold = await shop.subscribe(plan.id)
  await w.db`update billing_payment_method set gateway_method = 'asks' where business_id = ${shop.id}`
  await shop.at('2026-02-10')
  const [open] = (await shop.billing.get(`/transactions/${sold.customerId}`)).body.data
  expect(open).toMatchObject({ status: 'created' })
  expect(open.action_url).toContain('/checkout/confirm/')
  expect((await shop.billing.get(`/subscription/${sold.id}`)).body.data.status).toBe('live')
  await shop.billing.post(`/transaction/confirm/${open.id}`, { accept: true })
  expect((await shop.billing.get(`/invoices/${sold.customerId}`)).body.data[0].status).toBe('paid')
  // Next month nobody confirms: it counts as a failure once the time is up.
  await shop.at('2026-03-13')
  expect((await shop.billing.get(`/subscription/${sold.id}`)).body.data.status).toBe('dunning')
  await shop.sound()
})

test('limited cycles expire, a future one starts on its day, a paused one waits', async () => {
  const shop = await openShop(w, { now: '2026-01-10T12:00:00Z', timeZone: 'America/New_York' })
  const twice = await shop.plan({ price: 20, billing_cycle: 'specific', billing_cycle_num: 2 })
  const endless = await shop.plan({ price: 20 })
  const limited = await shop.subscribe(twice.id)
  const later = await shop.subscribe(endless.id, { body: { starts_at: '2026-02-01T12:00:00Z' } })
  const paused = await shop.subscribe(endless.id)
  const status = async (id: string) => (await shop.billing.get(`/subscription/${id}`)).body.data.status
  expect((await shop.billing.get(`/subscription/${limited.id}`)).body.data.expiry_date).toBe('2026-03-10T04:00:00.000Z')
  expect(await status(later.id)).toBe('future')
  expect((await shop.billing.put(`/subscription/${paused.id}/pause`)).body.data.status).toBe('paused')
  await shop.at('2026-02-15')
  expect(await status(later.id)).toBe('live')
  expect((await shop.billing.get(`/invoices/${later.customerId}`)).body.data.length).toBe(1)
  expect((await shop.billing.get(`/invoices/${paused.customerId}`)).body.data.length).toBe(1)
  expect((await shop.billing.put(`/subscription/${paused.id}/resume`)).body.data.status).toBe('live')
  expect((await shop.billing.get(`/invoices/${paused.customerId}`)).body.data.length).toBe(2)
  expect((await shop.billing.get(`/subscription/${paused.id}`)).body.data.next_billing_date).toBe(
    '2026-03-15T04:00:00.000Z',
  )
  await shop.at('2026-03-12')
  expect(await status(limited.id)).toBe('expired')
  expect((await shop.billing.get(`/invoices/${limited.customerId}`)).body.data.length).toBe(2)
  await shop.sound()
})

test('add-ons: the same rhythm as the plan, a rhythm of their own, and once', async () => {
  const shop = await openShop(w, { now: '2026-01-01T12:00:00Z' })
  const plan = await shop.plan({ price: 100 })
  const next = await shop.plan({ price: 200 })
  const addon = async (fields: Record<string, unknown>) =>
    (
      await shop.billing.post(`/addon/${shop.productId}`, {
        billing_period: 'm',
        billing_cycle: 'lifetime',
        status: 'true',
        associate_plans: 'all_plans',
        billing_period_num: 1,
        price: 10,
        ...fields,
      })
    ).body.data.id
  const monthly = await addon({ code: 'M', name: 'Monthly' })
  const yearly = await addon({ code: 'Y', name: 'Yearly', billing_period: 'y', price: 60 })
  const once = await addon({ code: 'O', name: 'Once', billing_cycle: 'onetime', price: 7 })
  const sold = await shop.subscribe(plan.id, {
    body: { addons: JSON.stringify([{ addon_id: monthly, quantity: 2 }, { addon_id: yearly }, { addon_id: once }]) },
  })
  const amounts = async () =>
    (await shop.billing.get(`/invoices/${sold.customerId}`)).body.data.map((one: { amount: number }) => one.amount)
  expect(await amounts()).toEqual([187])
  await shop.at('2026-02-01T12:00:00Z')
  expect(await amounts()).toEqual([120, 187])
  // 14 of 28 days are left: 60 of 120 back, 100 + 10 for the new plan and the add-on; the yearly one runs on.
  await shop.at('2026-02-15')
  const { body } = await shop.change(sold.id, { plan_id: next.id })
  expect(body.data.invoice.credit_note).toMatchObject({ new_credits: 60, new_plan_total: '110.00', charge_amount: 50 })
  expect(body.data.subscription.addons.map((one: { adjusted_amount: number }) => one.adjusted_amount).sort()).toEqual(
    [10, 60, 7].sort(),
  )
  await shop.at('2027-01-01T12:00:00Z')
  expect((await amounts())[0]).toBe(280)
  await shop.sound()
})

test('an unpaid offline invoice becomes overdue after its term, and the subscription unpaid', async () => {
  const shop = await openShop(w, { now: '2026-01-31T12:00:00Z' })
  const plan = await shop.plan({ price: 20 })
  const sold = await shop.subscribe(plan.id, { body: { gateway_type: 'offline', payment_term: 'net15' } })
  await shop.at('2026-02-15T23:59:59.999Z')
  const invoice = async () => (await shop.billing.get(`/invoices/${sold.customerId}`)).body.data[0]
  expect((await invoice()).status).toBe('sent')
  await shop.at('2026-02-16T00:00:00Z')
  expect((await invoice()).status).toBe('overdue')
  expect((await shop.billing.get(`/subscription/${sold.id}`)).body.data.status).toBe('unpaid')
  const paid = await shop.billing.post(`/invoice/recordpayment/${(await invoice()).id}`, {
    payment_mode: 'check',
    transaction: '#12',
  })
  expect(paid.body.data).toMatchObject({ status: 'paid', due_amount: 0 })
  expect((await shop.billing.get(`/subscription/${sold.id}`)).body.data.status).toBe('live')
  await shop.sound()
})
