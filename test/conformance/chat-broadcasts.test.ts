import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stepBroadcasts } from '../../src/chat/broadcasts/loops.ts'
import { claimQueued } from '../../src/chat/broadcasts/store.ts'
import { processAllNews } from '../../src/chat/channel/loops.ts'
import { type FakePlatform, fakeAccountId, fakeNumberId, incomingChange, startFakePlatform } from '../fake-platform.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import { approvedTemplate, expectRefused, settle } from './chat-shop.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1/32'] })
})
afterAll(() => w.close())

const template = {
  name: 'ad',
  category: 'MARKETING',
  components: [{ type: 'BODY', text: 'Hi {{1}}, greetings to {{2}} from us.' }],
}
const people = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, i) => ({ mobile: 14150000000 + i, name: `P${i}`, list: ['All'], ...more }))
const bodyParams = ['{{name|friend}}', '{{attributes.city|your town}}']
const create = (more: object = {}) =>
  shop.chat.post('/broadcasts', { name: 'Spring', templateName: 'ad', lists: ['All'], bodyParams, ...more })
const read = async (id: string) => (await shop.chat.get(`/broadcasts/${id}`)).body.data
const run = async () => {
  while ((await stepBroadcasts(w.platform)) > 0);
}

beforeEach(async () => {
  shop = await w.business()
  await approvedTemplate(w, shop, template)
  await shop.chat.post('/settings/attributes', { name: 'city' })
  await shop.chat.post('/settings/tags', { name: 'vip' })
})

