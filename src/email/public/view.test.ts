import PostalMime from 'postal-mime'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { createEngine } from '../delivery/engine.ts'

let w: World
let shop: TestBusiness
let viewUrl: string
beforeAll(async () => {
  w = await world()
  shop = await w.business()
  await shop.email.post('/lists', { name: 'News' })
  await shop.email.post('/subscribers', { email: 'ann@example.com', firstName: 'Ann <3', lists: ['News'] })
  const made = await shop.email.post('/campaigns', {
    campaignDetails: { campaignName: 'Spring', subject: 'Hi' },
    content:
      '<p>Hi {{ firstName }}</p><p><a href="{{ viewUrl }}">View in browser</a> <a href="https://a.example/">A</a></p><script>alert(1)</script>',
  })
  const campaignId = made.body.data._id ?? made.body.data.campaign?._id
  await shop.email.post('/campaigns/send-to-list', { campaignId, includedList: ['News'] })
  await createEngine(w.platform).drain(shop.id)
  const [row] = await w.db<{ message: Buffer }[]>`select message from email_outbox where business_id = ${shop.id}`
  const mail = await PostalMime.parse(row!.message)
  viewUrl = /href="([^"]*\/e\/v\/[^"]+)"/.exec(mail.html ?? '')?.[1] ?? ''
})
afterAll(() => w.close())

const visit = (url: string) => w.app.inject({ url: new URL(url).pathname })

test('the link of a message shows it as it was sent to this person', async () => {
  const page = await visit(viewUrl)
  expect(page.statusCode).toBe(200)
  expect(page.body).toContain('Hi Ann &lt;3')
  expect(page.body).toContain('/e/c/')
  expect(page.body).toContain('/e/u/')
})

test('it is shut in: no script of a sender runs, and it has no origin', async () => {
  const policy = String((await visit(viewUrl)).headers['content-security-policy'])
  expect(policy).toMatch(/^sandbox (?!.*allow-scripts)(?!.*allow-same-origin).*default-src 'none'/)
  expect(policy).not.toContain('script-src')
})

test('a changed link shows nothing', async () => {
  expect((await visit(`${viewUrl.slice(0, -2)}xx`)).statusCode).toBe(404)
  expect((await visit(`${new URL(viewUrl).origin}/e/v/nonsense`)).statusCode).toBe(404)
})

test('a message goes on to be shown after its campaign was changed', async () => {
  await w.db`update email_template set content = 'Other' where business_id = ${shop.id}`
  expect((await visit(viewUrl)).body).toContain('Hi Ann')
})
