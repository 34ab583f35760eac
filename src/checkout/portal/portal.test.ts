import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeShop, type Shop } from '../../../test/browser/shop.ts'
import { card, person, type Visitor, visitor } from '../../../test/checkout.ts'
import { type TestBusiness, type World, world } from '../../../test/world.ts'

let w: World
let business: TestBusiness
let shop: Shop
let pageId: string
beforeAll(async () => {
  w = await world()
  business = await w.business({ testMode: true })
  await business.account.put('/clock', { now: '2026-04-01T12:00:00.000Z' })
  shop = await makeShop(business)
  pageId = await shop.page([shop.plans.basic, shop.plans.team, shop.plans.year])
})
afterAll(() => w.close())

const linksTo = (email: string) =>
  w.db<{ source: string }[]>`
  select c.source from email_block b
  join email_send s on s.business_id = b.business_id and s.id = b.send_id
  join email_content c on c.business_id = s.business_id and c.id = s.content_id
  where b.business_id = ${business.id} and ${email} = any(b.emails) and c.source like '%/enter/%'`.then(rows =>
    rows.map(row => /\/portal\/\w+\/enter\/[\w.-]+/.exec(row.source)?.[0] ?? ''),
  )

async function buy(plan: string, more: Record<string, string> = {}) {
  const someone = visitor(w.app)
  await someone.get(`/checkout/${pageId}`)
  const fields: Record<string, string> = { plan, ...person(), ...card(), ...more }
  await someone.send({ action: 'update', ...fields })
  const sent = await someone.send({ action: 'buy', ...fields })
  expect(sent.status).toBe(303)
  return fields.email ?? ''
}

async function signIn(email: string): Promise<Visitor> {
  const someone = visitor(w.app)
  await someone.post(`/portal/${business.id}/link`, { email })
  const [link = ''] = (await linksTo(email)).slice(-1)
  const entered = await someone.get(link)
  expect(entered.status).toBe(303)
  return someone
}

const subscriptionOf = async (email: string) => {
  const { body } = await business.billing.get(`/customer?email=${email}`)
  return (await business.billing.get(`/subscriptions/${body.data.id}`)).body.data[0]
}
const invoicesOf = async (subscriptionId: string) =>
  (await business.billing.get(`/invoices?subscription_id=${subscriptionId}`)).body.data
const at = (subscription: { id: string }, what: string) =>
  `/portal/${business.id}/subscriptions/${subscription.id}/${what}`

