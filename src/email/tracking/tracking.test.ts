import PostalMime from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { createEngine } from '../delivery/engine.ts'
import { readBounceToken, readTrackToken, readUnsubscribeToken, tokensOf } from '../delivery/tokens.ts'
import { outboxLink } from '../outbox/outbox.ts'
import { eventBuffer } from './buffer.ts'
import { machineReason } from './machine.ts'

let house: World
beforeAll(async () => {
  house = await world()
})
afterAll(() => house.close())

const browser =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36'

const visit = (
  url: string,
  more: { method?: 'GET' | 'POST' | 'HEAD'; userAgent?: string; payload?: string; type?: string } = {},
) =>
  house.app.inject({
    method: more.method ?? 'GET',
    url: url.replace(house.platform.config.publicUrl, ''),
    headers: { 'user-agent': more.userAgent ?? browser, ...(more.type && { 'content-type': more.type }) },
    ...(more.payload !== undefined && { payload: more.payload }),
  })

/** A campaign that went out to some people of one list, and the addresses in the message of the first. */
async function mailed(count = 2) {
  const shop = await house.business()
  const list = (await shop.email.post('/lists', { name: 'News' })).body.data.list
  for (let i = 1; i <= count; i++)
    await shop.email.post('/subscribers', { email: `p${i}@example.com`, firstName: `Name ${i}`, lists: ['News'] })
  const content =
    '<p>Hi {{ firstName }} <a href="https://a.example/?n={{ firstName }}">A</a><a href="https://b.example/x">B</a><a href="https://c.example/">C</a><a href="https://d.example/">D</a></p>'
  const made = await shop.email.post('/campaigns', {
    campaignDetails: { campaignName: 'Spring', subject: 'For {{ firstName }}' },
    content,
  })
  expect(made.status).toBe(201)
  const campaignId = made.body.data._id ?? made.body.data.campaign?._id
  const sent = await shop.email.post('/campaigns/send-to-list', { campaignId, includedList: ['News'] })
  expect(sent.body).toMatchObject({ success: true, data: { totalEmails: count, queued: count } })
  await createEngine(house.platform).drain(shop.id)
  // As if people got it a while ago.
  await house.db`update email_delivery set at = at - interval '1 hour' where business_id = ${shop.id}`
  const [row] = await house.db`select * from email_outbox where business_id = ${shop.id} and email = 'p1@example.com'`
  const mail = await PostalMime.parse(row?.message)
  const links = [...(mail.html ?? '').matchAll(/(?:href|src)="([^"]+)"/g)].map(match => match[1] ?? '')
  const find = (part: string) => links.filter(link => link.includes(part))
  return {
    shop,
    list,
    campaignId,
    pixel: find('/e/o/')[0]!,
    clicks: find('/e/c/'),
    unsubscribe: find('/e/u/')[0]!,
    preferences: find('/e/p/')[0]!,
    mail,
  }
}

const settled = () => eventBuffer(house.platform).flush()
const subscriber = async (shop: TestBusiness, email = 'p1@example.com') =>
  (await shop.email.get(`/subscribers/${email}`)).body.data
const send = async (shop: TestBusiness) => (await house.db`select * from email_send where business_id = ${shop.id}`)[0]

