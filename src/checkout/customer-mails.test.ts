import { afterAll, beforeAll, expect, test } from 'vitest'
import { cards, openShop, type Shop } from '../../test/billing-shop.ts'
import { type World, world } from '../../test/world.ts'
import { publish } from '../accounts/events/publish.ts'
import { reactRound } from '../accounts/events/react.ts'
import { knowTypes } from '../accounts/events/store-reactions.ts'
import { customerMails } from './customer-mails.ts'

let w: World
beforeAll(async () => {
  w = await world()
  await knowTypes(w.db, Object.keys(customerMails(w.platform)))
})
afterAll(() => w.close())

/** Everything written to the customer so far: subjects in order, and the last text. */
async function letters(shop: Shop): Promise<{ subjects: string[]; last: string }> {
  await publish(w.db, [shop.id], new Date())
  while ((await reactRound(w.platform, customerMails(w.platform))) > 0);
  const rows = await w.db<{ subject: string; source: string }[]>`
    select s.subject, c.source from email_send s
    join email_content c on c.business_id = s.business_id and c.id = s.content_id
    where s.business_id = ${shop.id} order by s.id`
  return { subjects: rows.map(row => row.subject), last: rows.at(-1)?.source ?? '' }
}

test('a customer is written to as the subscription lives on', async () => {
  const shop = await openShop(w)
  const basic = await shop.plan({ price: 30, plan_name: 'Basic' })
  const plus = await shop.plan({ price: 60, plan_name: 'Plus' })
  const { id, customerId } = await shop.subscribe(basic.id)
  const seen: string[] = []
  const next = async () => {
    const { subjects, last } = await letters(shop)
    const fresh = subjects.slice(seen.length)
    seen.push(...fresh)
    return { fresh, last }
  }
  expect((await next()).fresh).toEqual(['Your receipt INV-1 from Test shop'])

  await shop.at('2026-02-02')
  const renewed = await next()
  expect(renewed.fresh).toEqual(['Your receipt INV-2 from Test shop'])
  expect(renewed.last).toContain('we received your payment of $30.00 to Test shop')
  expect(renewed.last).toContain(`/portal/${shop.id}/enter/`)

  await w.db`update billing_payment_method set gateway_method = 'declines:card_declined' where business_id = ${shop.id}`
  await shop.at('2026-03-02')
  const failed = await next()
  expect(failed.fresh).toEqual(['Your payment to Test shop failed'])
  expect(failed.last).toContain('we could not collect $30.00 for Box from your card')
  expect(failed.last).toContain('We try again on March 3, 2026')
  const card = await shop.card(customerId)
  const [owed] = (await shop.billing.get(`/invoices/${customerId}`)).body.data
  await shop.billing.post(`/invoice/collect/${owed.id}`, { card_id: card })
  expect((await next()).fresh).toEqual(['Your receipt INV-3 from Test shop'])

  expect((await shop.change(id, { plan_id: plus.id, card_id: card })).status).toBe(200)
  expect((await next()).fresh.toSorted()).toEqual(['Your Box plan was changed', 'Your receipt INV-4 from Test shop'])

  const [paid] = (await shop.billing.get(`/transactions/${customerId}`)).body.data
  await shop.billing.post(`/transaction/refund/${paid.id}`, { amount: 3.8 })
  const refunded = await next()
  expect(refunded.fresh).toEqual(['Your refund from Test shop'])
  expect(refunded.last).toContain('we gave $3.80 back to you')

  await shop.billing.post(`/subscription/${id}/cancel`, { cancel_at_end: true })
  const ends = await next()
  expect(ends.fresh).toEqual(['Your Box subscription'])
  expect(ends.last).toContain('your subscription to Plus ends on April 1, 2026')
  await shop.at('2026-04-02')
  expect((await next()).last).toContain('your subscription to Plus has ended')
})

test('a renewal that the bank asks about: the mail leads to where it is confirmed', async () => {
  const shop = await openShop(w)
  const plan = await shop.plan({ price: 30 })
  const { id } = await shop.subscribe(plan.id)
  await w.db`update billing_payment_method set gateway_method = 'asks' where business_id = ${shop.id}`
  await shop.at('2026-02-01T12:00:00Z')
  const asked = await letters(shop)
  expect(asked.subjects.slice(1)).toEqual(['Please confirm your payment to Test shop'])
  expect(asked.last).toContain('your bank asks you to confirm the payment of $30.00 for Box')
  const [event] = await shop.events('payment_action_required')
  const { action_url: url } = event!.data as { action_url: string }
  expect(asked.last).toContain(`href="${url}"`)
  const page = await w.app.inject({ url: new URL(url).pathname })
  expect(page.statusCode).toBe(200)
  const hidden = Object.fromEntries(
    [...page.body.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )
  await w.app.inject({
    method: 'POST',
    url: new URL(url).pathname,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      cookie: String(page.headers['set-cookie']).split(';')[0],
    },
    payload: new URLSearchParams({ ...hidden, answer: 'yes' }).toString(),
  })
  const paid = await letters(shop)
  expect(paid.subjects.slice(2)).toEqual(['Your receipt INV-2 from Test shop'])
  expect((await shop.billing.get(`/subscription/${id}`)).body.data.status).toBe('live')
  await shop.sound()
})

test('who is there when the bank asks gets no mail about it', async () => {
  const shop = await openShop(w)
  const plan = await shop.plan({ price: 30 })
  const { id } = await shop.customer()
  const card = await shop.card(id, cards.asks)
  await shop.billing.post(`/subscription/${id}`, { plan_id: plan.id, card_id: card })
  expect(await shop.events('payment_action_required')).toHaveLength(1)
  expect((await letters(shop)).subjects).toEqual([])
})

test('who pays by invoice gets it, and a reminder; the renewal of a long term is announced', async () => {
  const shop = await openShop(w)
  const yearly = await shop.plan({ price: 120, billing_period: 'y', plan_name: 'Yearly' })
  await shop.subscribe(yearly.id, { body: { gateway_type: 'offline', payment_term: 'net15' } })
  const first = await letters(shop)
  expect(first.subjects).toEqual(['Your invoice INV-1 from Test shop'])
  expect(first.last).toContain('your invoice over $120.00. Please pay it by January 16, 2026')
  await shop.at('2026-01-20')
  expect((await letters(shop)).subjects.slice(1)).toEqual(['Invoice INV-1 is overdue'])
  const card = await shop.plan({ price: 90, billing_period: 'y', plan_name: 'Card' })
  await shop.subscribe(card.id)
  await shop.at('2027-01-14')
  expect((await letters(shop)).subjects).toContain('Box renews on January 20, 2027')
})

test('a business may write to its customers itself', async () => {
  const shop = await openShop(w)
  await shop.account.put('/business', { settings: { customerMails: false } })
  await shop.subscribe((await shop.plan({ price: 30 })).id)
  expect((await letters(shop)).subjects).toEqual([])
})

test('an event that cannot be acted on holds up no other, and each is acted on once', async () => {
  const shop = await openShop(w)
  await shop.subscribe((await shop.plan({ price: 30 })).id)
  await publish(w.db, [shop.id], new Date())
  const acted: string[] = []
  const reactions = {
    payment_success: async () => {
      throw new Error('not today')
    },
    invoice_create: async (_: unknown, event: { type: string }) => void acted.push(event.type),
  }
  while ((await reactRound(w.platform, reactions)) > 0);
  expect(acted).toEqual(['invoice_create'])
  expect((await letters(shop)).subjects).toEqual([])
})
