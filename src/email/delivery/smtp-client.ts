import { domainToASCII } from 'node:url'
import { type OpenSession, openSession, type SmtpServer } from './smtp-connect.ts'
import { SmtpBroken, type SmtpReply } from './smtp-replies.ts'

/** One message on its way. The bytes end in CRLF . CRLF and are not touched before its outcome is known. */
export interface Outgoing {
  from: string
  to: string
  bytes: Buffer
  /** how many bytes of the memory behind them are free: the next envelope is put there, so that both are one write */
  room?: number
  /** some byte is above 127 */
  eightBit: boolean
}

/**
 * What became of a message. `replied`: the server said so, at this stage. `untried`: the connection ended before its
 * end dot was written, so it was certainly not accepted. `unknown`: the end dot was written and no reply came.
 */
export type Outcome =
  | { kind: 'replied'; stage: 'MAIL' | 'RCPT' | 'DATA' | 'end'; reply: SmtpReply }
  | { kind: 'untried'; error: string }
  | { kind: 'unknown'; error: string }

export interface Feed<T extends Outgoing> {
  /** the next message, when one comes; undefined: none will come, close */
  next(): Promise<T | undefined>
  /** the next message if one is at hand now */
  take(): T | undefined
  /** false: this message may not be finished any more (stopping, or its claim ran out) */
  mayFinish(message: T): boolean
  /** resolves when the outcome is durable; the connection writes no further end dot before that */
  settle(message: T, outcome: Outcome): Promise<void>
}

/**
 * Sends what the feed gives over one connection until the feed or the connection ends.
 *
 * With PIPELINING, MAIL, RCPT and DATA are one write, and the envelope of the next message rides with the end of the
 * body before it (RFC 2920), so a message costs one round trip. The end dot of a message waits until the outcome of
 * the one before is durable: a crash leaves at most one uncertain message per connection.
 */
export async function sendOver<T extends Outgoing>(
  server: SmtpServer,
  feed: Feed<T>,
  options: { messagesPerConnection: number; signal?: AbortSignal; onOpen?: () => void },
): Promise<void> {
  const session = await openSession(server, options.signal)
  options.onOpen?.()
  const line = new Line<T>(session, server)
  let durable: Promise<void> = Promise.resolve()
  let current: T | undefined
  let enveloped: T | undefined
  let left = options.messagesPerConnection
  const settle = (message: T, outcome: Outcome) => {
    current = undefined
    durable = feed.settle(message, outcome)
    // The next wait for it sees the failure; without this line it would count as unhandled until then.
    durable.catch(() => {})
  }
  try {
    for (;;) {
      let message: T | undefined = enveloped
      if (!message) {
        if (left <= 0) break
        message = await feed.next()
        if (!message) break
        const refusal = line.refusalBefore(message)
        if (refusal) {
          settle(message, refusal)
          await durable
          continue
        }
        line.writeEnvelope(message)
        left--
      }
      current = message
      enveloped = undefined
      const atHand = line.envelopeAtHand()
      const refused = atHand ? undefined : await line.readEnvelope(message)
      if (refused) {
        await durable
        settle(message, refused)
        if (line.over) break
        continue
      }
      // Made ready while the result before is being written, so that the end dot can follow at once.
      const following = line.offers.pipelining && left > 0 ? feed.take() : undefined
      const early = following && line.refusalBefore(following)
      if (following && !early) {
        enveloped = following
        left--
      }
      if (following && early) await feed.settle(following, early)
      await durable
      if (!feed.mayFinish(message)) {
        // After 354 only closing the connection takes a message back; a lone dot would deliver an empty one.
        settle(message, { kind: 'untried', error: 'stopped before the end of the message' })
        line.destroy()
        break
      }
      settle(message, await line.finish(message, enveloped))
      if (line.over) break
    }
    await durable
  } finally {
    // After 354 nothing but the end of the connection is safe to write.
    if (current) line.destroy()
    for (const message of [current, enveloped])
      if (message) await feed.settle(message, { kind: 'untried', error: 'the connection ended' }).catch(() => {})
    line.close()
  }
}

/** The state of one connection between two commands. */
class Line<T extends Outgoing> {
  readonly offers: OpenSession['offers']
  /** no further command makes sense */
  over = false
  private readonly session: OpenSession
  private readonly commandMs: number
  private readonly endMs: number
  private resetFirst = false

  constructor(session: OpenSession, server: SmtpServer) {
    this.session = session
    this.offers = session.offers
    this.commandMs = server.commandTimeoutMs ?? 300_000
    this.endMs = server.endTimeoutMs ?? 600_000
  }

  /** What this server can't take, known without asking it. */
  refusalBefore(message: T): Outcome | undefined {
    const { size, utf8 } = this.offers
    if (size && message.bytes.length > size)
      return replied('MAIL', 552, `5.3.4 the message has ${message.bytes.length} bytes, the server takes ${size}`)
    if (!isAscii(localPart(message.to)) && !utf8)
      return replied('RCPT', 553, '5.6.7 the server does not take addresses with characters beyond ASCII')
    return undefined
  }

