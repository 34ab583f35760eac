import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createEngine } from '../../src/email/delivery/engine.ts'
import { type Sink, startSink } from '../smtp-sink.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import { expectOk, expectRefused, expectSameAsMissing, hexId, timestamp } from './email-shapes.ts'

let w: World
let shop: TestBusiness
let sink: Sink
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1'] })
  sink = await startSink({
    login: { username: 'me', password: 'right' },
    at: (stage, { to }) => {
      if (stage === 'rcpt' && to.startsWith('gone')) return { reply: '550 5.1.1 no such user' }
      if (stage === 'rcpt' && to.startsWith('later')) return { reply: '451 4.7.1 greylisted' }
      if (stage === 'end' && to.startsWith('spam')) return { reply: '554 5.7.1 message looks like spam' }
      return undefined
    },
  })
})
afterAll(async () => {
  await sink.close()
  await w.close()
})
beforeEach(async () => {
  shop = await w.business()
})

const noId = '000000000000000000000000'
const toSink = (more: object = {}) => ({
  name: 'Relay',
  host: '127.0.0.1',
  port: sink.port,
  security: 'none',
  username: 'me',
  password: 'right',
  senderEmail: 'news@shop.example',
  ...more,
})
const addServer = async (more: object = {}, by = shop) =>
  expectOk(await by.email.post('/delivery-servers', toSink(more)), 201).deliveryServer

/** A campaign to these people, queued through the API; `drain` sends it. */
async function launch(emails: string[], by = shop) {
  await by.email.post('/lists', { name: 'News' })
  for (const email of emails) await by.email.post('/subscribers', { email, lists: ['News'] })
  const made = await by.email.post('/campaigns', {
    campaignDetails: { campaignName: 'Spring', subject: 'Hi' },
    content: '<p>x <a href="https://shop.example/">y</a></p>',
  })
  const campaignId: string = expectOk(made, 201)._id
  expectOk(await by.email.post('/campaigns/send-to-list', { campaignId, includedList: ['News'] }))
  return campaignId
}
const drain = (by = shop) => createEngine(w.platform).drain(by.id)

const serverShape = {
  id: hexId,
  name: 'Relay',
  host: '127.0.0.1',
  port: expect.any(Number),
  security: 'none',
  username: 'me',
  hasPassword: true,
  senderEmail: 'news@shop.example',
  senderName: expect.any(String),
  isDefault: true,
  maxConnections: expect.any(Number),
  maxPerSecond: 0,
  createdAt: timestamp,
  updatedAt: timestamp,
}

