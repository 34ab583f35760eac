import { createHash, verify } from 'node:crypto'
import PostalMime from 'postal-mime'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Sink, type SinkOptions, startSink } from '../../../test/smtp-sink.ts'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { newId } from '../../platform/ids.ts'
import { createEngine } from './engine.ts'
import { queueIndividualSend, queueListSend, type SendRequest } from './queue-send.ts'

let house: World
beforeAll(async () => {
  house = await world()
})
afterAll(() => house.close())

const sinks: Sink[] = []
afterEach(async () => {
  for (const sink of sinks.splice(0)) await sink.close()
})
const sinkWith = async (options: SinkOptions = {}) => {
  const sink = await startSink({ keepMessages: true, ...options })
  sinks.push(sink)
  return sink
}

const now = new Date()
const html = '<p>Hi {{ firstName | default: "there" }}, <a href="https://shop.example/x">look</a></p>'

async function makeCampaign(shop: TestBusiness, name = 'Spring') {
  const { db } = house
  const [id, templateId] = [newId(), newId()]
  await db`insert into email_template (business_id, id, name, builder_type, content, html_content, created_at, updated_at)
    values (${shop.id}, ${templateId}, ${name}, 'HTML', ${html}, ${html}, ${now}, ${now})`
  await db`insert into email_campaign (business_id, id, name, campaign_type, subject, status, template_id, created_at, updated_at)
    values (${shop.id}, ${id}, ${name}, 'Regular', 'For {{ firstName | default: "you" }}', 'live', ${templateId}, ${now}, ${now})`
  return id
}

async function addSubscribers(shop: TestBusiness, count: number) {
  const { db } = house
  const listId = newId()
  await db`insert into email_list (business_id, id, name, created_at, updated_at) values (${shop.id}, ${listId}, ${listId}, ${now}, ${now})`
  await db`insert into email_subscriber (business_id, id, slot, email, first_name, list_numbers, created_at, updated_at)
    select ${shop.id}, lpad(to_hex(n), 24, '0'), n, 'p' || n || '@example.com', 'Name' || n,
      array(select number from email_list where business_id = ${shop.id} and id = ${listId}), ${now}, ${now}
    from generate_series(1, ${count}::int) n`
  return listId
}

async function addServer(shop: TestBusiness, sink: { port: number }, more: { isDefault?: boolean } = {}) {
  const id = newId()
  await house.db`insert into email_delivery_server (business_id, id, name, host, port, security, is_default, sender_email, created_at, updated_at)
    values (${shop.id}, ${id}, ${id}, '127.0.0.1', ${sink.port}, 'none', ${more.isDefault ?? false}, 'news@shop.example', ${now}, ${now})`
  return id
}

const toList = (shop: TestBusiness, campaignId: string, listId: string, more: Partial<SendRequest> = {}) =>
  house.db.begin(tx =>
    queueListSend(
      tx,
      house.platform,
      shop,
      { campaignId, now, ...more },
      {
        includedListIds: [listId],
        includedSegmentIds: [],
        excludedListIds: [],
        excludedSegmentIds: [],
      },
    ),
  )
const toPeople = (shop: TestBusiness, campaignId: string, emails: string[], more: Partial<SendRequest> = {}) =>
  house.db.begin(tx => queueIndividualSend(tx, house.platform, shop, { campaignId, now, ...more }, emails))

const drain = (shop: TestBusiness) => createEngine(house.platform).drain(shop.id)
const states = async (shop: TestBusiness) =>
  Object.fromEntries(
    (
      await house.db<{ state: string; count: number }[]>`
      select state, count(*)::int as count from email_delivery where business_id = ${shop.id} group by state`
    ).map(row => [row.state, row.count]),
  )
const sendRow = async (shop: TestBusiness, sendId: string) =>
  (await house.db`select * from email_send where business_id = ${shop.id} and id = ${sendId}`)[0]

