import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cards, openShop, type Shop } from '../billing-shop.ts'
import { type World, world } from '../world.ts'

/** Random lives of subscriptions through the API, in currencies with 0, 2 and 3 decimals: the books must always agree. */

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('advance' as const), days: fc.integer({ min: 0, max: 40 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      plan: fc.nat(3),
      quantity: fc.integer({ min: 1, max: 7 }),
      mode: fc.constantFrom('credit_card', 'offline'),
      when: fc.constantFrom('immediately', 'immediately', 'eot'),
      card: fc.constantFrom('', cards.declined, cards.timesOut, cards.asks),
      addons: fc.constantFrom(undefined, [], ['monthly'], ['monthly', 'weekly'], ['once']),
      coupon: fc.constantFrom('', '', 'PERCENT', 'FLAT'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('refund' as const),
      which: fc.nat(5),
      percent: fc.integer({ min: 1, max: 120 }),
      type: fc.constantFrom('refund', 'refund_credit', 'record_refund', undefined),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pay' as const), percent: fc.integer({ min: 1, max: 100 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'pause',
        'resume',
        'cancel_at_end',
        'void',
        'collect',
        'delete',
        'confirm',
        'break',
        'mend',
      ),
    }),
  },
)
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

async function furnish(shop: Shop, unit: number) {
  const times = (count: number) => Number((count * unit).toFixed(2))
  const plans = [
    await shop.plan({ price: times(30), currency_code: shop.currency }),
    await shop.plan({ price: times(49), plan_type: 'per_unit', currency_code: shop.currency, setup_fee: times(5) }),
    await shop.plan({ price: times(7), billing_period: 'w', currency_code: shop.currency }),
    await shop.plan({ price: times(331), billing_period: 'y', currency_code: shop.currency }),
  ]
  const addon = async (code: string, fields: Record<string, unknown>) =>
    (
      await shop.billing.post(`/addon/${shop.productId}`, {
        name: code,
        code,
        price: times(3),
        billing_period: 'm',
        billing_period_num: 1,
        billing_cycle: 'lifetime',
        status: true,
        associate_plans: 'all_plans',
        currency_code: shop.currency,
        ...fields,
      })
    ).body.data.id as string
  const addons: Record<string, string> = {
    monthly: await addon('monthly', {}),
    weekly: await addon('weekly', { billing_period: 'w', price: times(1) }),
    once: await addon('once', { billing_cycle: 'onetime' }),
  }
  const coupon = { apply_to: 'total_amount', associate_plans: 'all_plans', currency_code: shop.currency }
  await shop.billing.post(`/coupon/${shop.productId}`, {
    ...coupon,
    coupon_name: 'P',
    coupon_code: 'PERCENT',
    discount: 33.33,
    discount_type: 'percent',
    redemption_type: 'number_time',
    redemption_cycle: 2,
  })
  await shop.billing.post(`/coupon/${shop.productId}`, {
    ...coupon,
    coupon_name: 'F',
    coupon_code: 'FLAT',
    discount: times(11),
    discount_type: 'flat',
    redemption_type: 'forever',
    maximum_redemption: 2,
  })
  await shop.billing.post('/taxes', { name: 'A', country: 'US', rate: 7.25 })
  await shop.billing.post('/taxes', { name: 'B', country: 'US', rate: 1.375 })
  return { plans, addons }
}

interface Life {
  shop: Shop
  plans: { id: string }[]
  addons: Record<string, string>
  id: string
  customerId: string
  cards: Map<string, string>
}

