import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cards, openShop, type Shop } from '../billing-shop.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const mrr = async (shop: Shop, query = '') => (await shop.billing.get(`/mrr${query}`)).body.data
const movements = async (shop: Shop, query = '') =>
  (await shop.billing.get(`/mrr/movements${query}`)).body.data
    .map(({ type, amount, mrr }: Record<string, unknown>) => [type, amount, mrr])
    .reverse()

const still = { opening: 0, new: 0, expansion: 0, contraction: 0, churn: 0, reactivation: 0, closing: 0 }
const usd = { currency_code: 'USD', currency_symbol: '$' }

describe('GET /mrr and GET /mrr/movements', () => {
  test('tell a subscription’s life, day by day', async () => {
    const shop = await openShop(w, { now: '2026-01-10T12:00:00Z', timeZone: 'America/New_York' })
    expect(await mrr(shop)).toEqual([])
    const small = await shop.plan({ price: 30, plan_type: 'per_unit' })
    const yearly = await shop.plan({ price: 1200, billing_period: 'y' })
    const tried = await shop.plan({ price: 10, trial_period: 7, trial_type: 'day' })
    const { id, customerId } = await shop.subscribe(small.id)
    await shop.subscribe(tried.id)
    await shop.at('2026-01-12')
    await shop.change(id, { plan_id: small.id, quantity: 2 })
    await shop.at('2026-01-20')
    await shop.change(id, { plan_id: small.id, quantity: 1 })
    await shop.change(id, { plan_id: yearly.id, quantity: 1 })
    // 31 January in New York, February in UTC.
    await shop.at('2026-02-01T03:00:00Z')
    await shop.billing.put(`/subscription/${id}/pause`)
    await shop.at('2026-02-03')
    await shop.billing.put(`/subscription/${id}/resume`)
    await shop.billing.post(`/subscription/${id}/cancel`)
    const january = { ...usd, from: '2026-01-01', to: '2026-01-31' }
    expect(await mrr(shop, '?from=2026-01-01&to=2026-01-31')).toEqual([
      { ...january, ...still, new: 40, expansion: 100, contraction: -30, churn: -100, closing: 10 },
    ])
    expect(await mrr(shop)).toEqual([
      {
        ...usd,
        from: '2026-02-01',
        to: '2026-02-03',
        ...still,
        opening: 10,
        reactivation: 100,
        churn: -100,
        closing: 10,
      },
    ])
    expect(await movements(shop, `?subscription_id=${id}`)).toEqual([
      ['new', 30, 30],
      ['expansion', 30, 60],
      ['contraction', -30, 30],
      ['expansion', 70, 100],
      ['churn', -100, 0],
      ['reactivation', 100, 100],
      ['churn', -100, 0],
    ])
    const [last] = (await shop.billing.get('/mrr/movements?limit=1')).body.data
    expect(last).toEqual({
      subscription_id: id,
      customer_id: customerId,
      type: 'churn',
      amount: -100,
      mrr: 0,
      ...usd,
      createdAt: '2026-02-03T12:00:00.000Z',
    })
    expect((await shop.billing.get('/mrr/movements?type=new')).body.data).toHaveLength(2)
    await shop.sound()
    expect(await mrr(await openShop(w))).toEqual([])
  })

  test('recurring add-ons count, one-time sales, setup fees, coupons and taxes do not', async () => {
    const shop = await openShop(w, { now: '2026-01-10T12:00:00Z' })
    await shop.billing.post('/taxes', { name: 'VAT', country: 'DE', rate: 19 })
    const addon = async (fields: object) =>
      (
        await shop.billing.post(`/addon/${shop.productId}`, {
          name: 'Extra',
          billing_period: 'm',
          billing_period_num: 1,
          billing_cycle: 'lifetime',
          status: 'true',
          associate_plans: 'all_plans',
          price: 6,
          ...fields,
        })
      ).body.data.id
    const [monthly, once] = [await addon({ code: 'm' }), await addon({ code: 'o', billing_cycle: 'onetime' })]
    const weekly = await shop.plan({ price: 7, billing_period: 'w', setup_fee: 50 })
    await shop.subscribe(weekly.id, {
      customer: { billing_address: { country: 'DE' } },
      body: { gateway_type: 'offline', addons: [{ addon_id: monthly, quantity: 2 }, { addon_id: once }] },
    })
    // 7 a week are 365 a year.
    expect(await movements(shop)).toEqual([['new', 42.42, 42.42]])
    await shop.subscribe((await shop.plan({ price: 99, billing_cycle: 'onetime' })).id)
    await shop.subscribe((await shop.plan({ price: 0 })).id)
    expect(await movements(shop)).toHaveLength(1)
    await shop.sound()
  })

  test('who does not pay is lost, and comes back when the money does', async () => {
    const shop = await openShop(w, { now: '2026-01-10T12:00:00Z' })
    const { id, customerId, cardId } = await shop.subscribe((await shop.plan({ price: 30 })).id)
    await shop.card(customerId, cards.declined)
    await shop.billing.delete(`/paymentmethod/${cardId}`)
    await shop.at('2026-02-20')
    expect(await movements(shop)).toEqual([['new', 30, 30]])
    await shop.at('2026-03-20')
    expect(await movements(shop)).toEqual([
      ['new', 30, 30],
      ['churn', -30, 0],
    ])
    const [owed] = (await shop.billing.get(`/invoices?subscription_id=${id}`)).body.data
    await shop.billing.post(`/invoice/recordpayment/${owed.id}`, { payment_mode: 'cash' })
    expect((await movements(shop)).at(-1)).toEqual(['reactivation', 30, 30])
    await shop.sound()
  })

  test('changes of many at once leave no gap in the sums', async () => {
    const shop = await openShop(w, { now: '2026-01-10T12:00:00Z' })
    const [small, large] = [await shop.plan({ price: 30 }), await shop.plan({ price: 50 })]
    const sold = await Promise.all(Array.from({ length: 12 }, () => shop.subscribe(small.id)))
    await Promise.all(
      sold.map(({ id }, i) =>
        i % 2 ? shop.change(id, { plan_id: large.id }) : shop.billing.post(`/subscription/${id}/cancel`),
      ),
    )
    expect(await mrr(shop)).toMatchObject([{ new: 360, expansion: 120, churn: -180, closing: 300 }])
    await shop.at('2026-04-10')
    expect(await mrr(shop)).toMatchObject([{ opening: 300, closing: 300 }])
    await shop.sound()
  })

  test('refuse days that are none', async () => {
    const shop = await openShop(w)
    for (const query of [
      'from=soon',
      'to=2026-02-30',
      'from=0000-01-01',
      'from=2026-03-01&to=2026-02-01',
      'from=2026-01-01T00:00:00Z',
    ])
      expect([query, (await shop.billing.get(`/mrr?${query}`)).status]).toEqual([query, 400])
    expect((await shop.billing.get('/mrr/movements?type=loss')).status).toBe(400)
    expect((await shop.billing.get('/mrr/movements?limit=0')).status).toBe(400)
  })
})