describe('/delivery-servers', () => {
  test('POST, GET, PUT and DELETE show every field and never the password', async () => {
    const server = await addServer()
    expect(server).toEqual(serverShape)
    expect(expectOk(await shop.email.get(`/delivery-servers/${server.id}`)).deliveryServer).toEqual(server)
    expect(expectOk(await shop.email.get('/delivery-servers'))).toEqual({ deliveryServers: [server] })
    const changed = expectOk(await shop.email.put(`/delivery-servers/${server.id}`, { name: 'Other', password: '' }))
    expect(changed.deliveryServer).toEqual({ ...server, name: 'Other', hasPassword: false, updatedAt: timestamp })
    expect(expectOk(await shop.email.delete(`/delivery-servers/${server.id}`)).deliveryServer.id).toBe(server.id)
    expectRefused(await shop.email.get(`/delivery-servers/${server.id}`), 404, 'delivery_server_not_found')
  })

  test('DELETE is refused while a scheduled campaign needs it; a send through one that is gone too', async () => {
    const server = await addServer({ name: 'Needed' })
    await shop.email.post('/lists', { name: 'Needy' })
    const through = (campaignName: string, more: object) =>
      shop.email.post('/campaigns', {
        campaignDetails: { campaignName, subject: 'Hi', ...more },
        content: '<p>x</p>',
        deliveryServerId: server.id,
        ...(more && 'campaignType' in more && { scheduledAt: '2127-01-01T00:00:00Z', lists: ['Needy'] }),
      })
    const later = expectOk(await through('Later', { campaignType: 'Regular' }), 201)
    const live = expectOk(await through('Live', {}), 201)
    expectRefused(await shop.email.delete(`/delivery-servers/${server.id}`), 422, 'delivery_server_in_use')
    expectOk(await shop.email.put(`/campaigns/${later._id}`, { status: 'draft' }))
    expectOk(await shop.email.delete(`/delivery-servers/${server.id}`))
    for (const [path, to] of [
      ['individual', { emails: ['a@b.example'] }],
      ['list', { includedList: ['Needy'] }],
    ] as const)
      expectRefused(
        await shop.email.post(`/campaigns/send-to-${path}`, { campaignId: live._id, ...to }),
        422,
        'delivery_server_not_found',
        'deliveryServerId',
      )
  })

  test('the first is the default; a later one only when it says so, and then it alone', async () => {
    const [first, second, third] = [
      await addServer(),
      await addServer({ name: 'Second' }),
      await addServer({ name: 'Third', isDefault: true }),
    ]
    expect([first, second, third].map(one => one.isDefault)).toEqual([true, false, true])
    const { deliveryServers } = expectOk(await shop.email.get('/delivery-servers'))
    expect(deliveryServers.filter((one: typeof first) => one.isDefault)).toEqual([third])
  })

  test.each([
    ['name', 'x'.repeat(200), 'x'.repeat(201)],
    ['host', 'h'.repeat(253), 'h'.repeat(254)],
    ['host', 'mail.example', 'mail example'],
    ['port', 65_535, 65_536],
    ['port', 1, 0],
    ['security', 'tls', 'ssl'],
    ['username', 'x'.repeat(200), 'x'.repeat(201)],
    ['username', 'me', 'me\r\nRSET'],
    ['password', 'x'.repeat(1_000), 'x'.repeat(1_001)],
    ['senderEmail', 'a@b.example', 'nobody'],
    ['senderName', 'Shop', 'Shop\nBcc: x'],
    ['maxConnections', 1_000, 1_001],
    ['maxConnections', 1, 0],
    ['maxPerSecond', 1_000_000, 1_000_001],
    ['maxPerSecond', 0, -1],
  ])('%s has its bounds', async (field, good, bad) => {
    expectOk(await shop.email.post('/delivery-servers', toSink({ [field]: good })), 201)
    expectRefused(await shop.email.post('/delivery-servers', toSink({ [field]: bad })), 400, 'validation_failed', field)
  })

  test('name and host are needed', async () => {
    for (const field of ['name', 'host'])
      expectRefused(
        await shop.email.post('/delivery-servers', toSink({ [field]: undefined })),
        400,
        'validation_failed',
        field,
      )
  })

  test('the test call connects and logs in, and says what the server said', async () => {
    const { id } = await addServer()
    const works = expectOk(await shop.email.post(`/delivery-servers/${id}/test`))
    expect(works).toEqual({ works: true, reply: expect.any(String) })
    await shop.email.put(`/delivery-servers/${id}`, { password: 'wrong' })
    const wrong = expectOk(await shop.email.post(`/delivery-servers/${id}/test`))
    expect(wrong).toEqual({ works: false, reply: expect.stringContaining('535') })
    await shop.email.put(`/delivery-servers/${id}`, { port: 1 })
    expect(expectOk(await shop.email.post(`/delivery-servers/${id}/test`)).works).toBe(false)
  })

  test('another business sees nothing of them', async () => {
    const { id } = await addServer()
    const other = await w.business()
    expect(expectOk(await other.email.get('/delivery-servers'))).toEqual({ deliveryServers: [] })
    for (const call of [
      (one: string) => other.email.get(`/delivery-servers/${one}`),
      (one: string) => other.email.put(`/delivery-servers/${one}`, { name: 'Mine' }),
      (one: string) => other.email.delete(`/delivery-servers/${one}`),
      (one: string) => other.email.post(`/delivery-servers/${one}/test`),
      (one: string) => other.email.put(`/delivery-servers/${one}/dkim`, { domain: 'shop.example' }),
      (one: string) => other.email.put(`/delivery-servers/${one}/webhook`, { provider: 'mailgun', secret: 'x' }),
    ])
      expectSameAsMissing(await call(id), await call(noId))
    expect(expectOk(await shop.email.get(`/delivery-servers/${id}`)).deliveryServer.name).toBe('Relay')
  })
})

