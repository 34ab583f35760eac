import { createHash, createHmac, generateKeyPairSync, sign, verify } from 'node:crypto'
import { createConnection } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Sink, startSink } from '../../../test/smtp-sink.ts'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { createSigner, makeDkimKey } from '../delivery/dkim.ts'
import { createEngine } from '../delivery/engine.ts'
import { tokensOf } from '../delivery/tokens.ts'
import { createInbound } from './inbound.ts'
import { readReport } from './report.ts'
import { isAmazonAddress, sesEvents } from './ses.ts'

let house: World
let sink: Sink
let inbound: ReturnType<typeof createInbound>
let inboundPort = 0
beforeAll(async () => {
  house = await world({ mailDomain: 'bounce.example', inboundSmtpPort: 2525 })
  sink = await startSink({ keepMessages: true })
  inbound = createInbound(house.platform)
  await new Promise<void>(resolve => inbound.listen(0, '127.0.0.1', () => resolve()))
  inboundPort = (inbound.server.address() as { port: number }).port
})
afterAll(async () => {
  await new Promise<void>(resolve => inbound.close(() => resolve()))
  await sink.close()
  await house.close()
})

async function mailed(provider?: { provider: string; secret: string }) {
  const shop = await house.business()
  await shop.email.post('/lists', { name: 'News' })
  for (const name of ['ada', 'bob'])
    await shop.email.post('/subscribers', { email: `${name}@example.com`, lists: ['News'] })
  const server = {
    name: 'sink',
    host: '127.0.0.1',
    port: sink.port,
    security: 'none',
    senderEmail: 'news@shop.example',
  }
  const made = (await shop.email.post('/delivery-servers', server)).body.data
  const serverId = made.id ?? made.deliveryServer?.id
  let url = ''
  if (provider) {
    const set = await shop.email.put(`/delivery-servers/${serverId}/webhook`, provider)
    expect(set.status).toBe(200)
    url = new URL(set.body.data.webhookUrl).pathname
  }
  const campaign = await shop.email.post('/campaigns', {
    campaignDetails: { campaignName: 'Spring', subject: 'Hi' },
    content: '<p>x</p>',
  })
  sink.received.length = 0
  await shop.email.post('/campaigns/send-to-list', { campaignId: campaign.body.data._id, includedList: ['News'] })
  await createEngine(house.platform).drain(shop.id)
  const received = sink.received.find(one => one.to === 'ada@example.com')!
  return { shop, serverId, url, received, deliveryId: received.messageId.slice(1, 25) }
}
const statusOf = async (shop: TestBusiness, email = 'ada@example.com') =>
  (await shop.email.get(`/subscribers/${email}`)).body.data.status

