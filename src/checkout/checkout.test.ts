import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeShop, type Shop } from '../../test/browser/shop.ts'
import { card, person, visitor } from '../../test/checkout.ts'
import { type TestBusiness, type World, world } from '../../test/world.ts'

let w: World
let business: TestBusiness
let shop: Shop
let basicPage: string
beforeAll(async () => {
  w = await world()
  business = await w.business()
  shop = await makeShop(business)
  basicPage = await shop.page([shop.plans.basic, shop.plans.team])
})
afterAll(() => w.close())

const open = async (pageId: string, headers = {}) => {
  const someone = visitor(w.app, headers)
  return { someone, page: await someone.get(`/checkout/${pageId}`) }
}
const subscriptionsOf = async (email: string) => {
  const { body } = await business.billing.get(`/customer?email=${email}`)
  if (!body.data) return []
  return (await business.billing.get(`/subscriptions/${body.data.id}`)).body.data
}
const chargesOf = (email: string) => w.db`
  select t.amount_minor from billing_transaction t join billing_customer c on c.business_id = t.business_id and c.id = t.customer_id
  where t.business_id = ${business.id} and t.type = 'payment' and t.state = 'succeeded' and c.email_id = ${email}`
const mailsTo = (email: string) => w.db<{ subject: string; source: string }[]>`
  select s.subject, c.source from email_block b
  join email_send s on s.business_id = b.business_id and s.id = b.send_id
  join email_content c on c.business_id = s.business_id and c.id = s.content_id
  where b.business_id = ${business.id} and ${email} = any(b.emails) order by s.id`

describe('buying', () => {
  test('ends in customer, subscription, paid invoice, license code, receipt page and receipt mail', async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    const sent = await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, ...card() })
    expect(sent.status).toBe(303)
    const receipt = await someone.get(sent.location)
    expect(receipt.status).toBe(200)
    expect(receipt.text).toContain('Thank you for your order')
    expect(receipt.text).toMatch(/BREAD-\w{4}-\w{4}/)
    expect(receipt.text).toContain('$9.50')
    const [subscription, ...more] = await subscriptionsOf(ann.email!)
    expect(more).toEqual([])
    expect(subscription).toMatchObject({ status: 'live', plan_id: shop.plans.basic, gateway_type: 'test' })
    const { data: invoices } = (await business.billing.get(`/invoices?subscription_id=${subscription.id}`)).body
    expect(invoices).toMatchObject([{ status: 'paid', amount: 9.5, due_amount: 0 }])
    const mails = await mailsTo(ann.email!)
    expect(mails).toHaveLength(1)
    expect(mails[0]?.subject).toBe(`Your receipt ${invoices[0].invoice_id} from Test shop`)
    expect(mails[0]?.source).toContain(sent.location)
    expect(mails[0]?.source).toMatch(/BREAD-\w{4}-\w{4}/)
    const pdf = await someone.get(`${sent.location}/pdf`)
    expect(pdf.headers['content-type']).toBe('application/pdf')
    expect(pdf.text.startsWith('%PDF')).toBe(true)
  })

  test('by invoice the subscription is live, the invoice due, and the code waits for the money', async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    const sent = await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, method: 'offline' })
    const receipt = await someone.get(sent.location)
    expect(receipt.text).toContain('Due by')
    expect(receipt.text).not.toMatch(/BREAD-/)
    expect(await subscriptionsOf(ann.email!)).toMatchObject([{ status: 'live', gateway_type: 'offline' }])
    expect((await mailsTo(ann.email!))[0]?.subject).toMatch(/^Your invoice INV-\d+ from Test shop$/)
  })

  test('a trial charges nothing today', async () => {
    const { someone, page } = await open(await shop.page([shop.plans.trial]))
    expect(page.text).toContain('Start free trial')
    expect(page.text).toContain('14-day free trial')
    const ann = person()
    const sent = await someone.send({ action: 'buy', plan: shop.plans.trial, ...ann, ...card() })
    expect((await someone.get(sent.location)).text).toContain('Your trial has begun')
    expect(await subscriptionsOf(ann.email!)).toMatchObject([{ status: 'trial', trial_days: 14 }])
    expect(await chargesOf(ann.email!)).toHaveLength(0)
  })

  test('per unit, with setup fee, add-on, coupon and tax: the charge is the total that was shown', async () => {
    const { someone } = await open(basicPage)
    const ann = person({ country: 'DE' })
    const choice = {
      plan: shop.plans.team,
      quantity: '3',
      coupon: 'welcome20',
      [`addon-${shop.addons.jam}`]: '1',
      [`addonqty-${shop.addons.jam}`]: '2',
      ...ann,
    }
    const looked = await someone.send({ action: 'update', ...choice })
    // (3 × 12 + 2 × 4) less 20 %, plus 25, plus 19 %
    expect(looked.text).toContain('<dd data-total>$71.64</dd>')
    expect(looked.text).toContain('WELCOME20 saves you $8.80.')
    const sent = await someone.send({ action: 'buy', ...choice, ...card() })
    expect(sent.status).toBe(303)
    expect(await chargesOf(ann.email!)).toEqual([{ amount_minor: 7164n }])
  })

  test('a donation is what the giver says', async () => {
    const { someone } = await open(await shop.page([shop.plans.gift]))
    const ann = person()
    await someone.send({ action: 'update', plan: shop.plans.gift, amount: '12,5' })
    await someone.send({ action: 'buy', plan: shop.plans.gift, amount: '12,5', ...ann, ...card() })
    expect(await chargesOf(ann.email!)).toEqual([{ amount_minor: 1250n }])
  })

  test('what costs nothing asks for no card', async () => {
    const { someone } = await open(await shop.page([shop.plans.free]))
    const ann = person()
    const sent = await someone.send({ action: 'buy', plan: shop.plans.free, ...ann, method: 'card' })
    expect(sent.status).toBe(303)
    expect(await subscriptionsOf(ann.email!)).toMatchObject([{ status: 'live' }])
  })
})

