import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket, type ConnectionOptions as TlsOptions } from 'node:tls'
import { ReplyReader, type SmtpReply } from './smtp-replies.ts'

export interface SmtpServer {
  host: string
  port: number
  /** none; starttls (required, never fallen back from); tls from the first byte */
  security: 'none' | 'starttls' | 'tls'
  username: string
  password: string
  /** how we name ourselves */
  clientName: string
  /** certificate authorities of a closed network */
  ca?: string
  connectTimeoutMs?: number
  /** RFC 5321 names 5 minutes for commands */
  commandTimeoutMs?: number
  /** RFC 5321 names 10 minutes; an impatient end here is a duplicate */
  endTimeoutMs?: number
}

/** What the server offered after EHLO. */
export interface Offers {
  pipelining: boolean
  eightBit: boolean
  utf8: boolean
  /** undefined: not offered; 0: offered without a limit */
  size: number | undefined
}

export interface OpenSession {
  socket: Socket
  replies: ReplyReader
  offers: Offers
}

/** The server refused the session itself; the reply tells why. */
export class SmtpRefused extends Error {
  readonly reply: SmtpReply
  readonly stage: string
  constructor(stage: string, reply: SmtpReply) {
    super(`${stage}: ${reply.code} ${reply.text}`)
    this.reply = reply
    this.stage = stage
  }
}

const tlsSessions = new Map<string, Buffer>()

/** Greeting, EHLO, STARTTLS and AUTH, up to the point where the first envelope may be written. */
export async function openSession(server: SmtpServer, signal?: AbortSignal): Promise<OpenSession> {
  const commandMs = server.commandTimeoutMs ?? 300_000
  const reading: Reading = { take: () => {} }
  let socket = await openSocket(server, reading, signal)
  socket.setNoDelay(true)
  const replies = new ReplyReader(socket)
  reading.take = chunk => replies.take(chunk)
  try {
    const command = async (line: string, stage: string, expected = 2) => {
      if (line !== '') socket.write(`${line}\r\n`)
      const reply = await replies.one(commandMs)
      if (Math.floor(reply.code / 100) !== expected) throw new SmtpRefused(stage, reply)
      return reply
    }
    await command('', 'greeting')
    let keywords = await hello(command, server.clientName)
    if (server.security === 'starttls') {
      if (!keywords.has('STARTTLS'))
        throw new SmtpRefused('STARTTLS', { code: 502, text: 'the server does not offer STARTTLS' })
      await command('STARTTLS', 'STARTTLS')
      socket.removeAllListeners('data')
      replies.forget()
      socket = await upgrade(socket, server)
      replies.attach(socket)
      keywords = await hello(command, server.clientName)
    }
    if (server.username !== '') await authenticate(command, keywords.get('AUTH') ?? '', server)
    return { socket, replies, offers: offersOf(keywords) }
  } catch (error) {
    replies.fail(error instanceof Error ? error : new Error(String(error)))
    throw error
  }
}

type Command = (line: string, stage: string, expected?: number) => Promise<SmtpReply>

/** EHLO, or HELO for a server of the last century. */
async function hello(command: Command, clientName: string): Promise<Map<string, string>> {
  try {
    const reply = await command(`EHLO ${clientName}`, 'EHLO')
    // The reader joins lines by blanks; keywords are found again by their names.
    const words = reply.text.toUpperCase()
    const known = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'STARTTLS'].filter(word => words.includes(word))
    const found = new Map(known.map(word => [word, '']))
    const size = /(?:^|\s)SIZE(?:\s+(\d+))?/.exec(words)
    if (size) found.set('SIZE', size[1] ?? '0')
    const auth = /(?:^|\s)AUTH[\s=]+([A-Z0-9\s-]+)/.exec(words)
    if (auth) found.set('AUTH', auth[1] ?? '')
    return found
  } catch (error) {
    if (!(error instanceof SmtpRefused) || error.reply.code < 500) throw error
    await command(`HELO ${clientName}`, 'HELO')
    return new Map()
  }
}

const offersOf = (keywords: Map<string, string>): Offers => ({
  pipelining: keywords.has('PIPELINING'),
  eightBit: keywords.has('8BITMIME'),
  utf8: keywords.has('SMTPUTF8'),
  size: keywords.has('SIZE') ? Number(keywords.get('SIZE')) : undefined,
})

async function authenticate(command: Command, methods: string, server: SmtpServer): Promise<void> {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  if (/\bLOGIN\b/.test(methods) && !/\bPLAIN\b/.test(methods)) {
    await command('AUTH LOGIN', 'AUTH', 3)
    await command(base64(server.username), 'AUTH', 3)
    await command(base64(server.password), 'AUTH')
  } else {
    await command(`AUTH PLAIN ${base64(`\0${server.username}\0${server.password}`)}`, 'AUTH')
  }
}

/** Who takes what a socket reads. */
interface Reading {
  take(chunk: Buffer): void
}

const readBytes = 4_096

/** One small buffer for all that a server ever says: a stream would take 64 KB of memory for each of its short replies. */
const intoOneBuffer = (reading: Reading) => ({
  onread: {
    buffer: Buffer.allocUnsafeSlow(readBytes),
    callback(length: number, buffer: Uint8Array) {
      reading.take((buffer as Buffer).subarray(0, length))
      return true
    },
  },
})

function openSocket(server: SmtpServer, reading: Reading, signal: AbortSignal | undefined): Promise<Socket> {
  const { host, port } = server
  return new Promise((resolve, reject) => {
    const secure = server.security === 'tls'
    // A socket that will be wrapped for STARTTLS must stay a stream.
    const own = server.security === 'starttls' ? {} : intoOneBuffer(reading)
    const socket = secure
      ? connectTls({ host, port, ...own, ...tlsOptions(server) } as TlsOptions)
      : connectTcp({ host, port, ...own })
    const timer = setTimeout(() => end(new Error('connecting took too long')), server.connectTimeoutMs ?? 30_000)
    const aborted = () => end(new Error('stopped while connecting'))
    const end = (error?: Error) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
      socket.removeAllListeners('error')
      if (!error) return resolve(socket)
      socket.on('error', () => {})
      socket.destroy()
      reject(error)
    }
    signal?.addEventListener('abort', aborted, { once: true })
    socket.once(secure ? 'secureConnect' : 'connect', () => end())
    socket.once('error', end)
    if (secure) rememberSession(socket as TLSSocket, server)
  })
}

function upgrade(plain: Socket, server: SmtpServer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ socket: plain, ...tlsOptions(server) })
    rememberSession(socket, server)
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      socket.removeListener('error', reject)
      resolve(socket)
    })
  })
}

const tlsOptions = (server: SmtpServer) => {
  const session = tlsSessions.get(`${server.host}:${server.port}`)
  return {
    ...(isIP(server.host) === 0 && { servername: server.host }),
    ...(server.ca && { ca: server.ca }),
    ...(session && { session }),
    minVersion: 'TLSv1.2' as const,
  }
}

/** Resuming a session saves most of the handshake for the next connection. */
function rememberSession(socket: TLSSocket, server: SmtpServer): void {
  socket.on('session', session => {
    if (tlsSessions.size > 1_000) tlsSessions.clear()
    tlsSessions.set(`${server.host}:${server.port}`, session)
  })
}