describe('without a delivery server', () => {
  test('mail to a list is captured in the outbox, whole and personal', async () => {
    const shop = await house.business()
    const campaignId = await makeCampaign(shop)
    const queued = await toList(shop, campaignId, await addSubscribers(shop, 1_200))
    expect(queued).toMatchObject({ totalEmails: 1_200, queued: 1_200 })
    await drain(shop)
    expect(await states(shop)).toEqual({ sent: 1_200 })
    expect(await sendRow(shop, queued.sendId)).toMatchObject({ state: 'complete', sent: 1_200, delivered: 1_200 })
    const [row] = await house.db`select * from email_outbox where business_id = ${shop.id} and email = 'p7@example.com'`
    expect(row?.subject).toBe('For Name7')
    const mail = await PostalMime.parse(row?.message)
    expect(mail.html).toContain('Hi Name7')
    expect(mail.html).toContain('/e/u/')
    const [activity] =
      await house.db`select * from email_subscriber_activity where business_id = ${shop.id} and subscriber_id = ${'7'.padStart(24, '0')}`
    expect(activity).toMatchObject({ total_sent: 1, total_delivered: 1 })
    expect(await house.db`select * from email_due where business_id = ${shop.id}`).toHaveLength(1)
  })

  test('single addresses: repeated ones once, suppressed ones counted but not queued, overrides and attachments', async () => {
    const shop = await house.business()
    const campaignId = await makeCampaign(shop)
    await addSubscribers(shop, 1)
    await house.db`insert into email_suppression (business_id, address, email, type, created_at, updated_at)
      values (${shop.id}, 'no@example.com', 'No@example.com', 'bounced', ${now}, ${now})`
    const queued = await toPeople(
      shop,
      campaignId,
      ['P1@example.com', 'p1@example.com', 'new@example.com', 'no@Example.com'],
      {
        subject: 'Other',
        fromName: 'Zoë',
        senderEmail: 'zoe@shop.example',
        attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: Buffer.from('hello') }],
      },
    )
    expect(queued).toMatchObject({ totalEmails: 3, queued: 2 })
    await drain(shop)
    const rows = await house.db`select * from email_outbox where business_id = ${shop.id} order by email`
    expect(rows.map(row => row.email)).toEqual(['P1@example.com', 'new@example.com'])
    const mail = await PostalMime.parse(rows[0]?.message)
    expect(mail).toMatchObject({ subject: 'Other', from: { name: 'Zoë', address: 'zoe@shop.example' } })
    expect(mail.html).toContain('Hi Name1')
    expect(mail.attachments[0]).toMatchObject({ filename: 'a.txt' })
  })
})