describe('broadcasts through the sandbox', () => {
  test('everyone once, with their own values, and an exact report', async () => {
    await shop.chat.post('/contacts', [
      ...people(999),
      { mobile: 14160000001, name: 'Ann', tags: ['vip'], attributes: [{ name: 'city', value: 'Pune' }] },
    ])
    await shop.chat.post('/contacts', [
      { mobile: 14160000002, list: ['All'], tags: ['vip'] },
      { mobile: 14160000003, list: ['All'], optin: false },
      { mobile: '1416131026', list: ['All'] },
      { mobile: 14160000005, name: 'Nobody', list: ['Other'] },
    ])
    const created = await create({ tags: ['vip'] })
    expect(created.status, created.text).toBe(200)
    const { _id } = created.body.data
    expect(created.body.data).toMatchObject({
      status: 'preparing',
      lists: ['All'],
      tags: ['vip'],
      templateName: 'ad',
      languageCode: 'en_US',
    })
    await run()
    expect((await read(_id)).report).toEqual({
      audience: 1002,
      skipped: 1,
      queued: 0,
      accepted: 1002,
      sent: 0,
      delivered: 0,
      read: 0,
      failed: 0,
      unknown: 0,
      cancelled: 0,
    })
    await settle(w, shop)
    expect(await read(_id)).toMatchObject({
      status: 'finished',
      report: { audience: 1002, read: 1001, failed: 1, accepted: 0 },
    })
    const payloads = await w.db<{ recipient: string; values: string[] }[]>`
      select recipient, array(select value ->> 'text' from jsonb_array_elements(payload #> '{template,components,0,parameters}')) as values
      from chat_message where business_id = ${shop.id} and recipient like '1416000%' order by recipient`
    expect(payloads).toMatchObject([
      { recipient: '14160000001', values: ['Ann', 'Pune'] },
      { recipient: '14160000002', values: ['friend', 'your town'] },
    ])
    const [ann] = (await shop.chat.get('/contacts?name=Ann')).body.data.contacts
    expect(ann.broadcastIds).toEqual([_id])
    const events = await w.db`select data from event where business_id = ${shop.id} and type = 'broadcast_finished'`
    expect(events).toHaveLength(1)
    expect((await shop.chat.get('/broadcasts?status=finished')).body.data).toMatchObject({
      total: 1,
      broadcasts: [{ _id }],
    })
    const chat = w.services.find(service => service.name === 'chat')!
    expect(await chat.audit(w.platform, shop.id)).toEqual([])
  })

  test('paused, it sends nothing; resumed, it goes on with the same people', async () => {
    await shop.chat.post('/contacts', people(500))
    const { _id } = (await create()).body.data
    await stepBroadcasts(w.platform)
    expect((await read(_id)).report.accepted).toBe(200)
    expect((await shop.chat.post(`/broadcasts/${_id}/pause`)).body.data.status).toBe('paused')
    await run()
    expect((await read(_id)).report).toMatchObject({ accepted: 200, queued: 300 })
    await shop.chat.post('/contacts', { mobile: 14170000000, list: ['All'] })
    const [someone] = await w.db<{ recipient: string }[]>`
      select recipient from chat_message where business_id = ${shop.id} and status = 'queued' order by id limit 1`
    const contact = (await shop.chat.get(`/contacts?mobile=${someone!.recipient}`)).body.data.contacts[0]
    await shop.chat.put(`/contacts/${contact._id}`, { optin: false, name: 'Changed' })
    expect((await shop.chat.post(`/broadcasts/${_id}/resume`)).status).toBe(200)
    await run()
    expect(await read(_id)).toMatchObject({ status: 'finished', report: { audience: 500, accepted: 499, failed: 1 } })
    const twice = await w.db`
      select recipient from chat_message where business_id = ${shop.id} group by recipient having count(*) > 1`
    expect(twice).toHaveLength(0)
  })

  test('a claim takes no more than it asks for, whatever the database believes of the size', async () => {
    await shop.chat.post('/contacts', people(300))
    await create()
    await run()
    // All that is known of the table is the first shop, so nobody expects the second one to have any messages.
    await w.db`analyze chat_message`
    shop = await w.business()
    await approvedTemplate(w, shop, template)
    await shop.chat.post('/contacts', people(300))
    const { _id } = (await create()).body.data
    await stepBroadcasts(w.platform)
    expect((await read(_id)).report).toMatchObject({ accepted: 200, queued: 100 })
    expect(await w.db.begin(tx => claimQueued(tx, shop.id, _id, { limit: 3, leaseSeconds: 60 }))).toHaveLength(3)
  })

  test('scheduled, it waits for its moment, and reaches who is a contact then', async () => {
    const mine = await w.business({ testMode: true })
    await approvedTemplate(w, mine, template)
    shop = mine
    await mine.account.put('/clock', { now: '2030-01-01T10:00:00Z' })
    await shop.chat.post('/contacts', people(2))
    const scheduledAt = '2030-01-02T09:00:00.000Z'
    const { _id, ...made } = (await create({ scheduledAt })).body.data
    expect(made).toMatchObject({ status: 'scheduled', scheduledAt, startedAt: null, report: { audience: 0 } })
    await run()
    expect((await read(_id)).status).toBe('scheduled')
    await mine.account.post('/clock/advance', { hours: 12 })
    await shop.chat.post('/contacts', { mobile: 14160000009, list: ['All'] })
    expect((await shop.chat.post(`/broadcasts/${_id}/pause`)).body.data.status).toBe('paused')
    expect((await shop.chat.post(`/broadcasts/${_id}/resume`)).body.data.status).toBe('scheduled')
    await mine.account.post('/clock/advance', { hours: 11 })
    await run()
    expect(await read(_id)).toMatchObject({
      status: 'finished',
      startedAt: scheduledAt,
      report: { audience: 3, accepted: 3 },
    })
    const later = (await create({ scheduledAt: '2030-01-03T09:00:00Z' })).body.data
    expect((await shop.chat.post(`/broadcasts/${later._id}/cancel`)).body.data.status).toBe('cancelled')
    await mine.account.post('/clock/advance', { days: 3 })
    await run()
    expect((await read(later._id)).report.audience).toBe(0)
    const late = await create({ scheduledAt: '2030-01-03T09:00:00Z' })
    expectRefused(late, 422)
    expect(late.body.code).toBe('scheduled_in_the_past')
    expectRefused(await create({ scheduledAt: 'tomorrow' }), 400, 'scheduledAt')
    expectRefused(await create({ scheduledAt: '2031-12-31T23:59:60Z' }), 400, 'scheduledAt')
  })

  test('cancelled, what waits is not sent', async () => {
    expect((await shop.chat.post('/contacts', people(300))).status).toBe(200)
    const { _id } = (await create()).body.data
    await stepBroadcasts(w.platform)
    expect(await read(_id)).toMatchObject({ status: 'sending', report: { audience: 300 } })
    await shop.chat.post(`/broadcasts/${_id}/cancel`)
    await run()
    expect(await read(_id)).toMatchObject({ status: 'cancelled', report: { accepted: 200, cancelled: 100, queued: 0 } })
    expect((await shop.chat.post(`/broadcasts/${_id}/resume`)).status).toBe(422)
    expect((await shop.chat.post(`/broadcasts/${_id}/cancel`)).status).toBe(422)
  })

  test('refusals: nobody named, parameters that do not fit, a template that is not approved, ids of others', async () => {
    expectRefused(await create({ lists: [] }), 400, 'lists')
    expectRefused(await create({ bodyParams: ['x'] }), 422, 'bodyParams[1]')
    expectRefused(await create({ bodyParams: 'x' }), 400, 'bodyParams')
    expect((await create({ templateName: 'nothing' })).status).toBe(404)
    await shop.chat.post('/templates', { ...template, name: 'new', language: 'en_US' })
    expect((await create({ templateName: 'new' })).body.code).toBe('template_not_approved')
    await shop.chat.post('/contacts', people(1))
    const unknownList = await create({ lists: ['All', 'Nobody', 'None'] })
    expectRefused(unknownList, 422, undefined, '"Nobody", "None"')
    expectRefused(await create({ tags: ['vip', 'nope'] }), 422, undefined, '"nope"')
    expect((await create({ lists: ['aLL'] })).body.data.lists).toEqual(['All'])
    const { _id } = (await create()).body.data
    const other = await w.business()
    for (const path of ['', '/pause', '/resume', '/cancel']) {
      const answer = path
        ? await other.chat.post(`/broadcasts/${_id}${path}`)
        : await other.chat.get(`/broadcasts/${_id}`)
      expect(answer.status).toBe(404)
    }
  })

  test('a value that no contact has is refused, instead of going out in its braces', async () => {
    await shop.chat.post('/contacts', people(1))
    for (const slip of ['{{nmae}}', 'Dear {{ attribute.city }}', '{{name', '{{}}'])
      expect(await create({ bodyParams: ['x', slip] })).toMatchObject({ status: 422, body: { code: 'field_unknown' } })
    expectRefused(await create({ bodyParams: ['x', '{{attributes.town}}'] }), 422, undefined, '"town"')
    for (const good of ['{{attributes.city}}', '{{attributes.town|here}}', '{{ mobile }} and {{name|you}}'])
      expect((await create({ bodyParams: ['x', good] })).status).toBe(200)
  })

  test('somebody whose values do not fit fails alone', async () => {
    await shop.chat.post('/contacts', [...people(2), { mobile: 14160000009, name: 'tab\there', list: ['All'] }])
    const { _id } = (await create()).body.data
    await run()
    expect((await read(_id)).report).toMatchObject({ audience: 3, accepted: 2, failed: 1 })
  })
})