describe('/campaigns/{id}/report and /deliveries', () => {
  const counts = (more: object) => ({
    total: 0,
    queued: 0,
    sent: 0,
    delivered: 0,
    bounced: 0,
    suppressed: 0,
    failed: 0,
    unknown: 0,
    cancelled: 0,
    hardBounces: 0,
    complaints: 0,
    unsubscribes: 0,
    opens: 0,
    uniqueOpens: 0,
    machineOpens: 0,
    clicks: 0,
    uniqueClicks: 0,
    machineClicks: 0,
    ...more,
  })
  const deliveryShape = {
    _id: hexId,
    sendId: hexId,
    campaignId: hexId,
    email: expect.any(String),
    subscriberId: hexId,
    status: expect.any(String),
    class: expect.any(String),
    code: expect.any(Number),
    reply: expect.any(String),
    deliveryServerId: hexId,
    at: timestamp,
    nextTryAt: null,
    openedAt: null,
    clickedAt: null,
  }

  test('tell what became of everybody, in all and one by one', async () => {
    await addServer()
    const campaignId = await launch(['ok@x.example', 'gone@x.example', 'later@x.example', 'spam@x.example'])
    await drain()
    const report = expectOk(await shop.email.get(`/campaigns/${campaignId}/report`))
    const totals = counts({ total: 4, queued: 4, sent: 1, delivered: 1, bounced: 1, failed: 1, hardBounces: 1 })
    expect(report).toEqual({
      campaignId,
      campaignName: 'Spring',
      totals,
      sends: [
        {
          sendId: hexId,
          state: 'sending',
          pauseReason: '',
          subject: 'Hi',
          ...totals,
          createdAt: timestamp,
          completedAt: null,
        },
      ],
      links: expect.any(Array),
    })
    const all = expectOk(await shop.email.get(`/deliveries?campaignId=${campaignId}`))
    expect(all.pagination).toMatchObject({ currentPage: 1, totalItems: 4 })
    const byEmail = Object.fromEntries(all.deliveries.map((one: { email: string }) => [one.email, one]))
    expect(byEmail['ok@x.example']).toEqual({ ...deliveryShape, status: 'sent', class: '', code: 250 })
    expect(byEmail['gone@x.example']).toEqual({ ...deliveryShape, status: 'bounced', class: 'hard', code: 550 })
    expect(byEmail['spam@x.example']).toMatchObject({ status: 'failed', code: 554 })
    expect(byEmail['later@x.example']).toMatchObject({ status: 'deferred', code: 451, nextTryAt: timestamp })

    const one = expectOk(await shop.email.get(`/deliveries/${byEmail['later@x.example']._id}`))
    expect(one).toMatchObject({ status: 'deferred', events: [] })
    expect(one.attempts).toEqual([{ attempt: 1, at: timestamp, class: one.class, code: 451, reply: one.reply }])
    const { sendId } = byEmail['ok@x.example']
    for (const [query, found] of [
      [`sendId=${sendId}`, 4],
      [`sendId=${sendId}&status=bounced`, 1],
      [`campaignId=${campaignId}&status=queued`, 0],
      [`campaignId=${campaignId}&email=OK@x.example`, 1],
      [`campaignId=${noId}`, 0],
    ] as const)
      expect([query, expectOk(await shop.email.get(`/deliveries?${query}`)).pagination.totalItems]).toEqual([
        query,
        found,
      ])
  })

  test('wait to be asked for one campaign or send, with known words', async () => {
    expectRefused(await shop.email.get('/deliveries'), 400, 'validation_failed', 'campaignId')
    for (const query of ['status=lost', 'page=0', 'page=abc', 'limit=0', `email=${'x'.repeat(255)}`])
      expectRefused(await shop.email.get(`/deliveries?campaignId=${noId}&${query}`), 400, 'validation_failed')
  })

  test('show at most a hundred at a time', async () => {
    const answer = expectOk(await shop.email.get(`/deliveries?campaignId=${noId}&limit=101`))
    expect(answer.pagination.itemsPerPage).toBe(100)
  })

  test('another business sees neither', async () => {
    await addServer()
    const campaignId = await launch(['ok@x.example'])
    await drain()
    const [one] = expectOk(await shop.email.get(`/deliveries?campaignId=${campaignId}`)).deliveries
    const other = await w.business()
    expectSameAsMissing(
      await other.email.get(`/campaigns/${campaignId}/report`),
      await other.email.get(`/campaigns/${noId}/report`),
    )
    expectSameAsMissing(await other.email.get(`/deliveries/${one._id}`), await other.email.get(`/deliveries/${noId}`))
    const listed = expectOk(await other.email.get(`/deliveries?campaignId=${campaignId}`))
    expect(listed.deliveries).toEqual([])
  })
})

