import { afterEach, describe, expect, test } from 'vitest'
import { testCertificate } from '../../../test/certificate.ts'
import { type Sink, type SinkOptions, startSink } from '../../../test/smtp-sink.ts'
import { type Feed, type Outcome, type Outgoing, sendOver } from './smtp-client.ts'
import { SmtpRefused, type SmtpServer } from './smtp-connect.ts'

const open: Sink[] = []
afterEach(async () => {
  for (const sink of open.splice(0)) await sink.close()
})
const sinkWith = async (options: SinkOptions = {}) => {
  const sink = await startSink({ keepMessages: true, ...options })
  open.push(sink)
  return sink
}
const serverOf = (sink: Sink, more: Partial<SmtpServer> = {}): SmtpServer => ({
  host: 'localhost',
  port: sink.port,
  security: 'none',
  username: '',
  password: '',
  clientName: 'test.example',
  ...more,
})

const messageTo = (to: string): Outgoing => ({
  from: 'bounce@shop.example',
  to,
  bytes: Buffer.from(`Message-ID: <${to}>\r\nSubject: x\r\n\r\nHello ${to}\r\n.\r\n`),
  eightBit: false,
})

/** Sends all of them, over as many connections as it takes; answers what became of each. */
async function send(
  server: SmtpServer,
  messages: Outgoing[],
  more: Partial<Feed<Outgoing>> & { perConnection?: number } = {},
) {
  const waiting = [...messages]
  const outcomes = new Map<string, Outcome>()
  const feed: Feed<Outgoing> = {
    next: async () => waiting.shift(),
    take: () => waiting.shift(),
    mayFinish: () => true,
    settle: async (message, outcome) => {
      if (outcome.kind === 'untried' && more.settle === undefined) waiting.unshift(message)
      else outcomes.set(message.to, outcome)
    },
    ...more,
  }
  for (let tries = 0; waiting.length > 0 && tries < 20; tries++)
    await sendOver(server, feed, { messagesPerConnection: more.perConnection ?? 100 })
  return outcomes
}

const people = (count: number) => Array.from({ length: count }, (_, i) => messageTo(`p${i}@example.com`))
const codes = (outcomes: Map<string, Outcome>) =>
  Object.fromEntries(
    [...outcomes].map(([to, outcome]) => [
      to.split('@')[0],
      outcome.kind === 'replied' ? outcome.reply.code : outcome.kind,
    ]),
  )

describe.each([
  ['with pipelining', undefined],
  ['without', ['8BITMIME']],
])('sending %s', (_, extensions) => {
  test('every message arrives once, whole, over few connections', async () => {
    const sink = await sinkWith(extensions ? { extensions } : {})
    const outcomes = await send(serverOf(sink), people(50), { perConnection: 20 })
    expect(Object.values(codes(outcomes))).toEqual(Array(50).fill(250))
    expect(sink.received.map(one => one.to).sort()).toEqual(
      people(50)
        .map(one => one.to)
        .sort(),
    )
    expect(sink.received[0]?.data).toBe('Message-ID: <p0@example.com>\r\nSubject: x\r\n\r\nHello p0@example.com\r\n')
    expect(sink.connections).toBe(3)
  })

  test('a refused recipient is told by the reply to RCPT, and the next goes out', async () => {
    const sink = await sinkWith({
      ...(extensions && { extensions }),
      at: (stage, { to }) =>
        stage === 'rcpt' && to.startsWith('p1@') ? { reply: '550 5.1.1 no such user' } : undefined,
    })
    const outcomes = await send(serverOf(sink), people(3))
    expect(codes(outcomes)).toEqual({ p0: 250, p1: 550, p2: 250 })
    expect(outcomes.get('p1@example.com')).toMatchObject({ stage: 'RCPT', reply: { text: '5.1.1 no such user' } })
    expect(sink.connections).toBe(1)
  })

  test('a refused sender is told by the reply to MAIL', async () => {
    const sink = await sinkWith({
      ...(extensions && { extensions }),
      at: stage => (stage === 'mail' ? { reply: '452 4.3.1 later' } : undefined),
    })
    const outcomes = await send(serverOf(sink), people(2))
    expect(outcomes.get('p0@example.com')).toMatchObject({ kind: 'replied', reply: { code: 452 } })
  })

  test('a connection that dies after the end dot leaves an unknown outcome, not a second try', async () => {
    const sink = await sinkWith({
      ...(extensions && { extensions }),
      at: (stage, { to }) => (stage === 'end' && to.startsWith('p1@') ? { drop: true, accept: true } : undefined),
    })
    const outcomes = await send(serverOf(sink), people(4))
    expect(codes(outcomes)).toEqual({ p0: 250, p1: 'unknown', p2: 250, p3: 250 })
    expect(sink.count).toBe(4)
  })

  test('421 ends the connection; who was not tried goes over the next one', async () => {
    const sink = await sinkWith({
      ...(extensions && { extensions }),
      at: (stage, { messages }) =>
        stage === 'mail' && messages === 2 ? { reply: '421 4.7.0 too much', drop: true } : undefined,
    })
    const outcomes = await send(serverOf(sink), people(5))
    expect(codes(outcomes)).toEqual({ p0: 250, p1: 250, p2: 421, p3: 250, p4: 250 })
  })
})