  private envelope(message: T): string[] {
    const { size, eightBit, utf8 } = this.offers
    const needsUtf8 = utf8 && !isAscii(message.from + message.to)
    const mail =
      `MAIL FROM:<${wireAddress(message.from, needsUtf8)}>` +
      (size !== undefined ? ` SIZE=${message.bytes.length}` : '') +
      (eightBit && message.eightBit ? ' BODY=8BITMIME' : '') +
      (needsUtf8 ? ' SMTPUTF8' : '')
    return [mail, `RCPT TO:<${wireAddress(message.to, needsUtf8)}>`, 'DATA']
  }

  writeEnvelope(message: T): void {
    if (this.offers.pipelining) this.session.socket.write(this.envelopeText(message))
  }

  /** True when the server's answers to the envelope have come and it waits for the body: the usual case, without a wait. */
  envelopeAtHand(): boolean {
    return this.offers.pipelining && !this.resetFirst && this.session.replies.takeEnvelope()
  }

  private envelopeText(message: T): string {
    const reset = this.resetFirst ? 'RSET\r\n' : ''
    return `${reset}${this.envelope(message).join('\r\n')}\r\n`
  }

  /** Answers undefined when the server waits for the body. */
  async readEnvelope(message: T): Promise<Outcome | undefined> {
    try {
      return this.offers.pipelining ? await this.readTogether() : await this.askOneByOne(message)
    } catch (error) {
      this.over = true
      return { kind: 'untried', error: messageOf(error) }
    }
  }

  private async readTogether(): Promise<Outcome | undefined> {
    const { replies, socket } = this.session
    if (this.resetFirst) await replies.one(this.commandMs)
    this.resetFirst = false
    let refused: Outcome | undefined
    for (const stage of ['MAIL', 'RCPT', 'DATA'] as const) {
      const reply = await replies.one(this.commandMs)
      if (stage === 'DATA' && reply.code === 354) {
        if (!refused) return undefined
        // The server waits for a body for nobody; an empty one ends this, and it has no recipient to deliver it to.
        socket.write('.\r\n')
        await replies.one(this.endMs)
        return refused
      }
      if (reply.code >= 400 || stage === 'DATA') refused ??= { kind: 'replied', stage, reply }
      if (reply.code === 421) {
        this.over = true
        return refused
      }
    }
    this.resetFirst = true
    return refused
  }

  private async askOneByOne(message: T): Promise<Outcome | undefined> {
    const { replies, socket } = this.session
    for (const [i, command] of this.envelope(message).entries()) {
      socket.write(`${command}\r\n`)
      const reply = await replies.one(this.commandMs)
      if (i === 2 && reply.code === 354) return undefined
      if (reply.code < 400 && i < 2) continue
      if (reply.code === 421) this.over = true
      else {
        socket.write('RSET\r\n')
        await replies.one(this.commandMs)
      }
      return { kind: 'replied', stage: (['MAIL', 'RCPT', 'DATA'] as const)[i] ?? 'DATA', reply }
    }
    throw new SmtpBroken('the server answered the envelope in no known way')
  }

  /** Writes the body with its end dot, and the next envelope behind it. */
  async finish(message: T, following: T | undefined): Promise<Outcome> {
    const { socket, replies } = this.session
    if (following) this.writeWith(message, this.envelopeText(following))
    else socket.write(message.bytes)
    try {
      const reply = await replies.one(this.endMs)
      if (reply.code === 421) this.over = true
      return { kind: 'replied', stage: 'end', reply }
    } catch (error) {
      this.over = true
      return { kind: 'unknown', error: messageOf(error) }
    }
  }

  private writeWith({ bytes, room = 0 }: T, envelope: string): void {
    const { socket } = this.session
    const size = Buffer.byteLength(envelope)
    if (size <= room) {
      const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length + size)
      whole.write(envelope, bytes.length, 'utf8')
      socket.write(whole)
      return
    }
    socket.cork()
    socket.write(bytes)
    socket.write(envelope)
    socket.uncork()
  }

  destroy(): void {
    this.over = true
    this.session.replies.fail(new SmtpBroken('closed by us'))
  }

  close(): void {
    if (!this.over) this.session.socket.end('QUIT\r\n')
    this.over = true
    // Gives the goodbye a moment; a server that does not answer it must not keep the socket.
    const { replies } = this.session
    setTimeout(() => replies.fail(new SmtpBroken('closed')), 1_000).unref()
  }
}

const replied = (stage: 'MAIL' | 'RCPT', code: number, text: string): Outcome => ({
  kind: 'replied',
  stage,
  reply: { code, text },
})

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
const isAscii = (text: string) => /^[ -~]*$/.test(text)
const localPart = (address: string) => address.slice(0, address.lastIndexOf('@'))

/** Never lets an address end its command: what could is refused long before, and cut here. */
function wireAddress(address: string, utf8: boolean): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is cut
  const clean = address.replaceAll(/[\x00-\x1f\x7f<>]/g, '')
  if (utf8 || isAscii(clean)) return clean
  const at = clean.lastIndexOf('@')
  return `${clean.slice(0, at)}@${domainToASCII(clean.slice(at + 1))}`
}
