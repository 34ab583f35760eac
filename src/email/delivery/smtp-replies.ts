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
 * One reader at a time; it asks for as many replies as it needs, so that a pipelined envelope is one wake-up.
 */
export class ReplyReader {
  private readonly socket: Socket
  private rest = ''
  private lines: string[] = []
  private ready: SmtpReply[] = []
  private wanted = 0
  private resolve: ((replies: SmtpReply[]) => void) | undefined
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
  }

  read(count: number, timeoutMs: number): Promise<SmtpReply[]> {
    return new Promise((resolve, reject) => {
      this.wanted = count
      this.resolve = resolve
      this.reject = reject
      this.deadline = Date.now() + timeoutMs
      this.deliver()
    })
  }

  async one(timeoutMs: number): Promise<SmtpReply> {
    const [reply] = await this.read(1, timeoutMs)
    return reply as SmtpReply
  }

  fail(error: Error): void {
    this.failure ??= error
    clearInterval(this.watch)
    this.deadline = Number.POSITIVE_INFINITY
    this.socket.destroy()
    this.deliver()
  }

  private deliver(): void {
    if (!this.resolve) return
    const { resolve, reject } = this
    if (this.ready.length >= this.wanted) {
      this.resolve = undefined
      this.deadline = Number.POSITIVE_INFINITY
      resolve(this.ready.splice(0, this.wanted))
    } else if (this.failure) {
      this.resolve = undefined
      reject?.(this.failure)
    }
  }

  private take(chunk: Buffer): void {
    const text = this.rest + chunk.toString('latin1')
    let from = 0
    for (let end = text.indexOf('\n', from); end >= 0; end = text.indexOf('\n', from)) {
      this.line(text.slice(from, text.charCodeAt(end - 1) === 13 ? end - 1 : end))
      from = end + 1
    }
    this.rest = text.slice(from)
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
    this.lines = []
    this.ready.push({ code: Number(line.slice(0, 3)), text: Buffer.from(text, 'latin1').toString('utf8') })
  }
}
