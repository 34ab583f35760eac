import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeShop, type Shop } from '../../test/browser/shop.ts'
import { person, visitor } from '../../test/checkout.ts'
import { type FakeGateway, startFakeGateway } from '../../test/fake-gateway.ts'
import { type TestBusiness, type World, world } from '../../test/world.ts'

/** With a Stripe account the card is given on Stripe's own page; none ever passes through ours. */

let w: World
let fake: FakeGateway
let business: TestBusiness
let shop: Shop
let pageId: string
beforeAll(async () => {
  fake = await startFakeGateway()
  w = await world({ stripeUrl: fake.url })
  business = await w.business()
  shop = await makeShop(business)
  await business.billing.put('/gateways/stripe', { secret_key: 'sk_test_1', webhook_secret: fake.webhookSecret })
  pageId = await shop.page([shop.plans.basic, shop.plans.team])
})
afterAll(async () => {
  await w.close()
  await fake.close()
})

const start = async () => {
  const someone = visitor(w.app)
  const page = await someone.get(`/checkout/${pageId}`)
  expect(page.text).not.toContain('card_number')
  expect(page.headers['content-security-policy']).toContain("form-action 'self' ")
  const ann = person()
  const sent = await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, method: 'stripe' })
  expect(sent.status).toBe(303)
  expect(sent.location).toMatch(/^https:\/\/pay\.example\/cs_/)
  const back = (token: string) => {
    const url = new URL(fake.giveCard(sent.location, token))
    return url.pathname + url.search
  }
  return { someone, ann, sent, back }
}
const subscriptionsOf = async (email = '') => {
  const { body } = await business.billing.get(`/customer?email=${email}`)
  return body.data ? (await business.billing.get(`/subscriptions/${body.data.id}`)).body.data : []
}

test('a card given there pays the order, once', async () => {
  const { someone, ann, back } = await start()
  expect(await subscriptionsOf(ann.email)).toEqual([])
  const path = back('pm_ok')
  const placed = await someone.get(path)
  expect((await someone.get(placed.location)).text).toContain('Thank you for your order')
  expect(await subscriptionsOf(ann.email)).toMatchObject([{ status: 'live', gateway_type: 'stripe' }])
  await someone.get(path)
  expect(fake.journal.filter(entry => entry.kind === 'charge')).toHaveLength(1)
})

test('a card that is refused there is told beside the choice, and nothing typed is lost', async () => {
  const { someone, ann, back } = await start()
  const refused = await someone.get(back('pm_declined'))
  expect(refused.text).toContain('The card has not enough funds.')
  expect(refused.text).toContain('id="f-method-error"')
  expect(refused.text).toContain(`value="${ann.email}"`)
  const again = await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, method: 'stripe' })
  const url = new URL(fake.giveCard(again.location, 'pm_ok'))
  expect((await someone.get(url.pathname + url.search)).status).toBe(303)
  const states = (await subscriptionsOf(ann.email)).map((one: { status: string }) => one.status)
  expect(states.sort()).toEqual(['canceled', 'live'])
})

test('coming back without a card, or with somebody else’s, shows the form as it was', async () => {
  const { someone, ann, back } = await start()
  const other = visitor(w.app)
  await other.get(`/checkout/${pageId}`)
  const stolen = await other.get(back('pm_ok'))
  expect(stolen.location).toBe(`/checkout/${pageId}`)
  const shown = await someone.get(`/checkout/${pageId}`)
  expect(shown.text).toContain(`value="${ann.email}"`)
  expect((await someone.get(`/checkout/${pageId}/collected?session=cs_nonsense`)).location).toBe(`/checkout/${pageId}`)
  expect(await subscriptionsOf(ann.email)).toEqual([])
})