describe('broadcasts through the platform', () => {
  let fake: FakePlatform
  let webhook: string
  beforeEach(async () => {
    fake = await startFakePlatform({ seed: 5 })
    const answer = await shop.chat.put('/settings/channel', {
      type: 'cloud',
      baseUrl: fake.baseUrl,
      phoneNumberId: fakeNumberId,
      businessAccountId: fakeAccountId,
      accessToken: 'good-token',
      appSecret: 'app-secret',
      messagesPerSecond: 5000,
    })
    webhook = new URL(answer.body.data.webhookUrl).pathname
    fake.templates.set('ad:en_US', {
      id: '1',
      language: 'en_US',
      status: 'APPROVED',
      parameterFormat: 'POSITIONAL',
      ...template,
    })
    return () => fake.close()
  })
  const deliver = async (options = {}) => {
    await fake.deliver(async (body, headers) => {
      const answer = await w.app.inject({ method: 'POST', url: webhook, payload: body, headers })
      return { status: answer.statusCode }
    }, options)
    await processAllNews(w.platform)
  }

  test('lost answers are unknown and settled by webhook; nobody gets it twice', async () => {
    await shop.chat.post('/contacts', people(400))
    fake.every(7, { do: 'drop' })
    const { _id } = (await create()).body.data
    await run()
    const lost = Math.floor(400 / 7)
    expect((await read(_id)).report).toMatchObject({ accepted: 400 - lost, unknown: lost })
    await deliver({ shuffle: true, copies: 2, batch: 200 })
    expect((await read(_id)).report).toMatchObject({ read: 400, unknown: 0 })
    expect(new Set(fake.accepted.map(one => one.payload.to)).size).toBe(400)
    expect(fake.accepted).toHaveLength(400)
  })

  test('what passes is tried again, what stops pauses the broadcast and keeps the queue', async () => {
    await shop.chat.post('/contacts', people(20))
    fake.script({ do: 'code', code: 131016 }, { times: 5 })
    fake.script({ do: 'code', code: 131042 }, { after: 12 })
    const { _id } = (await create()).body.data
    await run()
    expect(await read(_id)).toMatchObject({
      status: 'paused',
      pauseReason: expect.stringContaining('131042'),
      report: { failed: 0 },
    })
    await shop.chat.put('/settings/channel', {})
    await shop.chat.post(`/broadcasts/${_id}/resume`)
    await expect
      .poll(
        async () => {
          await run()
          return (await read(_id)).status
        },
        { timeout: 10_000 },
      )
      .toBe('finished')
    expect((await read(_id)).report).toMatchObject({ audience: 20, accepted: 20 })
    expect(fake.accepted).toHaveLength(20)
  })

  test('what waits for its turn stays when the broadcast is paused, and is cancelled with it', async () => {
    await shop.chat.post('/contacts', people(30))
    await shop.chat.put('/settings/channel', { messagesPerSecond: 10 })
    const { _id } = (await create()).body.data
    const running = run()
    await expect.poll(() => fake.accepted.length, { interval: 10 }).toBeGreaterThan(1)
    await shop.chat.post(`/broadcasts/${_id}/pause`)
    await running
    const out = fake.accepted.length
    expect(out).toBeLessThan(15)
    expect((await read(_id)).report).toMatchObject({ audience: 30, accepted: out, queued: 30 - out })
    const attempts = await w.db`
      select distinct attempt from chat_message where business_id = ${shop.id} and status = 'queued'`
    expect(attempts).toEqual([{ attempt: 0 }])
    await shop.chat.post(`/broadcasts/${_id}/resume`)
    const again = run()
    await expect.poll(() => fake.accepted.length, { interval: 10 }).toBeGreaterThan(out)
    await shop.chat.post(`/broadcasts/${_id}/cancel`)
    await again
    expect((await read(_id)).report).toMatchObject({
      queued: 0,
      accepted: fake.accepted.length,
      cancelled: 30 - fake.accepted.length,
    })
    expect(fake.accepted.length).toBeLessThan(30)
  })

  test('a STOP that comes while it is under way counts', async () => {
    expect((await shop.chat.post('/contacts', people(300))).status).toBe(200)
    const { _id } = (await create()).body.data
    await stepBroadcasts(w.platform)
    expect(await read(_id)).toMatchObject({ status: 'sending', report: { audience: 300 } })
    const [waiting] = await w.db<{ recipient: string }[]>`
      select recipient from chat_message where business_id = ${shop.id} and status = 'queued' limit 1`
    fake.news.length = 0
    const message = {
      from: waiting!.recipient,
      id: 'wamid.stop',
      timestamp: '1790000000',
      type: 'text',
      text: { body: 'STOP' },
    }
    fake.news.push({ afterMs: 0, change: incomingChange(message) })
    await deliver()
    await run()
    expect((await read(_id)).report).toMatchObject({ accepted: 299, failed: 1 })
    expect(fake.accepted.some(one => one.payload.to === `+${waiting!.recipient}`)).toBe(false)
  })
})
