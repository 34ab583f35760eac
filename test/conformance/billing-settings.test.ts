import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cards, openShop } from '../billing-shop.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

describe('GET and PUT /settings', () => {
  test('begin as for everyone, change one by one, and are of this business alone', async () => {
    const shop = await openShop(w)
    const usual = { restart_on_change: false, end_trial_on_change: false, missed_periods: 'bill_all' }
    expect((await shop.billing.get('/settings')).body).toEqual({
      status: 'success',
      message: 'Settings',
      data: usual,
    })
    const answer = await shop.billing.put('/settings', { end_trial_on_change: 'true', unknown: 1 })
    expect([answer.status, answer.body.data]).toEqual([200, { ...usual, end_trial_on_change: true }])
    await shop.billing.put('/settings', { missed_periods: 'bill_current_only' })
    expect((await shop.billing.get('/settings')).body.data).toEqual({
      restart_on_change: false,
      end_trial_on_change: true,
      missed_periods: 'bill_current_only',
    })
    expect((await (await openShop(w)).billing.get('/settings')).body.data).toEqual(usual)
    for (const wrong of [{ missed_periods: 'none' }, { restart_on_change: 'perhaps' }, { end_trial_on_change: 1 }])
      expect((await shop.billing.put('/settings', wrong)).status).toBe(400)
  })
})

describe('restart_on_change', () => {
  test('a change to another plan begins a new period; quantity and price on the same plan do not', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const [small, large] = [await shop.plan({ price: 30, plan_type: 'per_unit' }), await shop.plan({ price: 60 })]
    const { id } = await shop.subscribe(small.id)
    await shop.billing.put('/settings', { restart_on_change: true })
    await shop.at('2026-04-16')
    const more = (await shop.change(id, { plan_id: small.id, quantity: 2 })).body.data
    expect(more.subscription.next_billing_date).toBe('2026-05-01T00:00:00.000Z')
    const { subscription, invoice } = (await shop.change(id, { plan_id: large.id, quantity: 1 })).body.data
    expect(subscription.next_billing_date).toBe('2026-05-16T00:00:00.000Z')
    expect(invoice.credit_note).toMatchObject({ new_plan_total: '60.00', new_credits: 30, charge_amount: 30 })
    await shop.at('2026-05-16')
    expect((await shop.billing.get('/invoices')).body.data[0].amount).toBe(60)
    await shop.sound()
  })
})

describe('end_trial_on_change', () => {
  test('the change is billed at once, with the setup fee, and the first period begins that day', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const tried = await shop.plan({ price: 30, trial_period: 14, trial_type: 'day' })
    const bought = await shop.plan({ price: 90, setup_fee: 10, billing_cycle: 'specific', billing_cycle_num: 3 })
    await shop.billing.post(`/coupon/${shop.productId}`, {
      coupon_name: 'Once',
      coupon_code: 'ONCE',
      discount: 50,
      discount_type: 'percent',
      redemption_type: 'onetime',
    })
    const { id } = await shop.subscribe(tried.id, { body: { coupon_code: 'ONCE' } })
    await shop.billing.put('/settings', { end_trial_on_change: true })
    await shop.at('2026-04-06')
    const { subscription, invoice } = (await shop.change(id, { plan_id: bought.id })).body.data
    expect(subscription).toMatchObject({
      status: 'live',
      activation_date: '2026-04-06T00:00:00.000Z',
      trial_expiry_date: '2026-04-06T12:00:00.000Z',
      next_billing_date: '2026-05-06T00:00:00.000Z',
      expiry_date: '2026-07-06T00:00:00.000Z',
    })
    expect(invoice).toMatchObject({ amount: 55, setup_fee: 10, status: 'paid' })
    expect(invoice.credit_note).toMatchObject({ used_days: 5, remaining_days: 9, new_credits: 0, charge_amount: 55 })
    await shop.at('2026-07-10')
    const invoices = (await shop.billing.get('/invoices')).body.data
    expect(invoices.map((one: { amount: number }) => one.amount)).toEqual([90, 90, 55])
    expect((await shop.billing.get(`/subscription/${id}`)).body.data.status).toBe('expired')
    expect(await shop.events('subscription_activate')).toHaveLength(1)
    await shop.sound()
  })

  test('a card that is refused leaves the trial as it was', async () => {
    const shop = await openShop(w, { now: '2026-04-01T12:00:00Z' })
    const tried = await shop.plan({ price: 30, trial_period: 14, trial_type: 'day' })
    const bought = await shop.plan({ price: 90 })
    const { id } = await shop.subscribe(tried.id, { number: cards.declined })
    await shop.billing.put('/settings', { end_trial_on_change: true })
    expect((await shop.change(id, { plan_id: bought.id })).status).toBe(402)
    expect((await shop.billing.get(`/subscription/${id}`)).body.data).toMatchObject({
      status: 'trial',
      plan_id: tried.id,
      trial_expiry_date: '2026-04-15T00:00:00.000Z',
    })
    await shop.sound()
  })
})

describe('missed_periods', () => {
  /** Nothing was billed from February to the middle of May. */
  async function asleep(missedPeriods: string, plan: Record<string, unknown> = {}) {
    const shop = await openShop(w, { now: '2026-01-31T12:00:00Z' })
    await shop.billing.put('/settings', { missed_periods: missedPeriods })
    const { id } = await shop.subscribe((await shop.plan({ price: 30, ...plan })).id)
    await shop.account.put('/clock', { now: '2026-05-15T12:00:00Z' })
    await shop.account.post('/clock/advance', { hours: 1 })
    const invoices = (await shop.billing.get('/invoices')).body.data as { id: string }[]
    const lines = await Promise.all(
      invoices.map(async one => (await shop.billing.get(`/invoice/${one.id}`)).body.data.lines[0].starts_on),
    )
    await shop.sound()
    return { shop, lines, subscription: (await shop.billing.get(`/subscription/${id}`)).body.data }
  }

  test('bill_all bills them one by one, in order', async () => {
    const { lines } = await asleep('bill_all')
    expect(lines).toEqual(['2026-04-30', '2026-03-31', '2026-02-28', '2026-01-31'])
  })

  test('bill_current_only bills the running one, and goes on by the same anchor', async () => {
    const { shop, lines, subscription } = await asleep('bill_current_only')
    expect(lines).toEqual(['2026-04-30', '2026-01-31'])
    expect(subscription).toMatchObject({ status: 'live', next_billing_date: '2026-05-31T00:00:00.000Z' })
    expect(await shop.events('subscription_renew')).toHaveLength(1)
    await shop.at('2026-06-30')
    expect((await shop.billing.get('/invoices')).body.data).toHaveLength(4)
    await shop.sound()
  })

  test('cycles that passed are over', async () => {
    const three = { billing_cycle: 'specific', billing_cycle_num: 3 }
    expect(await asleep('bill_current_only', three)).toMatchObject({
      lines: ['2026-01-31'],
      subscription: { status: 'expired' },
    })
    const four = { billing_cycle: 'specific', billing_cycle_num: 4 }
    const { subscription, lines } = await asleep('bill_current_only', four)
    expect(lines).toEqual(['2026-04-30', '2026-01-31'])
    expect(subscription.expiry_date).toBe('2026-05-31T00:00:00.000Z')
  })
})
