import { createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'

/** What the sink saw of one message. */
export interface Received {
  from: string
  to: string
  messageId: string
  at: number
  /** only where `keepMessages` is on */
  data: string
}

/** A fault for one moment of a session; the sink behaves when none is given. */
export type Act = { reply?: string; drop?: boolean; stallMs?: number; accept?: boolean }

export interface SinkOptions {
  port?: number
  keepMessages?: boolean
  extensions?: string[]
  tls?: { key: string; cert: string }
  login?: { username: string; password: string }
  /** what to do with a recipient: asked at RCPT and at the end of data */
  at?: (
    stage: 'connect' | 'mail' | 'rcpt' | 'end',
    session: { to: string; from: string; messages: number },
  ) => Act | undefined
  onReceived?: (received: Received) => void
}

export interface Sink {
  port: number
  received: Received[]
  count: number
  connections: number
  /** most connections open at one time */
  peak: number
  close(): Promise<void>
}

/** A small, real SMTP server with scripted faults. */
export async function startSink(options: SinkOptions = {}): Promise<Sink> {
  const sockets = new Set<Socket>()
  const sink = { port: 0, received: [] as Received[], count: 0, connections: 0, peak: 0 }
  const server: Server = createServer(socket => {
    sockets.add(socket)
    sink.connections++
    sink.peak = Math.max(sink.peak, sockets.size)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    converse(socket, options, received => {
      sink.count++
      if (options.onReceived) options.onReceived(received)
      else sink.received.push(received)
    })
  })
  await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  sink.port = (server.address() as { port: number }).port
  return Object.assign(sink, {
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  })
}

const endOfData = Buffer.from('\r\n.\r\n')

function converse(first: Socket, options: SinkOptions, receive: (received: Received) => void): void {
  let socket = first
  const session = { from: '', to: '', messages: 0 }
  let inData = false
  let login: string[] | undefined
  let waiting: Buffer[] = []
  let working = false
  const extensions = options.extensions ?? ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'SIZE 52428800']

  let out = ''
  const say = (text: string) => {
    out += `${text}\r\n`
  }
  const flush = () => {
    if (out !== '' && !socket.destroyed) socket.write(out, 'latin1')
    out = ''
  }

  /** Answers true when the fault took the place of the usual answer. */
  const act = async (stage: 'connect' | 'mail' | 'rcpt' | 'end'): Promise<boolean> => {
    const fault = options.at?.(stage, session)
    if (!fault) return false
    if (fault.stallMs) {
      flush()
      await new Promise(resolve => setTimeout(resolve, fault.stallMs))
    }
    if (fault.accept) accept(lastData)
    if (fault.reply) say(fault.reply)
    if (fault.drop) {
      flush()
      socket.destroy()
    }
    return Boolean(fault.reply || fault.drop)
  }

  let lastData: Buffer = Buffer.alloc(0)
  const accept = (data: Buffer) => {
    const head = data.toString('latin1', 0, Math.min(data.length, 4_096))
    session.messages++
    receive({
      from: session.from,
      to: session.to,
      messageId: /^Message-ID: (\S+)/im.exec(head)?.[1] ?? '',
      at: Date.now(),
      data: options.keepMessages ? data.toString('latin1') : '',
    })
  }

  const command = (line: string): Promise<void> | undefined => {
    const verb = line.slice(0, 4).toUpperCase()
    if (login) return void logIn(line)
    if (verb === 'EHLO') {
      const offers = [...extensions, ...(options.tls && !(socket instanceof TLSSocket) ? ['STARTTLS'] : [])]
      if (options.login) offers.push('AUTH PLAIN LOGIN')
      const lines = ['sink', ...offers]
      for (const [i, offer] of lines.entries()) say(`250${i < lines.length - 1 ? '-' : ' '}${offer}`)
    } else if (verb === 'HELO') say('250 sink')
    else if (verb === 'MAIL') {
      session.from = /<([^>]*)>/.exec(line)?.[1] ?? ''
      session.to = ''
      if (!options.at) say('250 2.1.0 ok')
      else
        return act('mail').then(done => {
          if (!done) say('250 2.1.0 ok')
        })
    } else if (verb === 'RCPT') {
      const to = /<([^>]*)>/.exec(line)?.[1] ?? ''
      if (!options.at) {
        session.to = to
        say('250 2.1.5 ok')
      } else {
        session.to = to
        return act('rcpt').then(done => {
          if (done) session.to = ''
          else say('250 2.1.5 ok')
        })
      }
    } else if (verb === 'DATA') {
      if (session.to === '') say('503 5.5.1 no valid recipients')
      else {
        say('354 go ahead')
        inData = true
      }
    } else if (verb === 'RSET') {
      session.to = ''
      say('250 2.0.0 ok')
    } else if (verb === 'QUIT') {
      say('221 2.0.0 bye')
      flush()
      socket.end()
    } else if (verb === 'STAR') startTls()
    else if (verb === 'AUTH') {
      const plain = /^AUTH PLAIN (.+)$/i.exec(line)?.[1]
      if (plain) checkLogin(Buffer.from(plain, 'base64').toString().split('\0').slice(1))
      else {
        login = []
        say('334 VXNlcm5hbWU6')
      }
    } else say('500 5.5.2 what?')
    return undefined
  }

  const logIn = (line: string) => {
    login?.push(Buffer.from(line, 'base64').toString())
    if (login?.length === 2) {
      const given = login
      login = undefined
      checkLogin(given)
    } else say('334 UGFzc3dvcmQ6')
  }
  const checkLogin = ([username, password]: string[]) =>
    say(
      username === options.login?.username && password === options.login?.password
        ? '235 2.7.0 welcome'
        : '535 5.7.8 wrong credentials',
    )

  const startTls = () => {
    say('220 go ahead')
    flush()
    first.removeAllListeners('data')
    waiting = []
    socket = new TLSSocket(first, { isServer: true, secureContext: createSecureContext(options.tls ?? {}) })
    socket.on('error', () => {})
    socket.on('data', take)
  }

  /** Goes through what came; a fault that takes time holds everything behind it. */
  const work = async (): Promise<void> => {
    let data = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting)
    waiting = []
    while (!socket.destroyed) {
      if (inData) {
        // A body that begins with a dot line is empty.
        const empty = data.length >= 3 && data.toString('latin1', 0, 3) === '.\r\n'
        const end = empty ? 0 : data.indexOf(endOfData)
        if (end < 0) break
        lastData = empty ? Buffer.alloc(0) : data.subarray(0, end + 2)
        data = data.subarray(empty ? 3 : end + endOfData.length)
        inData = false
        if (!options.at || !(await act('end'))) {
          accept(lastData)
          say('250 2.0.0 queued')
        }
        session.to = ''
      } else {
        const end = data.indexOf('\r\n')
        if (end < 0) break
        const line = data.toString('utf8', 0, end)
        data = data.subarray(end + 2)
        const slow = command(line)
        if (slow) await slow
      }
      if (waiting.length > 0) {
        data = Buffer.concat([data, ...waiting])
        waiting = []
      }
    }
    if (data.length > 0) waiting.unshift(data)
    flush()
  }

  const take = (chunk: Buffer) => {
    waiting.push(chunk)
    if (working) return
    working = true
    void work().finally(() => {
      working = false
    })
  }
  socket.on('data', take)
  void act('connect').then(done => {
    if (!done) say('220 sink ESMTP')
    flush()
  })
}
