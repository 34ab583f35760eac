import type { Socket } from 'node:net'

export interface SmtpReply {
  code: number
  /** all lines, joined by blanks, without the code */
  text: string
}

const longestReply = 64 * 1024

/** The connection is gone or said something that is no SMTP. */
export class SmtpBroken extends Error {}

/**
 * Reads replies in the order they come. A reply of several lines ends with the line that has no dash after its code.
 * One reader at a time. Replies to a pipelined envelope come together: `atHand` gives them without a wake-up for each.
 */
export class ReplyReader {
  private readonly socket: Socket
  private rest = ''
  private lines: string[] = []
  private ready: SmtpReply[] = []
  private taken = 0
  private resolve: ((reply: SmtpReply) => void) | undefined
  private reject: ((error: Error) => void) | undefined
  private failure: Error | undefined
  private deadline = Number.POSITIVE_INFINITY
  private readonly watch: NodeJS.Timeout

  constructor(socket: Socket) {
    this.socket = socket
    this.attach(socket)
    this.watch = setInterval(() => {
      if (Date.now() > this.deadline) this.fail(new SmtpBroken('no reply in time'))
    }, 1_000)
    this.watch.unref()
  }

  /** A socket that reads into a buffer of its own gives what it read to `take`, and has no data events. */
  attach(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.take(chunk))
    socket.on('error', (error: Error) => this.fail(new SmtpBroken(error.message)))
    socket.on('close', () => this.fail(new SmtpBroken('the server closed the connection')))
  }

  /** Answers that came before they were asked for would be somebody else's words: after STARTTLS nothing old may count. */
  forget(): void {
    this.rest = ''
    this.lines = []
    this.ready = []
    this.taken = 0
  }

  /** The next reply if it has come. */
  atHand(): SmtpReply | undefined {
    const reply = this.ready[this.taken]
    if (!reply) return undefined
    if (++this.taken === this.ready.length) {
      this.ready = []
      this.taken = 0
    }
    return reply
  }

  /** Takes the answers to MAIL, RCPT and DATA if all have come and all are good; otherwise leaves them. */
  takeEnvelope(): boolean {
    const { ready, taken } = this
    if (ready.length - taken < 3) return false
    const [mail, rcpt, data] = [ready[taken], ready[taken + 1], ready[taken + 2]]
    if (!mail || !rcpt || mail.code >= 300 || rcpt.code >= 300 || data?.code !== 354) return false
    for (let i = 0; i < 3; i++) this.atHand()
    return true
  }

  /** The next reply, when it comes. */
  one(timeoutMs: number): Promise<SmtpReply> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
      this.deadline = Date.now() + timeoutMs
      this.deliver()
    })
  }

  fail(error: Error): void {
    this.failure ??= error
    clearInterval(this.watch)
    this.deadline = Number.POSITIVE_INFINITY
    this.socket.destroy()
    this.deliver()
  }

  private deliver(): void {
    const { resolve, reject } = this
    if (!resolve) return
    const reply = this.atHand()
    if (!reply && !this.failure) return
    this.resolve = undefined
    this.deadline = Number.POSITIVE_INFINITY
    if (reply) resolve(reply)
    else reject?.(this.failure as Error)
  }

  take(chunk: Buffer): void {
    const text = this.rest + chunk.toString('latin1')
    let from = 0
    for (let end = text.indexOf('\n', from); end >= 0; end = text.indexOf('\n', from)) {
      this.line(text.slice(from, text.charCodeAt(end - 1) === 13 ? end - 1 : end))
      from = end + 1
    }
    this.rest = from === text.length ? '' : text.slice(from)
    if (this.rest.length > longestReply) this.fail(new SmtpBroken('the reply is too long'))
    this.deliver()
  }

  private line(line: string): void {
    if (!/^[2-5]\d\d([ -]|$)/.test(line)) {
      this.fail(new SmtpBroken(`not a reply: ${line.slice(0, 100)}`))
      return
    }
    if (line.charCodeAt(3) === 45) {
      if (this.lines.push(line.slice(4)) > 1_000) this.fail(new SmtpBroken('the reply is too long'))
      return
    }
    const text = this.lines.length === 0 ? line.slice(4) : [...this.lines, line.slice(4)].join(' ')
    if (this.lines.length > 0) this.lines = []
    this.ready.push({ code: Number(line.slice(0, 3)), text: isAscii(text) ? text : fromUtf8(text) })
  }
}

const isAscii = (text: string) => /^[ -~]*$/.test(text)
const fromUtf8 = (text: string) => Buffer.from(text, 'latin1').toString('utf8')