describe('the way in', () => {
  test('a link by mail opens the account; the answer is the same for strangers', async () => {
    const email = await buy(shop.plans.basic)
    const someone = visitor(w.app)
    const known = await someone.post(`/portal/${business.id}/link`, { email })
    const stranger = await someone.post(`/portal/${business.id}/link`, { email: 'stranger@example.com' })
    expect(known.text.replace(email, '')).toBe(stranger.text.replace('stranger@example.com', ''))
    expect(await linksTo('stranger@example.com')).toEqual([])
    const [link = ''] = await linksTo(email)
    await someone.get(link)
    const home = await someone.get(`/portal/${business.id}`)
    expect(home.text).toContain('Bread Box · Basic')
    expect(home.text).toContain('Next payment on May 1, 2026')
    expect(home.text).toContain('Visa ending in 4242')
    const pdf = /\/portal\/\w+\/invoices\/\w+\/pdf/.exec(home.text)?.[0] ?? ''
    expect((await someone.get(pdf)).text.startsWith('%PDF')).toBe(true)
    await someone.send({})
    expect((await someone.get(`/portal/${business.id}`)).text).toContain('Send me a link')
  })

  test('nothing opens without a link, with a changed or an old one, or in another business', async () => {
    const email = await buy(shop.plans.basic)
    const stranger = visitor(w.app)
    expect((await stranger.get(`/portal/${business.id}`)).text).toContain('Send me a link')
    await stranger.post(`/portal/${business.id}/link`, { email })
    const [link = ''] = await linksTo(email)
    expect((await stranger.get(`${link}x`)).text).toContain('This link has expired.')
    const customerId = (await subscriptionOf(email)).customer_id
    const old = w.platform.secrets.token(
      `portal link ${business.id}`,
      `${customerId} ${Math.floor(Date.now() / 1000) - 86_401}`,
    )
    expect((await stranger.get(`/portal/${business.id}/enter/${old}`)).text).toContain('This link has expired.')
    const other = await w.business()
    expect((await stranger.get(link.replace(business.id, other.id))).text).toContain('This link has expired.')
    expect((await stranger.get('/portal/nonsense')).status).toBe(404)
  })

  test('one address is not flooded with links', async () => {
    const email = await buy(shop.plans.basic)
    const someone = visitor(w.app)
    for (let i = 0; i < 3; i++) await someone.post(`/portal/${business.id}/link`, { email })
    expect((await someone.post(`/portal/${business.id}/link`, { email })).text).toContain('Too many links')
    expect(await linksTo(email)).toHaveLength(3)
  })

  test('what belongs to others can’t be seen or touched', async () => {
    const theirs = await subscriptionOf(await buy(shop.plans.basic))
    const [invoice] = await invoicesOf(theirs.id)
    const someone = await signIn(await buy(shop.plans.basic))
    await someone.get(`/portal/${business.id}`)
    expect((await someone.get(`/portal/${business.id}/invoices/${invoice.id}/pdf`)).status).toBe(404)
    for (const what of ['plan', 'card', 'cancel']) {
      expect((await someone.get(at(theirs, what))).location).toBe(`/portal/${business.id}`)
      await someone.post(at(theirs, what), { ...someone.hidden, when: 'now', plan: shop.plans.year, step: 'confirm' })
    }
    expect((await business.billing.get(`/subscription/${theirs.id}`)).body.data).toMatchObject({
      status: 'live',
      plan_id: shop.plans.basic,
    })
  })

  test('a form without our token changes nothing', async () => {
    const email = await buy(shop.plans.basic)
    const subscription = await subscriptionOf(email)
    const someone = await signIn(email)
    await someone.post(at(subscription, 'cancel'), { when: 'now', token: 'x.y' })
    expect((await subscriptionOf(email)).status).toBe('live')
  })
})