const dsn = (diagnostic: string, status: string, action = 'failed') =>
  [
    'From: MAILER-DAEMON@mx.example',
    'Subject: Undelivered Mail',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'It did not work.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example',
    '',
    'Final-Recipient: rfc822; ada@example.com',
    `Action: ${action}`,
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${diagnostic}`,
    '--b--',
    '',
  ].join('\r\n')

/** Speaks to the listener as another mail server would; answers its last reply. */
function deliver(to: string, message: string): Promise<string> {
  const lines = ['EHLO mx.example', 'MAIL FROM:<>', `RCPT TO:<${to}>`, 'DATA', `${message}\r\n.`]
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port: inboundPort, host: '127.0.0.1' })
    let last = ''
    socket.on('error', reject)
    socket.on('data', chunk => {
      for (const line of chunk
        .toString()
        .split('\r\n')
        .filter(one => /^\d{3} /.test(one))) {
        last = line
        const next = Number(line.slice(0, 3)) < 400 ? lines.shift() : undefined
        if (next === undefined) {
          socket.end('QUIT\r\n')
          return resolve(last)
        }
        socket.write(`${next}\r\n`)
      }
    })
  })
}

describe('bounces by mail', () => {
  test('are matched by the envelope sender, counted once, and suppress only for the recipient’s fault', async () => {
    const { shop, received } = await mailed()
    expect(received.from).toMatch(/^b\+[a-z2-7]{52}@bounce\.example$/)
    const bounce = dsn('550 5.1.1 <ada@example.com>: user unknown', '5.1.1')
    expect(await deliver(received.from, bounce)).toMatch(/^250/)
    expect(await deliver(received.from.toUpperCase(), bounce)).toMatch(/^250/)
    expect(await statusOf(shop)).toBe('bounced')
    expect(await statusOf(shop, 'bob@example.com')).toBe('subscribed')
    const [send] = await house.db`select hard_bounces from email_send where business_id = ${shop.id}`
    expect(send?.hard_bounces).toBe(1)
    const other = sink.received.find(one => one.to === 'bob@example.com')!
    await deliver(other.from, dsn('554 5.7.1 Service unavailable; client host blocked using Spamhaus', '5.7.1'))
    expect(await statusOf(shop, 'bob@example.com')).toBe('subscribed')
  })

  test('that blame the sender or the content leave the subscriber as it was', async () => {
    for (const [diagnostic, status, leadScore] of [
      ['550 5.7.1 Service unavailable; client host blocked using Spamhaus', '5.7.1', 0],
      ['550 5.7.26 unauthenticated mail is prohibited', '5.7.26', 0],
      ['554 5.7.1 message refused as spam', '5.7.1', 0],
      ['552 5.2.2 mailbox full', '5.2.2', -10],
    ] as const) {
      const { shop, received } = await mailed()
      expect(await deliver(received.from, dsn(diagnostic, status))).toMatch(/^250/)
      const { body } = await shop.email.get('/subscribers/ada@example.com')
      expect([diagnostic, body.data.leadScore]).toEqual([diagnostic, leadScore])
      expect(body.data).toMatchObject({ status: 'subscribed', isSuppressed: false })
      expect(body.data.activity.some((one: { type: string }) => one.type === 'bounce')).toBe(leadScore !== 0)
    }
  })

  test('to addresses that we did not make are refused', async () => {
    expect(await deliver(`b+${'a'.repeat(52)}@bounce.example`, dsn('550 5.1.1 x', '5.1.1'))).toMatch(/^550/)
    expect(await deliver('someone@bounce.example', 'x')).toMatch(/^550/)
  })

  test('a complaint is matched by the message it quotes', async () => {
    const { shop, received } = await mailed()
    const arf = [
      'From: fbl@provider.example',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'A complaint.',
      '--b',
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: abuse',
      'User-Agent: x/1',
      'Version: 1',
      '--b',
      'Content-Type: message/rfc822',
      '',
      received.data,
      '--b--',
      '',
    ].join('\r\n')
    expect(await deliver('fbl@bounce.example', arf)).toMatch(/^250/)
    expect(await statusOf(shop)).toBe('complaint')
  })
})

test.each([
  ['a delay is no bounce', dsn('451 4.4.1 later', '4.4.1', 'delayed'), { kind: 'none' }],
  ['full', dsn('552 5.2.2 mailbox full', '5.2.2'), { kind: 'bounce', class: 'soft' }],
  ['without a diagnostic', dsn('', '5.1.1'), { kind: 'bounce', class: 'hard' }],
  [
    'an out-of-office answer',
    'From: a@b.example\r\nAuto-Submitted: auto-replied\r\n\r\nI am away until 550.',
    { kind: 'none' },
  ],
  [
    'a bounce of the old kind',
    'From: MAILER-DAEMON\r\n\r\nSorry:\r\n550 5.1.1 no such user here\r\n',
    { kind: 'bounce', class: 'hard' },
  ],
  ['nonsense', 'From: x\r\n\r\nhello', { kind: 'none' }],
])('%s', async (_, raw, expected) => {
  expect(await readReport(Buffer.from(raw), { emptySender: true })).toMatchObject(expected)
})

describe('webhooks', () => {
  const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
    house.app.inject({
      method: 'POST',
      url,
      payload: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })

  test('SendGrid: signed with its key, told twice, counted once', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const secret = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
    const { shop, url, received, deliveryId } = await mailed({ provider: 'sendgrid', secret })
    expect(received.data).toContain(`X-SMTPAPI: {"unique_args":{"pennypost":"${deliveryId}"}}`)
    const [before] = await house.db`select sent, delivered from email_send where business_id = ${shop.id}`
    expect(before).toEqual({ sent: 2, delivered: 0 })
    const timestamp = String(Math.floor(Date.now() / 1000))
    const events = [
      { event: 'delivered', sg_event_id: '1', pennypost: deliveryId, timestamp: Number(timestamp) },
      {
        event: 'bounce',
        type: 'bounce',
        reason: '550 5.1.1 user unknown',
        sg_event_id: '2',
        pennypost: deliveryId,
        timestamp: Number(timestamp),
      },
    ]
    const signature = sign('sha256', Buffer.from(timestamp + JSON.stringify(events)), privateKey).toString('base64')
    const headers = {
      'x-twilio-email-event-webhook-signature': signature,
      'x-twilio-email-event-webhook-timestamp': timestamp,
    }
    for (let i = 0; i < 2; i++) expect((await post(url, events, headers)).statusCode).toBe(200)
    expect(await statusOf(shop)).toBe('bounced')
    const [after] = await house.db`select delivered, hard_bounces from email_send where business_id = ${shop.id}`
    expect(after).toEqual({ delivered: 1, hard_bounces: 1 })
    expect((await post(url, [...events, events[0]], headers)).statusCode).toBe(401)
  })

  test('Mailgun and Postmark', async () => {
    const mailgun = await mailed({ provider: 'mailgun', secret: 'key' })
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = {
      timestamp,
      token: 't',
      signature: createHmac('sha256', 'key').update(`${timestamp}t`).digest('hex'),
    }
    const data = {
      id: 'x',
      event: 'complained',
      timestamp: Number(timestamp),
      'user-variables': { pennypost: mailgun.deliveryId },
    }
    expect((await post(mailgun.url, { signature, 'event-data': data })).statusCode).toBe(200)
    expect(await statusOf(mailgun.shop)).toBe('complaint')
    expect((await post(mailgun.url, { signature: { ...signature, token: 'u' }, 'event-data': data })).statusCode).toBe(
      401,
    )
    expect((await post(mailgun.url, 'nonsense')).statusCode).toBe(401)

    const postmark = await mailed({ provider: 'postmark', secret: 'user:pass' })
    const told = {
      RecordType: 'SubscriptionChange',
      SuppressSending: true,
      ChangedAt: new Date().toISOString(),
      Metadata: { pennypost: postmark.deliveryId },
    }
    const authorization = `Basic ${Buffer.from('user:pass').toString('base64')}`
    expect((await post(postmark.url, told)).statusCode).toBe(401)
    expect((await post(postmark.url, told, { authorization })).statusCode).toBe(200)
    expect(await statusOf(postmark.shop)).toBe('unsubscribed')
    // A mark of another business means nothing here.
    expect((await post(mailgun.url.replace(mailgun.shop.id, postmark.shop.id), {})).statusCode).toBe(404)
  })

  test('Amazon: certificates from Amazon only', () => {
    expect(isAmazonAddress('https://sns.eu-west-1.amazonaws.com/x.pem')).toBe(true)
    for (const address of [
      'http://sns.eu-west-1.amazonaws.com/x.pem',
      'https://sns.eu-west-1.amazonaws.com.evil.example/x.pem',
      'https://evil.example/sns.eu-west-1.amazonaws.com',
      'https://a@sns.eu-west-1.amazonaws.com/',
      'nonsense',
      7,
    ])
      expect(isAmazonAddress(address)).toBe(false)
    const mail = { tags: { pennypost: ['0123456789abcdef01234567'] } }
    const bounce = {
      bounceType: 'Permanent',
      bounceSubType: 'General',
      bouncedRecipients: [{ diagnosticCode: 'smtp; 550 5.1.1 user unknown' }],
    }
    expect(sesEvents({ eventType: 'Bounce', mail, bounce }, 'k')).toMatchObject([{ kind: 'bounce', hard: true }])
    expect(sesEvents({ eventType: 'Bounce', mail, bounce: { ...bounce, bounceType: 'Transient' } }, 'k')).toEqual([])
    expect(sesEvents({ eventType: 'Bounce', mail: {}, bounce }, 'k')).toEqual([])
  })
})

test('DKIM: what is signed verifies with the key that DNS would tell', async () => {
  const { privateKey, publicKey } = await makeDkimKey()
  const message = Buffer.from(
    'From: A  <a@x.example>\r\nSubject: Hello\r\n  world\r\nTo: b@y.example\r\n\r\nHi  there \r\n\r\n\r\n',
  )
  const header = await createSigner({ domain: 'x.example', selector: 's', privateKey })(message)
  expect(header).toMatch(/^DKIM-Signature: v=1; a=rsa-sha256; c=relaxed\/simple; d=x\.example; s=s;/)
  const bodyHash = createHash('sha256').update('Hi  there \r\n').digest('base64')
  expect(header).toContain(` bh=${bodyHash};`)
  const unfolded = header
    .replaceAll(/\r\n/g, '')
    .replaceAll(/[ \t]+/g, ' ')
    .trim()
  const signature = Buffer.from(/ b=(.*)$/.exec(unfolded)?.[1]?.replaceAll(' ', '') ?? '', 'base64')
  const own = unfolded.replace(/ b=.*$/, ' b=').replace('DKIM-Signature: ', 'dkim-signature:')
  const canonical = `from:A <a@x.example>\r\nto:b@y.example\r\nsubject:Hello world\r\n${own}`
  const key = { key: Buffer.from(publicKey, 'base64'), format: 'der' as const, type: 'spki' as const }
  expect(verify('sha256', Buffer.from(canonical), key, signature)).toBe(true)
  expect(
    tokensOf(house.platform.secrets, { businessId: 'a'.repeat(24), deliveryId: 'b'.repeat(24) }).bounce,
  ).toHaveLength(52)
})