describe('over SMTP', () => {
  test('everyone gets it once; who opted out or was deleted since does not', async () => {
    const shop = await house.business()
    const sink = await sinkWith()
    await addServer(shop, sink)
    const queued = await toList(shop, await makeCampaign(shop), await addSubscribers(shop, 700))
    await house.db`update email_subscriber set status = 'unsubscribed' where business_id = ${shop.id} and slot = 3`
    await house.db`update email_subscriber set delete_after = now() where business_id = ${shop.id} and slot = 4`
    await drain(shop)
    expect(await states(shop)).toEqual({ sent: 698, suppressed: 2 })
    expect(new Set(sink.received.map(one => one.to)).size).toBe(698)
    expect(sink.count).toBe(698)
    expect(await sendRow(shop, queued.sendId)).toMatchObject({ state: 'complete', sent: 698, suppressed: 2 })
    expect(sink.received[0]?.from).toBe('news@shop.example')
  })

  test('with a test clock, mail for a server that is down is tried in its time, together, and given up after a day', async () => {
    const shop = await house.business({ testMode: true })
    const serverId = await addServer(shop, { port: 1 })
    await house.db`insert into email_server_health (business_id, server_id, failures, open_until, updated_at)
      values (${shop.id}, ${serverId}, 5, now() + interval '15 minutes', now())`
    await shop.account.put('/clock', { now: '2026-05-01T00:00:00Z' })
    const campaignId = await makeCampaign(shop)
    for (const name of ['a', 'b', 'c']) await toPeople(shop, campaignId, [`${name}@example.com`])
    await drain(shop)
    const deferrals = await house.db`select next_at from email_deferral where business_id = ${shop.id}`
    expect(deferrals.map(row => row.next_at.toISOString())).toEqual(Array(3).fill('2026-05-01T00:20:00.000Z'))
    const advanced = await shop.account.post('/clock/advance', { days: 60 })
    expect(advanced).toMatchObject({ status: 200, body: { data: { now: '2026-06-30T00:00:00.000Z' } } })
    expect(await states(shop)).toEqual({ failed: 3 })
  })

  test('later is later, never is never, and only what is the recipient’s fault suppresses', async () => {
    const shop = await house.business({ testMode: true })
    let greylisting = true
    const sink = await sinkWith({
      at(stage, { to }) {
        if (stage !== 'rcpt') return undefined
        if (to === 'p1@example.com' && greylisting) return { reply: '451 4.7.1 greylisted, try again later' }
        if (to === 'p2@example.com') return { reply: '550 5.1.1 user unknown' }
        if (to === 'p3@example.com') return { reply: '550 5.7.1 your IP is listed at Spamhaus' }
        return undefined
      },
    })
    await addServer(shop, sink)
    await shop.account.put('/clock', { now: '2026-05-01T00:00:00Z' })
    const queued = await toList(shop, await makeCampaign(shop), await addSubscribers(shop, 5))
    await drain(shop)
    expect(await states(shop)).toEqual({ sent: 2, bounced: 1, failed: 1 })
    expect(await sendRow(shop, queued.sendId)).toMatchObject({ state: 'sending' })
    const suppressed = await house.db`select address from email_suppression where business_id = ${shop.id}`
    expect(suppressed.map(row => row.address)).toEqual(['p2@example.com'])
    const [deferral] = await house.db`select * from email_deferral where business_id = ${shop.id}`
    expect(deferral).toMatchObject({ email: 'p1@example.com', attempts: 1, class: 'soft', code: 451 })
    expect(deferral?.next_at.getTime()).toBeGreaterThanOrEqual(Date.parse('2026-05-01T00:05:00Z'))
    greylisting = false
    await shop.account.post('/clock/advance', { hours: 1 })
    await drain(shop)
    expect(await states(shop)).toEqual({ sent: 3, bounced: 1, failed: 1 })
    expect(await sendRow(shop, queued.sendId)).toMatchObject({
      state: 'complete',
      sent: 3,
      bounced: 1,
      failed: 1,
      hard_bounces: 1,
    })
    expect(await house.db`select 1 from email_deferral where business_id = ${shop.id}`).toHaveLength(0)
  })

  test('a broken server is left for the next one, unless it was named', async () => {
    const shop = await house.business()
    const sink = await sinkWith()
    const dead = await addServer(shop, { port: 1 }, { isDefault: true })
    await addServer(shop, sink)
    const campaignId = await makeCampaign(shop)
    await toPeople(shop, campaignId, ['a@example.com', 'b@example.com'])
    await drain(shop)
    expect(await states(shop)).toEqual({ sent: 2 })
    const [health] = await house.db`select * from email_server_health where business_id = ${shop.id}`
    expect(health).toMatchObject({ server_id: dead, failures: 1 })
    await toPeople(shop, campaignId, ['c@example.com'], { deliveryServerId: dead })
    await drain(shop)
    expect(await states(shop)).toEqual({ sent: 2 })
    const [deferral] = await house.db`select * from email_deferral where business_id = ${shop.id}`
    expect(deferral).toMatchObject({ email: 'c@example.com', class: 'network', attempts: 0 })
  })

  test('an individual send overtakes a campaign that is stuck behind a slow server', async () => {
    const shop = await house.business()
    const sink = await sinkWith({
      at: (stage, { to }) => (stage === 'end' && to.startsWith('p') ? { stallMs: 300 } : undefined),
    })
    await addServer(shop, sink)
    const campaignId = await makeCampaign(shop)
    await toList(shop, campaignId, await addSubscribers(shop, 200))
    const stop = new AbortController()
    const running = createEngine(house.platform).run(stop.signal)
    await expect.poll(() => sink.count).toBeGreaterThan(5)
    await toPeople(shop, campaignId, ['quick@example.com'])
    await expect.poll(() => sink.received.some(one => one.to === 'quick@example.com'), { timeout: 3_000 }).toBe(true)
    expect(sink.count).toBeLessThan(150)
    stop.abort()
    await running
    await drain(shop)
    expect(sink.count).toBe(201)
    expect(new Set(sink.received.map(one => one.to)).size).toBe(201)
  })
})