test('an end dot waits until the outcome before it is durable', async () => {
  const sink = await sinkWith()
  let release = () => {}
  const first = new Promise<void>(resolve => {
    release = resolve
  })
  const settled: string[] = []
  const sending = send(serverOf(sink), people(3), {
    settle: async message => {
      settled.push(message.to)
      if (settled.length === 1) await first
    },
  })
  await expect.poll(() => settled.length).toBe(1)
  await new Promise(resolve => setTimeout(resolve, 50))
  expect(sink.count).toBe(1)
  release()
  await sending
  expect(sink.count).toBe(3)
})

test('a message that may not be finished is taken back by closing', async () => {
  const sink = await sinkWith()
  const outcomes = await send(serverOf(sink), people(1), {
    mayFinish: () => false,
    settle: async () => {},
  })
  expect(outcomes.size).toBe(0)
  expect(sink.count).toBe(0)
})

describe('the session', () => {
  test('STARTTLS, then AUTH PLAIN', async () => {
    const sink = await sinkWith({ tls: testCertificate, login: { username: 'u', password: 'p' } })
    const secure = { security: 'starttls' as const, username: 'u', password: 'p', ca: testCertificate.cert }
    expect(codes(await send(serverOf(sink, secure), people(2)))).toEqual({ p0: 250, p1: 250 })
    await expect(send(serverOf(sink, { ...secure, password: 'x' }), people(1))).rejects.toThrow(SmtpRefused)
  })

  test('STARTTLS that is not offered, or a certificate nobody vouches for, ends it before a password is told', async () => {
    const plain = await sinkWith()
    await expect(send(serverOf(plain, { security: 'starttls' }), people(1))).rejects.toThrow(/does not offer STARTTLS/)
    const forged = await sinkWith({ tls: testCertificate })
    await expect(send(serverOf(forged, { security: 'starttls' }), people(1))).rejects.toThrow(
      /certificate|self-signed/i,
    )
  })

  test('a server that can not take an address or a size is not asked to', async () => {
    const sink = await sinkWith({ extensions: ['PIPELINING', 'SIZE 100'] })
    const outcomes = await send(serverOf(sink), [
      { ...messageTo('big@example.com'), bytes: Buffer.alloc(200, 'a') },
      messageTo('ünï@example.com'),
      messageTo('a@bücher.example'),
    ])
    expect(codes(outcomes)).toMatchObject({ big: 552, ünï: 553, a: 250 })
    expect(sink.received.map(one => one.to)).toEqual(['a@xn--bcher-kva.example'])
  })

  test('nobody listens', async () => {
    await expect(send({ ...serverOf(await sinkWith()), port: 1 }, people(1))).rejects.toThrow(/ECONNREFUSED/)
  })
})