describe('opens and clicks', () => {
  test('are counted for the subscriber and the campaign; unique ones once', async () => {
    const { shop, pixel, clicks } = await mailed()
    const opened = await visit(pixel)
    expect(opened.headers['content-type']).toBe('image/gif')
    await settled()
    await visit(pixel)
    const clicked = await visit(clicks[0]!)
    expect(clicked.statusCode).toBe(302)
    expect(clicked.headers.location).toBe('https://a.example/?n=Name%201')
    await settled()
    expect(await subscriber(shop)).toMatchObject({
      totalSent: 1,
      totalDelivered: 1,
      totalOpens: 2,
      totalUniqueOpens: 1,
      totalClicks: 1,
      totalUniqueClick: 1,
      leadScore: 20,
    })
    expect(await send(shop)).toMatchObject({ opens: 2, unique_opens: 1, clicks: 1, unique_clicks: 1, machine_opens: 0 })
  })

  test('by machines are kept and flagged, and change nothing that is scored', async () => {
    const { shop, pixel, clicks } = await mailed()
    await visit(pixel, { userAgent: 'Mozilla/5.0' })
    await visit(pixel, { method: 'HEAD' })
    for (const link of clicks) await visit(link)
    await settled()
    expect(await subscriber(shop)).toMatchObject({ leadScore: 0, totalUniqueOpens: 0, totalUniqueClick: 0 })
    expect(await send(shop)).toMatchObject({
      opens: 2,
      machine_opens: 2,
      clicks: 4,
      machine_clicks: 4,
      unique_clicks: 0,
    })
  })

  test('lead nowhere but where the message leads', async () => {
    const { clicks } = await mailed(1)
    const [link] = clicks as [string]
    expect((await visit(link.replace(/\/0$/, '/99'))).statusCode).toBe(404)
    expect((await visit(`${link}?url=https://evil.example`)).headers.location).toBe('https://a.example/?n=Name%201')
    const forged = link.replace(/.(?=\/0$)/, last => (last === 'A' ? 'B' : 'A'))
    expect((await visit(forged)).statusCode).toBe(404)
    expect((await visit('/e/o/nonsense')).statusCode).toBe(200)
  })
})

describe('unsubscribing', () => {
  test('GET shows, POST acts, twice is once', async () => {
    const { shop, unsubscribe } = await mailed()
    const shown = await visit(unsubscribe)
    expect(shown.statusCode).toBe(200)
    expect(shown.body).toContain('p1@example.com')
    await visit(unsubscribe, { method: 'HEAD' })
    expect((await subscriber(shop)).status).toBe('subscribed')
    for (let i = 0; i < 2; i++)
      expect(
        (await visit(unsubscribe, { method: 'POST', payload: '', type: 'application/x-www-form-urlencoded' }))
          .statusCode,
      ).toBe(200)
    expect(await subscriber(shop)).toMatchObject({ status: 'unsubscribed', isSuppressed: true, leadScore: -20 })
    expect(await send(shop)).toMatchObject({ unsubscribes: 1 })
    expect((await subscriber(shop, 'p2@example.com')).status).toBe('subscribed')
  })

  test('by one click in the mailbox, without cookies and redirect', async () => {
    const { shop, mail } = await mailed()
    const header = mail.headers.find(one => one.key === 'list-unsubscribe')?.value ?? ''
    const answer = await visit(header.slice(1, -1), {
      method: 'POST',
      payload: 'List-Unsubscribe=One-Click',
      type: 'application/x-www-form-urlencoded',
      userAgent: '',
    })
    expect(answer.statusCode).toBe(200)
    expect((await subscriber(shop)).status).toBe('unsubscribed')
  })

  test('from one list on the preference page', async () => {
    const { shop, preferences, list } = await mailed()
    expect((await visit(preferences)).body).toContain('News')
    await visit(preferences, { method: 'POST', payload: 'act=save', type: 'application/x-www-form-urlencoded' })
    expect(await subscriber(shop)).toMatchObject({ status: 'subscribed', lists: [] })
    expect((await shop.email.get(`/lists/${list.id}`)).body.data.list.count).toBe(1)
    await visit(preferences, { method: 'POST', payload: 'act=all', type: 'application/x-www-form-urlencoded' })
    expect((await subscriber(shop)).status).toBe('unsubscribed')
  })

  test('again, by the same link, after the subscription was renewed', async () => {
    const { shop, unsubscribe } = await mailed()
    const leave = () => visit(unsubscribe, { method: 'POST', payload: 'List-Unsubscribe=One-Click' })
    await leave()
    await shop.email.put('/subscribers/p1@example.com', { status: 'subscribed' })
    expect(await subscriber(shop)).toMatchObject({ status: 'subscribed', isSuppressed: false })
    await leave()
    expect(await subscriber(shop)).toMatchObject({ status: 'unsubscribed', isSuppressed: true, leadScore: -20 })
    expect(await send(shop)).toMatchObject({ unsubscribes: 1 })
    const { activity } = await subscriber(shop)
    await leave()
    expect((await subscriber(shop)).activity).toEqual(activity)
  })

  test('holds for the address when the subscriber was deleted', async () => {
    const { shop, unsubscribe, campaignId } = await mailed()
    await shop.email.delete('/subscribers', { email: 'p1@example.com' })
    await visit(unsubscribe, { method: 'POST', payload: 'List-Unsubscribe=One-Click' })
    const sent = await shop.email.post('/campaigns/send-to-individual', { campaignId, emails: ['p1@example.com'] })
    expect(sent.body.data).toMatchObject({ totalEmails: 1, queued: 0 })
    await shop.email.post('/subscribers', { email: 'p1@example.com' })
    expect(await subscriber(shop)).toMatchObject({ status: 'unsubscribed', isSuppressed: true })
  })

  test('reaches who has the address now', async () => {
    const { shop, unsubscribe } = await mailed()
    await shop.email.delete('/subscribers', { email: 'p1@example.com' })
    await shop.email.post('/subscribers', { email: 'P1@example.com' })
    await visit(unsubscribe, { method: 'POST', payload: 'List-Unsubscribe=One-Click' })
    expect(await subscriber(shop)).toMatchObject({ status: 'unsubscribed', isSuppressed: true, leadScore: -20 })
    expect((await shop.email.get('/subscribers/stats')).body.data.statusAnalytics).toMatchObject({ unsubscribed: 1 })
  })

  test('a token of one purpose does not serve another', () => {
    const { secrets } = house.platform
    const name = { businessId: '0123456789abcdef01234567', deliveryId: '89abcdef0123456700000001' }
    const tokens = tokensOf(secrets, name)
    expect(readTrackToken(secrets, tokens.track)).toEqual(name)
    expect(readUnsubscribeToken(secrets, tokens.unsubscribe)).toEqual(name)
    expect(readBounceToken(secrets, tokens.bounce.toUpperCase())).toEqual(name)
    expect(readUnsubscribeToken(secrets, tokens.track)).toBeUndefined()
    expect(readTrackToken(secrets, tokens.unsubscribe)).toBeUndefined()
    expect(
      readBounceToken(
        secrets,
        tokens.bounce.replace(/.$/, last => (last === 'a' ? 'b' : 'a')),
      ),
    ).toBeUndefined()
  })
})