/** As a receiver reads RFC 6376: the body's hash, then the signature over the named fields and the signature's own. */
function dkimVerifies(message: string, dnsValue: string): boolean {
  const split = message.indexOf('\r\n\r\n')
  const fields = message
    .slice(0, split)
    .split(/\r\n(?![ \t])/)
    .map(field => {
      const colon = field.indexOf(':')
      const value = field.slice(colon + 1).replaceAll('\r\n', '')
      return { name: field.slice(0, colon).toLowerCase(), value: value.replaceAll(/[ \t]+/g, ' ').trim() }
    })
  const own = fields.find(field => field.name === 'dkim-signature')
  if (!own) return false
  const tags = Object.fromEntries(own.value.split(';').map(tag => tag.trim().split(/=(.*)/s)))
  const body = `${message.slice(split + 4).replace(/(\r\n)*$/, '')}\r\n`
  if (createHash('sha256').update(body, 'latin1').digest('base64') !== tags.bh) return false
  const signed = (tags.h as string).split(':').map(name => fields.findLast(field => field.name === name.trim()))
  const canonical = [
    ...signed.filter(field => field !== undefined),
    { ...own, value: own.value.replace(/ b=.*$/, ' b=') },
  ]
  const text = canonical.map(field => `${field.name}:${field.value}`).join('\r\n')
  const key = Buffer.from(/p=(.*)$/.exec(dnsValue)?.[1] ?? '', 'base64')
  const signature = Buffer.from((tags.b as string).replaceAll(' ', ''), 'base64')
  return verify('sha256', Buffer.from(text, 'latin1'), { key, format: 'der', type: 'spki' }, signature)
}

test('what a server signs verifies where it arrives, for everyone and for a single person', async () => {
  const shop = await house.business()
  const sink = await sinkWith()
  const serverId = await addServer(shop, sink, { isDefault: true })
  const { dnsValue } = (await shop.email.put(`/delivery-servers/${serverId}/dkim`, { domain: 'shop.example' })).body
    .data
  const campaignId = await makeCampaign(shop)
  await toList(shop, campaignId, await addSubscribers(shop, 40))
  await toPeople(shop, campaignId, ['zoë.ü@example.com', 'one@example.com'], { subject: 'Größe 🎁 für dich' })
  await drain(shop)
  expect(sink.received.length).toBeGreaterThanOrEqual(41)
  const wrong = sink.received.filter(({ data }) => !dkimVerifies(data, dnsValue))
  expect(wrong.map(({ to }) => to)).toEqual([])
  const [one] = sink.received
  expect(dkimVerifies(one!.data.replace('\r\n\r\n', '\r\n\r\nMore'), dnsValue)).toBe(false)
  expect(dkimVerifies(one!.data.replace(/^Subject: /m, 'Subject: Re: '), dnsValue)).toBe(false)
})
