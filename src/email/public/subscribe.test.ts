import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'

let w: World
let shop: TestBusiness
let listId: string
let url: string
beforeAll(async () => {
  w = await world()
  shop = await w.business()
  listId = (await shop.email.post('/lists', { name: 'Weekly <news>' })).body.data.list.id
  url = `/subscribe/${shop.id}/${listId}`
})
afterAll(() => w.close())

const get = (path: string, headers = {}) => w.app.inject({ method: 'GET', url: path, headers })
const post = (path: string, fields: Record<string, string> = {}) =>
  w.app.inject({
    method: 'POST',
    url: path,
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
const mails = (email: string) => w.db<{ source: string }[]>`
  select c.source from email_block b
  join email_send s on s.business_id = b.business_id and s.id = b.send_id
  join email_content c on c.business_id = s.business_id and c.id = s.content_id
  where b.business_id = ${shop.id} and ${email} = any(b.emails)`
const linkIn = (source: string) => /\/subscribe\/confirm\/[\w.-]+/.exec(source)?.[0] ?? ''

describe('the form', () => {
  test('shows the list, escaped, in the visitor’s language', async () => {
    const page = await get(url)
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain('Subscribe to Weekly &lt;news&gt;')
    expect(page.headers['content-security-policy']).toContain("default-src 'none'")
    expect((await get(url, { 'accept-language': 'de' })).body).toContain('abonnieren')
  })

  test.each([['nobody@'], [''], ['a b@example.com'], ['x'.repeat(300) + '@example.com']])(
    'the address %s is refused beside its field, and what was typed stays',
    async email => {
      const page = await post(url, { email, firstName: 'Ann' })
      expect(page.statusCode).toBe(422)
      expect(page.body).toContain('id="f-email-error"')
      expect(page.body).toContain('value="Ann"')
    },
  )

  test('unknown lists and lists of others are not found', async () => {
    const other = await w.business()
    for (const path of [
      `/subscribe/${shop.id}/${'0'.repeat(24)}`,
      `/subscribe/${other.id}/${listId}`,
      '/subscribe/x/y',
    ])
      expect((await get(path)).statusCode).toBe(404)
  })

  test('a machine that fills the hidden field is told the same, and nothing is sent', async () => {
    const page = await post(url, { email: 'bot@example.com', website: 'http://spam.example' })
    expect(page.body).toContain('Check your mail')
    expect(await mails('bot@example.com')).toHaveLength(0)
  })
})

describe('double opt-in', () => {
  test('nobody is on the list before the button behind the mailed link is pressed', async () => {
    await post(url, { email: 'ann@example.com', firstName: 'Ann', lastName: 'Lee' })
    const [mail] = await mails('ann@example.com')
    const link = linkIn(mail?.source ?? '')
    expect((await shop.email.get('/subscribers/ann@example.com')).status).toBe(404)

    const opened = await get(link)
    expect(opened.body).toContain('ann@example.com')
    expect((await shop.email.get('/subscribers/ann@example.com')).status).toBe(404)

    expect((await post(link)).body).toContain('You are subscribed')
    const { body } = await shop.email.get('/subscribers/ann@example.com')
    expect(body.data).toMatchObject({ status: 'subscribed', firstName: 'Ann', lastName: 'Lee', source: 'form' })
    expect((await shop.email.get(`/lists/${listId}`)).body.data.list.count).toBe(1)
    expect((await post(link)).statusCode).toBe(200)
    expect((await shop.email.get(`/lists/${listId}`)).body.data.list.count).toBe(1)
  })

  test('who had unsubscribed is subscribed again by confirming, not by asking', async () => {
    await shop.email.post('/subscribers', { email: 'bob@example.com', status: 'unsubscribed' })
    await post(url, { email: 'bob@example.com' })
    expect((await shop.email.get('/subscribers/bob@example.com')).body.data.status).toBe('unsubscribed')
    await post(linkIn((await mails('bob@example.com'))[0]?.source ?? ''))
    expect((await shop.email.get('/subscribers/bob@example.com')).body.data).toMatchObject({
      status: 'subscribed',
      isSuppressed: false,
    })
  })

  test('a changed link, and one older than a week, do nothing', async () => {
    await post(url, { email: 'cat@example.com' })
    const link = linkIn((await mails('cat@example.com'))[0]?.source ?? '')
    expect((await post(link.slice(0, -1) + (link.endsWith('A') ? 'B' : 'A'))).statusCode).toBe(410)
    const old = w.platform.secrets.token(
      'email subscribe',
      JSON.stringify({
        businessId: shop.id,
        listId,
        email: 'cat@example.com',
        firstName: '',
        lastName: '',
        at: Date.now() - 7 * 86_400_000 - 1_000,
      }),
    )
    expect((await post(`/subscribe/confirm/${old}`)).statusCode).toBe(410)
    expect((await shop.email.get('/subscribers/cat@example.com')).status).toBe(404)
  })

  test('one address is not flooded with questions', async () => {
    for (let i = 0; i < 3; i++) expect((await post(url, { email: 'dan@example.com' })).statusCode).toBe(200)
    const refused = await post(url, { email: 'DAN@example.com' })
    expect(refused.statusCode).toBe(422)
    expect(refused.body).toContain('Please wait')
    expect(await mails('dan@example.com')).toHaveLength(3)
  })
})