test('the outbox opens by its link only, and shows messages in a cage', async () => {
  const { shop } = await mailed()
  const link = outboxLink(house.platform, shop.id)
  const shown = await visit(link)
  expect(shown.statusCode).toBe(200)
  const message = /href="(\/outbox\/[^"]+\/[0-9a-f]{24})"/.exec(shown.body)?.[1] ?? ''
  expect((await visit(message)).body).toContain('List-Unsubscribe-Post')
  const html = await visit(`${message}/html`)
  expect(html.body).toContain('Hi Name')
  expect(html.headers['content-security-policy']).toMatch(/^sandbox allow-popups/)
  expect(html.headers['content-security-policy']).not.toContain('script')
  expect((await visit(`${link}x`)).statusCode).toBe(404)
  expect((await visit(message.replace(/[^/]+(?=\/[0-9a-f]{24}$)/, 'x.y'))).statusCode).toBe(404)
})

test.each([
  ['a person', browser, 'GET', 60_000, 1, false],
  [
    'Gmail’s picture proxy',
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    'GET',
    10,
    1,
    false,
  ],
  ['Apple’s privacy proxy', 'Mozilla/5.0', 'GET', 60_000, 1, true],
  ['a bot', 'Googlebot/2.1', 'GET', 60_000, 1, true],
  ['curl', 'curl/8.0', 'GET', 60_000, 1, true],
  ['nobody', '', 'GET', 60_000, 1, true],
  ['a head request', browser, 'HEAD', 60_000, 1, true],
  ['a gateway at delivery', browser, 'GET', 300, 1, true],
  ['all links at once', browser, 'GET', 60_000, 4, true],
])('%s', (_, userAgent, method, sinceDeliveryMs, linksAtOnce, isMachine) => {
  expect(machineReason({ kind: 'click', userAgent, method, sinceDeliveryMs, linksAtOnce }) !== undefined).toBe(
    isMachine,
  )
})