describe('nobody pays twice', () => {
  test('a double click, a second tab and the back button all lead to the one receipt', async () => {
    const { someone } = await open(basicPage)
    const tab = visitor(w.app)
    for (const [name, value] of someone.cookies) tab.cookies.set(name, value)
    await tab.get(`/checkout/${basicPage}`)
    expect(tab.hidden.order).toBe(someone.hidden.order)
    const ann = person()
    const fields = { action: 'buy', plan: shop.plans.basic, ...ann, ...card() }
    const answers = await Promise.all([someone.send(fields), someone.send(fields), tab.send(fields), tab.send(fields)])
    for (const answer of answers) expect([200, 303]).toContain(answer.status)
    const again = await someone.send(fields)
    expect(again.status).toBe(303)
    expect(await subscriptionsOf(ann.email!)).toHaveLength(1)
    expect(await chargesOf(ann.email!)).toHaveLength(1)
    expect(await mailsTo(ann.email!)).toHaveLength(1)
    const waiting = answers.find(answer => answer.status === 200)
    if (waiting) expect(waiting.text).toContain('Your order is being placed')
  })

  test('who comes back after buying is shown the receipt, and may order again on purpose', async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    const fields = { action: 'buy', plan: shop.plans.basic, ...ann, ...card() }
    const sent = await someone.send(fields)
    const back = await someone.get(`/checkout/${basicPage}`)
    expect(back.text).toContain('You have already placed this order.')
    expect(back.text).toContain(sent.location)
    expect((await someone.send(fields)).location).not.toBe(sent.location)
    expect(await subscriptionsOf(ann.email!)).toHaveLength(2)
  })

  test('an order that was cut off before the gateway answered is finished, not repeated', async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    const fields = { action: 'buy', plan: shop.plans.basic, ...ann, ...card() }
    await someone.send(fields)
    // As if the program had died right after billing was done.
    await w.db`
      update checkout_order set state = 'placing', subscription_id = null, held_until = now() - interval '1 second'
      where business_id = ${business.id} and id = ${someone.hidden.order!}`
    expect((await someone.get(`/checkout/${basicPage}`)).text).toContain('Choose your plan')
    expect((await someone.send(fields)).status).toBe(303)
    expect(await subscriptionsOf(ann.email!)).toHaveLength(1)
    expect(await chargesOf(ann.email!)).toHaveLength(1)
  })
})