/** Whatever is asked, the answer is a success or a refusal, never a failure of ours. */
async function perform(life: Life, one: Act): Promise<void> {
  const { shop, id, customerId } = life
  const { billing } = shop
  const fine = (answer: { status: number; text: string }) =>
    expect([200, 400, 402, 404, 409, 422, 504], answer.text).toContain(answer.status)
  switch (one.kind) {
    case 'advance':
      return void fine(await shop.account.post('/clock/advance', { days: one.days, hours: 1 }))
    case 'change':
      return void fine(
        await shop.change(id, {
          plan_id: life.plans[one.plan]!.id,
          quantity: String(one.quantity),
          payment_mode: one.mode,
          activated_at_val: one.when,
          ...(one.card && { card_id: life.cards.get(one.card) }),
          ...(one.addons && {
            addons: one.addons.map(name => ({ addon_id: life.addons[name], quantity: one.quantity })),
          }),
          ...(one.coupon && { coupon_code: one.coupon }),
        }),
      )
    case 'refund': {
      const { data } = (await billing.get(`/transactions/${customerId}?status=success`)).body
      const payment = data[one.which % Math.max(1, data.length)]
      if (!payment) return
      const amount = Math.floor((payment.amount * one.percent) / 100)
      const body = { refund_type: one.type, ...(amount > 0 && { amount }) }
      return void fine(await billing.post(`/transaction/refund/${payment.id}`, body))
    }
    case 'pay': {
      const { data } = (await billing.get(`/invoices/${customerId}`)).body
      const due = data.find((invoice: { due_amount: number }) => invoice.due_amount > 0)
      if (!due) return
      const amount = Math.floor((due.due_amount * one.percent) / 100)
      const body = { payment_mode: 'cash', ...(amount > 0 && { amount }) }
      return void fine(await billing.post(`/invoice/recordpayment/${due.id}`, body))
    }
    default:
      return simple(life, one.kind, fine)
  }
}

async function simple(
  life: Life,
  kind: string,
  fine: (answer: { status: number; text: string }) => void,
): Promise<void> {
  const { shop, id, customerId } = life
  const { billing } = shop
  const invoices = async () => (await billing.get(`/invoices/${customerId}`)).body.data
  const payments = async () => (await billing.get(`/transactions/${customerId}`)).body.data
  const method = (behaviour: string) =>
    w.db`update billing_payment_method set gateway_method = ${behaviour} where business_id = ${shop.id} and id = ${life.cards.get(cards.ok)!}`
  switch (kind) {
    case 'pause':
    case 'resume':
      return fine(await billing.put(`/subscription/${id}/${kind}`))
    case 'cancel_at_end':
      return fine(await billing.post(`/subscription/${id}/cancel`, { cancel_at_end: true }))
    case 'void':
    case 'collect': {
      const due = (await invoices()).find((invoice: { due_amount: number }) => invoice.due_amount > 0)
      if (due) fine(await billing.post(`/invoice/${kind}/${due.id}`))
      return
    }
    case 'delete': {
      const [last] = await payments()
      if (last) fine(await billing.delete(`/transaction/${last.id}`))
      return
    }
    case 'confirm': {
      const open = (await payments()).find((one: { action_url: string }) => one.action_url)
      if (open) fine(await billing.post(`/transaction/confirm/${open.id}`))
      return
    }
    case 'break':
      return void (await method('declines:card_declined'))
    case 'mend':
      return void (await method('succeeds'))
  }
}

test('after every act the twelve invariants hold', { timeout: 120_000 }, async () => {
  const deadline = performance.now() + 18_000
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(['USD', 1], ['JPY', 100], ['KWD', 1], ['EUR', 0.37]),
      fc.constantFrom('UTC', 'Pacific/Apia', 'America/Sao_Paulo', 'Europe/Berlin'),
      fc.constantFrom('offline', 'test'),
      fc.array(act, { minLength: 5, maxLength: 25 }),
      async ([currency, unit], timeZone, gateway, acts) => {
        if (performance.now() > deadline) return
        const shop = await openShop(w, { now: '2026-01-30T22:30:00Z', timeZone, currency: currency as string })
        const { plans, addons } = await furnish(shop, unit as number)
        const { id: customerId } = await shop.customer({ billing_address: { country: 'US' } })
        const numbers = [cards.declined, cards.timesOut, cards.asks, cards.ok]
        const saved = new Map<string, string>()
        for (const number of numbers) saved.set(number, await shop.card(customerId, number))
        const made = await shop.billing.post(`/subscription/${customerId}`, {
          plan_id: plans[0]!.id,
          gateway_type: gateway,
          ...(gateway === 'test' && { payment_method: saved.get(cards.ok) }),
        })
        expect(made.status, made.text).toBe(200)
        const life: Life = { shop, plans, addons, id: made.body.data.id, customerId, cards: saved }
        for (const one of acts) {
          await perform(life, one)
          await shop.sound()
        }
        await shop.account.post('/clock/advance', { days: 400 })
        await shop.sound()
      },
    ),
    { numRuns: 60, endOnFailure: true },
  )
})