describe('changing the plan', () => {
  test('the preview of the credit note equals what is then applied', async () => {
    const email = await buy(shop.plans.basic, { country: 'DE' })
    const subscription = await subscriptionOf(email)
    await business.account.post('/clock/advance', { days: 10 })
    const someone = await signIn(email)
    await someone.get(at(subscription, 'plan'))
    const preview = await someone.send({ plan: shop.plans.team, quantity: '3', when: 'now' })
    expect(preview.text).toContain('10 of 30 days used')
    const shown = /data-total>\$([\d.]+)</.exec(preview.text)?.[1]
    const done = await someone.send({})
    expect(done.text).toContain('Your plan is now Team.')
    const [invoice] = await invoicesOf(subscription.id)
    expect(invoice).toMatchObject({ status: 'paid', subscription: { plan_id: shop.plans.team, quantity: 3 } })
    expect(invoice.credit_note.charge_amount).toBe(Number(shown))
    // 3 × 12 for 20 of 30 days and 25 setup fee, with 19 % tax, less the rest of 9.50 with tax
    expect(shown).toBe('50.77')
    expect(preview.text).toContain(`$${invoice.credit_note.new_plan_total}`)
    expect(preview.text).toContain(`$${invoice.credit_note.new_credits.toFixed(2)}`)
  })

  test('a second click changes nothing more', async () => {
    const email = await buy(shop.plans.basic)
    const subscription = await subscriptionOf(email)
    const someone = await signIn(email)
    await someone.get(at(subscription, 'plan'))
    await someone.send({ plan: shop.plans.year, when: 'now' })
    const fields = { ...someone.hidden }
    const [first, second] = await Promise.all([
      someone.post(at(subscription, 'plan'), fields),
      someone.post(at(subscription, 'plan'), fields),
    ])
    const isTold = (answer: { text: string; location: string }) =>
      answer.text.includes('Your plan is now Yearly.') || answer.location.endsWith('?said=changing')
    expect([first, second].map(isTold)).toEqual([true, true])
    expect((await someone.post(at(subscription, 'plan'), fields)).text).toContain('Your plan is now Yearly.')
    expect((await invoicesOf(subscription.id)).filter((one: { status: string }) => one.status === 'paid')).toHaveLength(
      2,
    )
  })

  test('amounts that changed since the preview are shown again before anything happens', async () => {
    const email = await buy(shop.plans.basic)
    const subscription = await subscriptionOf(email)
    const someone = await signIn(email)
    await someone.get(at(subscription, 'plan'))
    await someone.send({ plan: shop.plans.team, quantity: '1', when: 'now' })
    await business.account.post('/clock/advance', { days: 1 })
    const again = await someone.send({})
    expect(again.text).toContain('The amounts changed since you saw them.')
    expect((await subscriptionOf(email)).plan_id).toBe(shop.plans.basic)
    expect((await someone.send({})).text).toContain('Your plan is now Team.')
  })

  test('at the end of the term it waits, and can be withdrawn', async () => {
    const email = await buy(shop.plans.basic)
    const subscription = await subscriptionOf(email)
    const someone = await signIn(email)
    await someone.get(at(subscription, 'plan'))
    await someone.send({ plan: shop.plans.year, when: 'end' })
    expect((await someone.send({})).text).toContain('Your plan changes to Yearly on')
    expect((await business.billing.get(`/scheduledchanges/${subscription.id}`)).status).toBe(200)
    const home = await someone.get(`/portal/${business.id}`)
    expect(home.text).toContain('Changes to Yearly at the end of the term.')
    await someone.post(at(subscription, 'withdraw'), someone.hidden)
    expect((await business.billing.get(`/scheduledchanges/${subscription.id}`)).status).toBe(404)
  })

  test('a card that says no leaves the plan; a card whose bank asks changes it afterwards', async () => {
    const email = await buy(shop.plans.basic)
    const subscription = await subscriptionOf(email)
    const someone = await signIn(email)
    const newCard = async (number: string) => {
      await someone.get(at(subscription, 'card'))
      expect((await someone.send(card(number))).location).toBe(`/portal/${business.id}?said=card`)
    }
    const change = async () => {
      await someone.get(at(subscription, 'plan'))
      await someone.send({ plan: shop.plans.year, when: 'now' })
      return someone.send({})
    }
    await newCard('4000000000000002')
    expect((await change()).text).toContain('The card was declined, so your plan did not change.')
    expect((await subscriptionOf(email)).plan_id).toBe(shop.plans.basic)
    await newCard('4000002500003155')
    const asked = await change()
    expect(asked.status).toBe(303)
    await someone.get(new URL(asked.location).pathname)
    const returned = await someone.send({ answer: 'yes' })
    expect((await someone.get(returned.location)).location).toBe(`/portal/${business.id}?said=done`)
    expect((await subscriptionOf(email)).plan_id).toBe(shop.plans.year)
  })
})

describe('card and end', () => {
  test('a new card is used from then on; a wrong one is told beside its field', async () => {
    const email = await buy(shop.plans.basic)
    const subscription = await subscriptionOf(email)
    const someone = await signIn(email)
    await someone.get(at(subscription, 'card'))
    const wrong = await someone.send(card('4242 4242 4242 4241'))
    expect(wrong.status).toBe(422)
    expect(wrong.text).toContain('id="f-card_number-error"')
    await someone.send(card('5555555555554444'))
    expect((await someone.get(`/portal/${business.id}`)).text).toContain('Mastercard ending in 4444')
    expect((await subscriptionOf(email)).payment_method).not.toBe(subscription.payment_method)
  })

  test('canceling at the end keeps what was paid for; canceling now ends it', async () => {
    const email = await buy(shop.plans.basic)
    const subscription = await subscriptionOf(email)
    const someone = await signIn(email)
    await someone.get(at(subscription, 'cancel'))
    expect((await someone.send({ when: 'end', reason: 'Too much bread' })).text).toContain('Your subscription ends on')
    expect(await subscriptionOf(email)).toMatchObject({ status: 'non_renewing', cancel_reason: 'Too much bread' })
    await someone.get(at(subscription, 'cancel'))
    expect((await someone.send({ when: 'now' })).location).toBe(`/portal/${business.id}?said=canceled`)
    expect((await subscriptionOf(email)).status).toBe('canceled')
    expect((await someone.get(at(subscription, 'cancel'))).location).toBe(`/portal/${business.id}?said=impossible`)
  })
})