describe('cards that are refused', () => {
  test.each([
    ['4000000000000002', 'Your card was declined.'],
    ['4000000000009995', 'The card has not enough funds.'],
  ])('%s: told beside the field, everything but the card stays, another card works', async (number, words) => {
    const { someone } = await open(basicPage)
    const ann = person({ coupon: 'WELCOME20', company: 'Mill & Sons' })
    await someone.send({ action: 'update', plan: shop.plans.basic, ...ann })
    const fields = { action: 'buy', plan: shop.plans.basic, ...ann }
    const refused = await someone.send({ ...fields, ...card(number) })
    expect(refused.status).toBe(422)
    expect(refused.text).toContain(words)
    expect(refused.text).toContain('id="f-card_number-error"')
    expect(refused.text).toContain('value="Mill &amp; Sons"')
    expect(refused.text).toContain(`value="${ann.email}"`)
    expect(refused.text).not.toContain(number)
    expect((await someone.send({ ...fields, ...card() })).status).toBe(303)
    const made = await subscriptionsOf(ann.email!)
    expect(made.map((one: { status: string }) => one.status).sort()).toEqual(['canceled', 'live'])
    expect(await chargesOf(ann.email!)).toEqual([{ amount_minor: 760n }])
  })

  test('the last redemption of a coupon survives a declined card', async () => {
    await business.billing.post(`/coupon/${shop.productId}`, {
      coupon_name: 'Only one',
      coupon_code: 'ONLYONE',
      discount: 50,
      discount_type: 'percent',
      redemption_type: 'onetime',
      apply_to: 'total_amount',
      associate_plans: 'all_plans',
      maximum_redemption: 1,
    })
    const { someone } = await open(basicPage)
    const fields = { plan: shop.plans.basic, coupon: 'ONLYONE', ...person() }
    await someone.send({ action: 'update', ...fields })
    await someone.send({ action: 'buy', ...fields, ...card('4000000000000002') })
    expect((await someone.send({ action: 'buy', ...fields, ...card() })).status).toBe(303)
    const { someone: late } = await open(basicPage)
    const page = await late.send({ action: 'update', ...fields, ...person() })
    expect(page.text).toContain('This coupon has been used up.')
  })

  test('a stranger with a refused card leaves a known customer’s address as it was', async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, ...card() })
    const { someone: stranger } = await open(basicPage)
    const other = { ...ann, street: '9 Elsewhere', country: 'CA' }
    await stranger.send({ action: 'buy', plan: shop.plans.basic, ...other, ...card('4000000000000002') })
    const { body } = await business.billing.get(`/customer?email=${ann.email}`)
    expect(body.data.billing_address).toMatchObject({ street1: '1 Mill Lane', country: 'US' })
  })

  test('card numbers are found nowhere in the database', async () => {
    const tables = await w.db<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`
    for (const { name } of tables)
      expect(
        await w.db`select 1 from ${w.db(name)} as row where row::text ~ '4242 ?4242|4000 ?0000 ?0000 ?0002|4000 ?0000 ?0000 ?9995' limit 1`,
        name,
      ).toHaveLength(0)
  })

  test('only so many cards may be tried', async () => {
    const { someone } = await open(basicPage, { 'x-forwarded-for': '203.0.113.9' })
    const fields = { action: 'buy', plan: shop.plans.basic, ...person() }
    for (let i = 0; i < 6; i++)
      expect((await someone.send({ ...fields, ...card('4000000000000002') })).text).toContain('Your card was declined.')
    const page = await someone.send({ ...fields, ...card() })
    expect(page.status).toBe(422)
    expect(page.text).toContain('Too many cards were tried.')
  })
})

describe('authentication', () => {
  const start = async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    const sent = await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, ...card('4000002500003155') })
    expect(sent.status).toBe(303)
    const path = new URL(sent.location).pathname
    expect(path).toMatch(/^\/checkout\/confirm\//)
    return { someone, ann, path, asked: await someone.get(path) }
  }

  test('the bank asks, the customer confirms, the order goes on to its receipt', async () => {
    const { someone, ann, asked } = await start()
    expect(asked.text).toContain('$9.50')
    expect(await subscriptionsOf(ann.email!)).toMatchObject([{ status: 'pending' }])
    expect(await mailsTo(ann.email!)).toHaveLength(0)
    const returned = await someone.send({ answer: 'yes' })
    const receipt = await someone.get(returned.location)
    expect((await someone.get(receipt.location)).text).toContain('Thank you for your order')
    expect(await subscriptionsOf(ann.email!)).toMatchObject([{ status: 'live' }])
    expect(await mailsTo(ann.email!)).toHaveLength(1)
  })

  test('refused at the bank: back to the form as it was filled, and another card works', async () => {
    const { someone, ann } = await start()
    const returned = await someone.send({ answer: 'no' })
    const back = await someone.get(returned.location)
    const page = await someone.get(back.location)
    expect(page.text).toContain('Your bank did not confirm the payment.')
    expect(page.text).toContain(`value="${ann.email}"`)
    expect((await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, ...card() })).status).toBe(303)
    expect(await chargesOf(ann.email!)).toHaveLength(1)
  })

  test('sending the form again while the bank asks leads back to the bank', async () => {
    const { someone, ann, path } = await start()
    await someone.get(`/checkout/${basicPage}`).then(answer => expect(new URL(answer.location).pathname).toBe(path))
    expect(await subscriptionsOf(ann.email!)).toHaveLength(1)
  })

  test('who never comes back from the bank gets the receipt all the same', async () => {
    const { someone, ann } = await start()
    await someone.send({ answer: 'yes' })
    await w.platform.jobs.enqueue(
      w.db,
      { ...w.work.find(one => one.queue.name === 'checkout_sweep_orders')!.queue },
      {},
    )
    await w.drain()
    expect(await mailsTo(ann.email!)).toHaveLength(1)
  })

  test('a confirmation sent from elsewhere is not taken', async () => {
    const { path } = await start()
    const stranger = visitor(w.app)
    const answer = await stranger.post(path, { answer: 'yes', token: 'x' })
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('Confirm your payment')
  })
})

test('a gateway that keeps silent: the customer is asked to wait, and nothing is charged again', async () => {
  const { someone } = await open(basicPage)
  const ann = person()
  const fields = { action: 'buy', plan: shop.plans.basic, ...ann, ...card('4000000000000119') }
  const sent = await someone.send(fields)
  const page = await someone.get(sent.location)
  expect(page.text).toContain('Your payment is being checked')
  expect(page.headers.refresh).toBe('10')
  expect((await someone.send({ ...fields, ...card() })).location).toBe(sent.location)
  expect(await subscriptionsOf(ann.email!)).toHaveLength(1)
})

describe('the form', () => {
  test('every fault is told beside its field, and nothing typed is lost', async () => {
    const { someone } = await open(basicPage)
    const page = await someone.send({
      action: 'buy',
      plan: shop.plans.team,
      quantity: '0',
      email: 'nobody',
      first_name: '',
      last_name: 'x'.repeat(256),
      country: 'XX',
      street: '',
      city: 'Portland',
      tax_id: '!',
      method: 'card',
      card_number: '4242 4242 4242 4241',
      card_expiry: '13/35',
      card_cvc: '1',
    })
    expect(page.status).toBe(422)
    for (const name of [
      'quantity',
      'email',
      'first_name',
      'last_name',
      'country',
      'street',
      'tax_id',
      'card_number',
      'card_expiry',
      'card_cvc',
    ])
      expect(page.text).toContain(`id="f-${name}-error"`)
    expect(page.text).toContain('value="Portland"')
    expect(page.text).not.toContain('4242 4242 4242 4241')
  })

  test('nobody is charged a total they did not see', async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    const page = await someone.send({ action: 'buy', plan: shop.plans.team, quantity: '2', ...ann, ...card() })
    expect(page.status).toBe(200)
    expect(page.text).toContain('The total is now $49.00.')
    expect(await subscriptionsOf(ann.email!)).toHaveLength(0)
  })

  test('a form from elsewhere, without our cookie or token, is not taken', async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    const fields = { action: 'buy', plan: shop.plans.basic, ...ann, ...card() }
    expect((await someone.send({ ...fields, token: 'a.b' })).status).toBe(403)
    const stranger = visitor(w.app)
    const answer = await stranger.post(`/checkout/${basicPage}`, { ...someone.hidden, ...fields })
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('must be sent from our own page')
    expect(await subscriptionsOf(ann.email!)).toHaveLength(0)
  })

  test('a page that was open for more than a day asks to look again', async () => {
    const { someone } = await open(basicPage)
    const ann = person()
    const { formToken } = await import('../platform/site/visit.ts')
    const visitorId = Buffer.from((someone.cookies.get('checkout') ?? '').split('.')[0] ?? '', 'base64url')
      .toString()
      .split(' ')[0]!
    const token = formToken(w.platform.secrets, {
      visitor: visitorId,
      purpose: `checkout ${basicPage} ${someone.hidden.order}`,
      madeAt: new Date(Date.now() - 86_401_000),
    })
    const page = await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, ...card(), token })
    expect(page.text).toContain('This page was open for a long time')
    expect(page.text).toContain(`value="${ann.email}"`)
    expect(await subscriptionsOf(ann.email!)).toHaveLength(0)
    expect((await someone.send({ action: 'buy', plan: shop.plans.basic, ...ann, ...card() })).status).toBe(303)
  })

  test('markup in what merchants and customers write is only text', async () => {
    const { body } = await business.billing.post('/plan/create', {
      product_id: shop.productId,
      plan_name: '<img src=x onerror=alert(1)>',
      plan_code: 'evil',
      price: 1,
      plan_description: '<script>alert(1)</script>Hello',
    })
    const { page, someone } = await open(await shop.page([body.data.id], { page_title: '"><script>alert(2)</script>' }))
    expect(page.text).not.toMatch(/<script(?! src=")|<img/)
    const again = await someone.send({ action: 'update', city: '"><script>', coupon: '<b>' })
    expect(again.text).not.toMatch(/<script(?! src=")|<b>/)
  })

  test('only so many coupon codes may be guessed; looking again at the same one is free', async () => {
    const { someone } = await open(basicPage, { 'x-forwarded-for': '203.0.113.7' })
    for (let i = 0; i < 12; i++) await someone.send({ action: 'update', plan: shop.plans.basic, coupon: 'SAME' })
    for (let i = 0; i < 9; i++)
      expect((await someone.send({ action: 'update', plan: shop.plans.basic, coupon: `GUESS${i}` })).text).toContain(
        'We don’t know this code.',
      )
    const page = await someone.send({ action: 'update', plan: shop.plans.basic, coupon: 'WELCOME20' })
    expect(page.text).toContain('Too many codes were tried.')
  })

  test('headers and cookies are strict', async () => {
    const { page } = await open(basicPage)
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(page.headers['content-security-policy']).not.toContain('unsafe')
    expect(page.headers['set-cookie']).toMatch(new RegExp(`Path=/checkout/${basicPage}; .*HttpOnly; SameSite=Lax`))
    expect(page.headers['cache-control']).toBe('no-store')
  })

  test('speaks the customer’s language', async () => {
    const { page } = await open(basicPage, { 'accept-language': 'de-AT,en;q=0.5' })
    expect(page.text).toContain('<html lang="de">')
    expect(page.text).toContain('Tarif wählen')
    const someone = visitor(w.app)
    expect((await someone.get(`/checkout/${basicPage}?lang=de`)).text).toContain('Gutscheincode')
  })
})

describe('nothing to sell', () => {
  test('a deleted multiplan is gone, kindly', async () => {
    const id = await shop.page([shop.plans.basic])
    await business.billing.delete(`/multiplans/${id}`)
    const { page } = await open(id)
    expect(page.status).toBe(410)
    expect(page.text).toContain('This offer has ended')
  })

  test.each(['0'.repeat(24), 'nonsense', '%F0%9F%8D%9E'])('%s was never a page', async id => {
    const { page } = await open(id)
    expect(page.status).toBe(404)
    expect(page.text).toContain('We can’t find this page')
  })

  test('a plan that was switched off meanwhile: said beside the plans, nothing charged', async () => {
    const { body } = await business.billing.post('/plan/create', {
      product_id: shop.productId,
      plan_name: 'Short',
      plan_code: 'short',
      price: 9.5,
    })
    const id = await shop.page([shop.plans.basic, body.data.id])
    const { someone } = await open(id)
    await business.billing.put(`/plan/update/${body.data.id}`, { plan_active: 'false' })
    const ann = person()
    const page = await someone.send({ action: 'buy', plan: body.data.id, ...ann, ...card() })
    expect(page.status).toBe(422)
    expect(page.text).toContain('This plan is no longer sold.')
    expect(await subscriptionsOf(ann.email!)).toHaveLength(0)
    await business.billing.put(`/plan/update/${body.data.id}`, { plan_active: 'true' })
  })

  test('a page whose plans are all switched off says so', async () => {
    const { body } = await business.billing.post('/plan/create', {
      product_id: shop.productId,
      plan_name: 'Off',
      plan_code: 'off',
      price: 1,
      plan_active: 'false',
    })
    const { page } = await open(await shop.page([body.data.id]))
    expect(page.text).toContain('Nothing is on sale here right now')
  })

  test('a receipt opens only with its own link', async () => {
    const someone = visitor(w.app)
    expect((await someone.get('/checkout/receipt/abc.def')).status).toBe(404)
    expect((await someone.get('/checkout/returned/abc.def')).status).toBe(404)
  })
})