describe('pause, resume, cancel and resend', () => {
  const act = (campaignId: string, what: string, by = shop) => by.email.post(`/campaigns/${campaignId}/${what}`)

  test('each answers how many sends it changed, and refuses where there is none to change', async () => {
    await addServer()
    const campaignId = await launch(['ok@x.example', 'spam@x.example'])
    expectRefused(await act(campaignId, 'resume'), 422, 'campaign_resume_impossible')
    expect(expectOk(await act(campaignId, 'pause'))).toEqual({ campaignId, sends: 1 })
    expectRefused(await act(campaignId, 'pause'), 422, 'campaign_pause_impossible')
    expect(expectOk(await act(campaignId, 'resume'))).toEqual({ campaignId, sends: 1 })
    await drain()
    for (const what of ['pause', 'resume', 'cancel'])
      expectRefused(await act(campaignId, what), 422, `campaign_${what}_impossible`)
    const again = expectOk(await act(campaignId, 'resend'))
    expect(again).toEqual({ sendId: hexId, totalEmails: 1, queued: 1 })
    expect(expectOk(await act(campaignId, 'cancel'))).toEqual({ campaignId, sends: 1 })
    await drain()
    const { totals } = expectOk(await shop.email.get(`/campaigns/${campaignId}/report`))
    expect(totals).toMatchObject({ sent: 1, failed: 1, cancelled: 1 })
  })

  test('a campaign that was not sent can’t be sent again; a send that is not its own is not found', async () => {
    const made = await shop.email.post('/campaigns', {
      campaignDetails: { campaignName: 'New', subject: 'Hi' },
      content: '<p>x</p>',
    })
    const { _id } = expectOk(made, 201)
    expectRefused(await act(_id, 'resend'), 422, 'campaign_not_sent')
    expectRefused(await shop.email.post(`/campaigns/${_id}/resend`, { sendId: noId }), 404, 'send_not_found')
  })

  test('another business can do none of it', async () => {
    await addServer()
    const campaignId = await launch(['ok@x.example'])
    const other = await w.business()
    for (const what of ['pause', 'resume', 'cancel', 'resend'])
      expectSameAsMissing(await act(campaignId, what, other), await act(noId, what, other))
    await drain()
    expect(expectOk(await shop.email.get(`/campaigns/${campaignId}/report`)).totals.sent).toBe(1)
  })
})

describe('/suppressions', () => {
  const entry = {
    email: 'a@x.example',
    type: 'manual',
    reason: 'Asked by phone',
    createdAt: timestamp,
    updatedAt: timestamp,
  }

  test('POST adds, GET lists and filters, DELETE lifts', async () => {
    const made = await shop.email.post('/suppressions', { email: 'a@x.example', reason: 'Asked by phone' })
    expect(expectOk(made, 201)).toEqual(entry)
    const listed = expectOk(await shop.email.get('/suppressions?type=manual&search=a@'))
    expect(listed).toEqual({ suppressions: [entry], pagination: expect.objectContaining({ totalItems: 1 }) })
    expect(expectOk(await shop.email.get('/suppressions?type=bounced')).suppressions).toEqual([])
    expect(expectOk(await shop.email.delete('/suppressions', { email: 'A@x.example' }))).toEqual(entry)
    expectRefused(await shop.email.delete('/suppressions', { email: 'a@x.example' }), 404, 'suppression_not_found')
  })

  test('refuses what is no address, unknown types and too long a reason', async () => {
    expectRefused(await shop.email.post('/suppressions', { email: 'nobody' }), 400, 'validation_failed', 'email')
    expectRefused(await shop.email.delete('/suppressions', { email: 'nobody' }), 400, 'validation_failed', 'email')
    expectRefused(await shop.email.post('/suppressions', {}), 400, 'validation_failed', 'email')
    expectRefused(await shop.email.get('/suppressions?type=spam'), 400, 'validation_failed', 'type')
    const reason = 'x'.repeat(501)
    expectRefused(
      await shop.email.post('/suppressions', { email: 'a@x.example', reason }),
      400,
      'validation_failed',
      'reason',
    )
  })

  test('who is suppressed is not mailed; and belongs to one business alone', async () => {
    await addServer()
    await shop.email.post('/suppressions', { email: 'A@x.example' })
    const campaignId = await launch(['a@x.example', 'b@x.example'])
    await drain()
    expect(expectOk(await shop.email.get(`/campaigns/${campaignId}/report`)).totals.sent).toBe(1)
    const other = await w.business()
    expect(expectOk(await other.email.get('/suppressions')).suppressions).toEqual([])
    expectRefused(await other.email.delete('/suppressions', { email: 'a@x.example' }), 404, 'suppression_not_found')
  })
})
