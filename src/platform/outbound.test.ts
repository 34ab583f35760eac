import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { parseAddressRules } from './addresses.ts'
import { createOutbound, type Outbound } from './outbound.ts'
import { OutboundRefused } from './outbound-refused.ts'

// 127.0.0.1 stands for the public internet here, 127.0.0.2 for the house's own network.
const OPEN = '127.0.0.1'
const CLOSED = '127.0.0.2'
const rules = { allowPrivate: [`${OPEN}/32`] }

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function outbound(
  names: Record<string, string[]> | ((name: string) => Promise<string[]>) = {},
  options: { connectionsPerOrigin?: number } = {},
): Outbound {
  const resolve = typeof names === 'function' ? names : async (name: string) => names[name] ?? []
  const made = createOutbound(rules, { resolve, ...options })
  cleanups.push(() => made.close())
  return made
}

/** Listens on every address, so that a request that slips through to the closed one is seen. */
async function serve(listener: RequestListener) {
  return listen(createServer(listener))
}

async function listen<S extends Server & { closeAllConnections(): void }>(server: S) {
  const dialled: string[] = []
  server.on('connection', socket => dialled.push(String(socket.localAddress)))
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, dialled }
}

async function refused(call: Promise<unknown>): Promise<OutboundRefused> {
  const error = await call.then(
    () => expect.fail('It was not refused'),
    error => error,
  )
  if (!(error instanceof OutboundRefused)) throw error
  return error
}

const seen = async (request: IncomingMessage) => ({
  method: request.method,
  url: request.url,
  headers: request.headers,
  body: await text(request),
})

const echo: RequestListener = async (request, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(await seen(request)))
}

test('an allowed address answers, with status, headers, body and final url', async () => {
  const { port } = await serve((_, response) => {
    response.writeHead(418, { 'X-Kind': 'teapot', 'Set-Cookie': ['a=1', 'b=2'] })
    response.end('short and stout')
  })
  const answer = await outbound().fetch(`http://${OPEN}:${port}/pot?x=1`)
  expect(answer.status).toBe(418)
  expect(answer.headers).toMatchObject({ 'x-kind': 'teapot', 'set-cookie': 'a=1, b=2' })
  expect(answer.body.toString()).toBe('short and stout')
  expect(answer.url).toBe(`http://${OPEN}:${port}/pot?x=1`)
  expect(answer.durationMs).toBeGreaterThanOrEqual(0)
})

test.each([
  ['text', 'grüezi'],
  ['bytes', Buffer.from('grüezi')],
] as const)('a body of %s is sent as it is', async (_, body) => {
  const { port } = await serve(echo)
  const answer = await outbound().fetch(`http://${OPEN}:${port}/in`, {
    method: 'post',
    headers: { 'Content-Type': 'text/plain', 'X-Mine': 'yes' },
    body,
  })
  const request = JSON.parse(answer.body.toString())
  expect(request).toMatchObject({ method: 'POST', url: '/in', body: 'grüezi' })
  expect(request.headers).toMatchObject({
    'content-type': 'text/plain',
    'content-length': '7',
    'x-mine': 'yes',
    'accept-encoding': 'identity',
    host: `${OPEN}:${port}`,
  })
})

test('headers that steer the connection are left out', async () => {
  const { port } = await serve(echo)
  const answer = await outbound().fetch(`http://${OPEN}:${port}/`, {
    headers: { Host: 'intranet', 'Content-Length': '99', 'Transfer-Encoding': 'chunked', 'Accept-Encoding': 'gzip' },
  })
  const { headers } = JSON.parse(answer.body.toString())
  expect(headers.host).toBe(`${OPEN}:${port}`)
  expect(headers['accept-encoding']).toBe('identity')
  expect(headers).not.toHaveProperty('transfer-encoding')
})

test('a header that HTTP cannot carry is a mistake of the caller', async () => {
  const call = outbound().fetch(`http://${OPEN}:1/`, { headers: { 'x-mine': 'a\r\nx-other: b' } })
  await expect(call).rejects.toThrow('invalid')
  await expect(call).rejects.not.toBeInstanceOf(OutboundRefused)
})

// What may be asked for

test.each([
  'ftp://example.com/',
  'file:///etc/passwd',
  'data:text/plain,x',
  'example.com',
  '',
  'http://',
  'http://[::1',
  'gopher://x',
])('%j is not http', async url => {
  expect(await refused(outbound().fetch(url))).toMatchObject({ reason: 'not_http', notSent: true })
})

test.each(['http://user@example.com/', 'http://user:secret@example.com/', 'https://:secret@example.com/'])(
  '%s has credentials',
  async url => {
    const error = await refused(outbound().fetch(url))
    expect(error).toMatchObject({ reason: 'credentials_in_url', notSent: true })
    expect(error.message).not.toContain('secret')
  },
)

test.each([
  'http://2130706434/',
  'http://0x7f.2/',
  'http://0177.0.0.2/',
  'http://127.2/',
  'http://127.0.0.2./',
  'http://１２７.0.0.2/',
  'http://0/',
  'http://0.0.0.0/',
  'http://10.1.2.3/',
  'http://100.64.0.1/',
  'http://100.100.100.200/',
  'http://168.63.129.16/',
  'http://169.254.169.254/latest/meta-data/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.0.0.192/',
  'http://192.0.2.1/',
  'http://192.168.1.1/',
  'http://198.18.0.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://224.0.0.1/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://[::]/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.2]/',
  'http://[::ffff:7f00:2]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::808:808]/',
  'http://[2002:7f00:1::]/',
  'http://[2002:808:808::]/',
  'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  'http://[2001:db8::1]/',
  'http://[2001:2::1]/',
  'http://[3fff::1]/',
  'http://[100::1]/',
  'http://[fc00::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[4000::1]/',
  'http://[5f00::1]/',
])('%s is not public', async url => {
  expect(await refused(outbound().fetch(url))).toMatchObject({ reason: 'private_address', notSent: true })
})

test.each(['8.8.8.8', '172.32.0.1', '[2606:4700::1111]', '[64:ff9b::808:808]', '[::ffff:8.8.8.8]'])(
  '%s is public',
  async host => {
    // Stopped beforehand, so that nothing is really dialled.
    await expect(outbound().fetch(`http://${host}/`, { signal: AbortSignal.abort('stop') })).rejects.toBe('stop')
  },
)

test('every address inside a private IPv4 block is refused, in each of its IPv6 forms too', async () => {
  const guarded = outbound()
  const block = fc.constantFrom(
    [10, 8],
    [127, 8],
    [0xa9fe, 16],
    [0xc0a8, 16],
    [0xac1, 12],
    [0x191, 10],
    [0xe, 4],
    [0xf, 4],
  )
  await fc.assert(
    fc.asyncProperty(block, fc.nat(0xffffffff), async ([prefix = 0, bits = 0], random) => {
      const number = prefix * 2 ** (32 - bits) + (random % 2 ** (32 - bits))
      fc.pre(number !== 0x7f000001)
      const low = `${Math.floor(number / 0x10000).toString(16)}:${(number % 0x10000).toString(16)}`
      for (const host of [String(number), `[::ffff:${low}]`, `[::${low}]`, `[64:ff9b::${low}]`, `[2002:${low}::]`]) {
        expect((await refused(guarded.fetch(`http://${host}/`))).reason).toBe('private_address')
      }
    }),
  )
})

// Names

test('a name goes to the address it was checked for, under its own name', async () => {
  const { port, dialled } = await serve(echo)
  const answer = await outbound({ 'shop.test': [OPEN] }).fetch(`http://shop.test:${port}/`)
  expect(JSON.parse(answer.body.toString()).headers.host).toBe(`shop.test:${port}`)
  expect(dialled).toEqual([OPEN])
})

test('a name with one closed address among open ones is refused, and the refusal names no address', async () => {
  const { port, dialled } = await serve(echo)
  for (const addresses of [
    [CLOSED],
    [OPEN, CLOSED],
    [CLOSED, OPEN],
    [OPEN, '::1'],
    [OPEN, 'fe80::1%eth0'],
    [OPEN, 'nonsense'],
  ]) {
    const error = await refused(outbound({ 'shop.test': addresses }).fetch(`http://shop.test:${port}/`))
    expect(error).toMatchObject({ reason: 'private_address', notSent: true })
    expect(error.message).toContain('shop.test')
    for (const address of addresses) expect(JSON.stringify([error.message, error.cause])).not.toContain(address)
  }
  expect(dialled).toEqual([])
})

test('a name that answers differently the second time is asked once a connection and never reaches the closed address', async () => {
  const { port, dialled } = await serve((_, response) => response.setHeader('connection', 'close').end('hello'))
  let asked = 0
  const rebinding = outbound(async () => (asked++ === 0 ? [OPEN] : [CLOSED]))
  expect((await rebinding.fetch(`http://shop.test:${port}/`)).status).toBe(200)
  expect(asked).toBe(1)
  expect(await refused(rebinding.fetch(`http://shop.test:${port}/`))).toMatchObject({ reason: 'private_address' })
  expect(asked).toBe(2)
  expect(dialled).toEqual([OPEN])
})

test('a name that is rebound between a redirect and its target is refused', async () => {
  const { port, dialled } = await serve((_, response) => response.writeHead(302, { location: '/again' }).end())
  let asked = 0
  const rebinding = outbound(async () => (asked++ === 0 ? [OPEN] : [CLOSED]))
  const error = await refused(rebinding.fetch(`http://shop.test:${port}/`))
  expect(error).toMatchObject({ reason: 'private_address', notSent: false })
  expect(dialled).toEqual([OPEN])
})

test('a kept connection is used again', async () => {
  const { port, dialled } = await serve(echo)
  const guarded = outbound({ 'shop.test': [OPEN] })
  for (let i = 0; i < 20; i++) expect((await guarded.fetch(`http://shop.test:${port}/`)).status).toBe(200)
  // The next call may begin a moment before the connection of the last one is free.
  expect(dialled.length).toBeLessThanOrEqual(2)
})

test('connections to one origin are bounded', async () => {
  const { port, dialled } = await serve(echo)
  const guarded = outbound({ 'shop.test': [OPEN] }, { connectionsPerOrigin: 3 })
  await Promise.all(Array.from({ length: 30 }, () => guarded.fetch(`http://shop.test:${port}/`)))
  expect(dialled.length).toBeLessThanOrEqual(3)
})

test('a name without addresses, or one that does not resolve, is unresolvable', async () => {
  expect(await refused(outbound().fetch('http://nowhere.test/'))).toMatchObject({
    reason: 'unresolvable',
    notSent: true,
  })
  const failing = outbound(async () => {
    throw Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
  })
  expect(await refused(failing.fetch('http://nowhere.test/'))).toMatchObject({ reason: 'unresolvable', notSent: true })
})

test('the system resolver is the default', async () => {
  const guarded = createOutbound({ allowPrivate: [] })
  cleanups.push(() => guarded.close())
  expect(await refused(guarded.fetch('http://localhost/'))).toMatchObject({ reason: 'private_address' })
  expect(await refused(guarded.fetch('http://nowhere.invalid/'))).toMatchObject({ reason: 'unresolvable' })
})

test('proxies named in the environment are not asked', async () => {
  const { port, dialled } = await serve(echo)
  const before = { ...process.env }
  cleanups.push(() => {
    process.env = before
  })
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY']) {
    process.env[name] = `http://${OPEN}:${port}`
  }
  await refused(outbound({ 'shop.test': [CLOSED] }).fetch('http://shop.test/'))
  expect(dialled).toEqual([])
})

// Redirects

test.each([
  [301, 'POST', 'GET', ''],
  [302, 'POST', 'GET', ''],
  [303, 'POST', 'GET', ''],
  [307, 'POST', 'POST', 'hello'],
  [308, 'POST', 'POST', 'hello'],
  [301, 'PUT', 'PUT', 'hello'],
  [302, 'PUT', 'PUT', 'hello'],
  [303, 'PUT', 'GET', ''],
])('%i after %s asks with %s', async (status, method, nextMethod, nextBody) => {
  const { port } = await serve((request, response) => {
    if (request.url === '/target') echo(request, response)
    else response.writeHead(status, { location: 'target' }).end('moved')
  })
  const headers = { 'content-type': 'text/plain', 'x-mine': 'yes', authorization: 'Bearer mine' }
  const answer = await outbound().fetch(`http://${OPEN}:${port}/start`, { method, headers, body: 'hello' })
  const request = JSON.parse(answer.body.toString())
  expect(answer.url).toBe(`http://${OPEN}:${port}/target`)
  expect(request).toMatchObject({ method: nextMethod, body: nextBody })
  expect(request.headers).toMatchObject({ 'x-mine': 'yes', authorization: 'Bearer mine' })
  expect(request.headers['content-type']).toBe(nextMethod === 'GET' ? undefined : 'text/plain')
})

test('HEAD stays HEAD after a 303', async () => {
  const { port } = await serve((request, response) => {
    if (request.url === '/target') response.writeHead(200, { 'x-method': request.method, 'content-length': 5e9 }).end()
    else response.writeHead(303, { location: '/target' }).end()
  })
  const answer = await outbound().fetch(`http://${OPEN}:${port}/`, { method: 'HEAD' })
  expect(answer.headers['x-method']).toBe('HEAD')
})

test('another origin does not get Authorization and Cookie, not even when it redirects back', async () => {
  const home = await serve((request, response) => {
    if (request.url === '/back') echo(request, response)
    else response.writeHead(302, { location: `http://other.test:${home.port}/` }).end()
  })
  const away = await serve((_, response) =>
    response.writeHead(302, { location: `http://shop.test:${home.port}/back` }).end(),
  )
  const names = { 'shop.test': [OPEN], 'other.test': [OPEN] }
  const start = await serve((_, response) =>
    response.writeHead(302, { location: `http://other.test:${away.port}/` }).end(),
  )
  const answer = await outbound(names).fetch(`http://shop.test:${start.port}/`, {
    headers: { Authorization: 'Bearer mine', COOKIE: 'a=1', 'X-Mine': 'yes' },
  })
  const { headers } = JSON.parse(answer.body.toString())
  expect(headers).toMatchObject({ 'x-mine': 'yes' })
  expect(headers).not.toHaveProperty('authorization')
  expect(headers).not.toHaveProperty('cookie')
})

test.each([
  `http://${CLOSED}/`,
  'http://169.254.169.254/latest/meta-data/',
  'http://[::ffff:127.0.0.2]/',
  'http://inside.test/',
  '//inside.test/',
])('a redirect to %s is refused', async location => {
  const { port, dialled } = await serve((_, response) => response.writeHead(302, { location }).end())
  const guarded = outbound({ 'shop.test': [OPEN], 'inside.test': [CLOSED] })
  const error = await refused(guarded.fetch(`http://shop.test:${port}/`))
  expect(error).toMatchObject({ reason: 'private_address', notSent: false })
  expect(dialled).toEqual([OPEN])
})

test.each([
  'ftp://example.com/',
  'file:///etc/passwd',
  'http://[',
  'http://user:secret@example.com/',
  'javascript:alert(1)',
])('a redirect to %s is a bad one', async location => {
  const { port } = await serve((_, response) => response.writeHead(302, { location }).end())
  const error = await refused(outbound().fetch(`http://${OPEN}:${port}/`))
  expect(error).toMatchObject({ reason: 'bad_redirect', notSent: false })
  expect(error.message).not.toContain('secret')
})

test('three redirects are followed, a fourth is not', async () => {
  const { port } = await serve((request, response) => {
    const left = Number(request.url?.slice(1))
    if (left === 0) response.end('arrived')
    else response.writeHead(302, { location: `/${left - 1}` }).end()
  })
  const guarded = outbound()
  expect((await guarded.fetch(`http://${OPEN}:${port}/3`)).body.toString()).toBe('arrived')
  const error = await refused(guarded.fetch(`http://${OPEN}:${port}/4`))
  expect(error).toMatchObject({ reason: 'too_many_redirects', notSent: false })
  expect((await guarded.fetch(`http://${OPEN}:${port}/5`, { maxRedirects: 5 })).body.toString()).toBe('arrived')
})

test('without redirects allowed, and without a target, a redirect is returned as it is', async () => {
  const { port } = await serve((request, response) => {
    response.writeHead(302, request.url === '/none' ? {} : { location: `http://${CLOSED}/` }).end('moved')
  })
  const guarded = outbound()
  const answer = await guarded.fetch(`http://${OPEN}:${port}/`, { maxRedirects: 0 })
  expect(answer).toMatchObject({ status: 302, headers: { location: `http://${CLOSED}/` } })
  expect(answer.body.toString()).toBe('moved')
  expect(await guarded.fetch(`http://${OPEN}:${port}/none`)).toMatchObject({ status: 302 })
})

test('the page of a redirect is not read, however long it is', async () => {
  const { port } = await serve((request, response) => {
    if (request.url === '/target') return response.end('arrived')
    response.writeHead(302, { location: '/target' })
    response.write('and it never ends')
  })
  // With one connection only, the target is not reached before the page is given up.
  const guarded = outbound({}, { connectionsPerOrigin: 1 })
  const answer = await guarded.fetch(`http://${OPEN}:${port}/`, { timeoutMs: 3000 })
  expect(answer.body.toString()).toBe('arrived')
})

// Size

test('a body as large as the limit is taken, one byte more is refused, with and without content-length', async () => {
  const { port } = await serve((request, response) => {
    const [, kind, size] = request.url?.split('/') ?? []
    if (kind === 'known') response.setHeader('content-length', Number(size))
    else response.flushHeaders()
    response.end(Buffer.alloc(Number(size), 'x'))
  })
  const guarded = outbound()
  for (const kind of ['known', 'unknown']) {
    const url = `http://${OPEN}:${port}/${kind}`
    expect((await guarded.fetch(`${url}/1000`, { maxBytes: 1000 })).body).toHaveLength(1000)
    const error = await refused(guarded.fetch(`${url}/1001`, { maxBytes: 1000 }))
    expect(error).toMatchObject({ reason: 'too_large', notSent: false })
    expect((await guarded.fetch(`${url}/1048576`)).body).toHaveLength(1_048_576)
    expect(await refused(guarded.fetch(`${url}/1048577`))).toMatchObject({ reason: 'too_large' })
  }
})

test('a body without end is cut off at the limit', async () => {
  const { port } = await serve((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    }
    response.on('drain', more)
    more()
  })
  expect(await refused(outbound().fetch(`http://${OPEN}:${port}/`))).toMatchObject({ reason: 'too_large' })
})

test('headers without end are refused', async () => {
  const { port } = await serve((_, response) => response.setHeader('x-long', 'x'.repeat(100_000)).end())
  expect(await refused(outbound().fetch(`http://${OPEN}:${port}/`))).toMatchObject({ reason: 'too_large' })
})

test('an answer that comes compressed unasked is unpacked within the limit', async () => {
  const pack: Record<string, (body: Buffer) => Buffer> = { gzip: gzipSync, br: brotliCompressSync }
  const { port } = await serve((request, response) => {
    const [, encoding = '', size] = request.url?.split('/') ?? []
    const body = Buffer.alloc(Number(size), 'x')
    response.setHeader('content-encoding', encoding).end(pack[encoding]?.(body) ?? body)
  })
  const guarded = outbound()
  for (const encoding of ['gzip', 'br']) {
    const answer = await guarded.fetch(`http://${OPEN}:${port}/${encoding}/1000`, { maxBytes: 1000 })
    expect(answer.body.toString()).toBe('x'.repeat(1000))
    expect(answer.headers['content-length']).toBe('1000')
    expect(answer.headers).not.toHaveProperty('content-encoding')
    const bomb = guarded.fetch(`http://${OPEN}:${port}/${encoding}/5000000`)
    expect(await refused(bomb)).toMatchObject({ reason: 'too_large' })
  }
  for (const encoding of ['constructor', 'compress', 'deflate']) {
    const error = await refused(guarded.fetch(`http://${OPEN}:${port}/${encoding}/10`))
    expect(error).toMatchObject({ reason: 'connection', notSent: false })
  }
})

// Time

test('a body that trickles byte by byte ends at the time limit of the whole call', async () => {
  const { port } = await serve((_, response) => {
    const timer = setInterval(() => response.write('x'), 5)
    response.on('close', () => clearInterval(timer))
  })
  const error = await refused(outbound().fetch(`http://${OPEN}:${port}/`, { timeoutMs: 100 }))
  expect(error).toMatchObject({ reason: 'timeout', notSent: false })
})

test('redirects share one time limit', async () => {
  const { port } = await serve((_, response) => {
    setTimeout(() => response.writeHead(302, { location: '/' }).end(), 20)
  })
  const call = outbound().fetch(`http://${OPEN}:${port}/`, { timeoutMs: 150, maxRedirects: 1000 })
  expect(await refused(call)).toMatchObject({ reason: 'timeout', notSent: false })
})

test('headers that never come end at the time limit', async () => {
  const { port } = await serve(() => {})
  const call = outbound().fetch(`http://${OPEN}:${port}/`, { method: 'POST', body: 'x', timeoutMs: 50 })
  expect(await refused(call)).toMatchObject({ reason: 'timeout', notSent: false })
})

test('a name that is never answered ends at the time limit, with nothing sent', async () => {
  const silent = createOutbound(rules, { resolve: () => new Promise(() => {}) })
  const call = silent.fetch('http://shop.test/', { timeoutMs: 50 })
  expect(await refused(call)).toMatchObject({ reason: 'timeout', notSent: true })
})

test('a call that ends while it waits for a connection is not sent later', async () => {
  const urls: unknown[] = []
  const held = Promise.withResolvers<void>()
  const { port, dialled } = await serve(async (request, response) => {
    urls.push(request.url)
    if (request.url === '/first') await held.promise
    response.end()
  })
  const guarded = outbound({ 'shop.test': [OPEN] }, { connectionsPerOrigin: 1 })
  const first = guarded.fetch(`http://shop.test:${port}/first`)
  const error = await refused(guarded.fetch(`http://shop.test:${port}/second`, { timeoutMs: 50 }))
  expect(error).toMatchObject({ reason: 'timeout', notSent: true })
  const third = guarded.fetch(`http://shop.test:${port}/third`)
  held.resolve()
  await Promise.all([first, third])
  expect(urls).toEqual(['/first', '/third'])
  expect(dialled).toHaveLength(1)
})

test('the caller can stop a call, before and in the middle of it', async () => {
  const stop = new AbortController()
  const closed = Promise.withResolvers<void>()
  const { port } = await serve((_, response) => {
    response.on('close', closed.resolve)
    response.write('x')
    stop.abort('enough')
  })
  const guarded = outbound()
  await expect(guarded.fetch(`http://${OPEN}:${port}/`, { signal: stop.signal })).rejects.toBe('enough')
  await closed.promise
  await expect(guarded.fetch(`http://${OPEN}:${port}/`, { signal: stop.signal })).rejects.toBe('enough')
})

// Connections

test('a closed port refuses the connection, and the sentence names the host only', async () => {
  const error = await refused(outbound({ 'shop.test': [OPEN] }).fetch('http://shop.test:1/'))
  expect(error).toMatchObject({ reason: 'connection', notSent: true })
  expect(error.message).toBe('shop.test:1 refused the connection.')
})

test('a connection that breaks after the request was sent may have been heard', async () => {
  const { port } = await serve(request => request.socket.destroy())
  const error = await refused(outbound({ 'shop.test': [OPEN] }).fetch(`http://shop.test:${port}/`, { method: 'POST' }))
  expect(error).toMatchObject({ reason: 'connection', notSent: false })
  expect(error.message).not.toContain(OPEN)
})

test('after close nothing is sent', async () => {
  const guarded = createOutbound(rules)
  await guarded.close()
  expect(await refused(guarded.fetch(`http://${OPEN}:1/`))).toMatchObject({ reason: 'connection', notSent: true })
})

// A self-signed certificate for shop.test, made for these tests only.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgN+8yTySuwY+2KuqC
BVv7o7yJ+rP+Cj71wKzDMQmkPHOhRANCAAQOFgyXvO7xyWwnzmKPPquLGUZFVIJD
iPqWWTz2y7J2JrX4veaiNCZLoLZqcU/7Na9W+5wMZJh5f7R4unwmBSOM
-----END PRIVATE KEY-----`
const cert = `-----BEGIN CERTIFICATE-----
MIIBljCCATugAwIBAgIUa0gyrZMXBtsHyHIS5gUYFn0a2jowCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJc2hvcC50ZXN0MCAXDTI2MTExNTAyMjA0MVoYDzIxMjYxMDIy
MDIyMDQxWjAUMRIwEAYDVQQDDAlzaG9wLnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQOFgyXvO7xyWwnzmKPPquLGUZFVIJDiPqWWTz2y7J2JrX4veaiNCZL
oLZqcU/7Na9W+5wMZJh5f7R4unwmBSOMo2kwZzAdBgNVHQ4EFgQUIEkR8MyKHMJW
fAIYeROR+Idf5IwwHwYDVR0jBBgwFoAUIEkR8MyKHMJWfAIYeROR+Idf5IwwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglzaG9wLnRlc3QwCgYIKoZIzj0EAwID
SQAwRgIhAJOicCRif1igNhU6qZakmD3NQTWUrfr8626+0P5OhlT4AiEAk2LD25hS
GgAqGCyLbjpDDNQYNob3LE+t9XrcZaxVUKo=
-----END CERTIFICATE-----`

async function serveTls() {
  const asked: unknown[] = []
  const server = createTlsServer({ key, cert }, echo).on('secureConnection', socket => asked.push(socket.servername))
  return { ...(await listen(server)), asked }
}

test('a self-signed certificate is refused, also when the environment says otherwise', async () => {
  const { port } = await serveTls()
  const guarded = outbound({ 'shop.test': [OPEN] })
  cleanups.push(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
  for (const setting of ['1', '0']) {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = setting
    const error = await refused(guarded.fetch(`https://shop.test:${port}/`, { method: 'POST', body: 'x' }))
    expect(error).toMatchObject({ reason: 'connection', notSent: true })
    expect(error.message).toBe(`The certificate of shop.test:${port} is not valid.`)
  }
})

test('a trusted certificate is taken for its own name only, although the connection goes to an address', async () => {
  const before = getCACertificates('default')
  cleanups.push(() => setDefaultCACertificates(before))
  setDefaultCACertificates([...before, cert])
  const { port, asked } = await serveTls()
  const guarded = outbound({ 'shop.test': [OPEN], 'other.test': [OPEN] })
  const answer = await guarded.fetch(`https://shop.test:${port}/`, { headers: { host: 'other.test' } })
  expect(JSON.parse(answer.body.toString()).headers.host).toBe(`shop.test:${port}`)
  expect(asked).toEqual(['shop.test'])
  const error = await refused(guarded.fetch(`https://other.test:${port}/`, { headers: { host: 'shop.test' } }))
  expect(error).toMatchObject({ reason: 'connection', notSent: true })
  expect(await refused(guarded.fetch(`https://${OPEN}:${port}/`))).toMatchObject({ reason: 'connection' })
})

// Rules

test('rules are addresses or blocks between commas', () => {
  expect(parseAddressRules('')).toEqual([])
  expect(parseAddressRules(' 127.0.0.1 , 10.0.0.0/8,, fd00::/8 ,::1')).toEqual([
    '127.0.0.1',
    '10.0.0.0/8',
    'fd00::/8',
    '::1',
  ])
})

test.each([
  'localhost',
  '10',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0.0/-1',
  '10.0.0/8',
  '::1/129',
  '10.0.0.1/8/8',
  '::ffff:10.0.0.1',
  '0x7f.1',
])('%j is named as a wrong rule', entry => {
  expect(() => parseAddressRules(`127.0.0.1,${entry}`)).toThrow(`"${entry}"`)
  expect(() => createOutbound({ allowPrivate: [entry] })).toThrow(`"${entry}"`)
})

test('rules open their block and nothing beside it', async () => {
  const allows = async (rule: string, host: string) => {
    const guarded = createOutbound({ allowPrivate: [rule] })
    cleanups.push(() => guarded.close())
    const stopped = guarded.fetch(`http://${host}/`, { signal: AbortSignal.abort('not refused') })
    return stopped.catch(error => error === 'not refused')
  }
  expect(await allows('10.1.2.3', '10.1.2.3')).toBe(true)
  expect(await allows('10.1.2.3', '10.1.2.4')).toBe(false)
  expect(await allows('10.1.2.3', '[::ffff:10.1.2.3]')).toBe(true)
  expect(await allows('10.1.2.3', '[64:ff9b::a01:203]')).toBe(false)
  expect(await allows('10.1.2.3/16', '10.1.255.255')).toBe(true)
  expect(await allows('10.1.2.3/16', '10.2.0.0')).toBe(false)
  expect(await allows('fd00::/8', '[fd12::1]')).toBe(true)
  expect(await allows('fd00::/8', '[fc00::1]')).toBe(false)
  expect(await allows('0.0.0.0/0', '[::1]')).toBe(false)
})

test('where the beginning is enough, a long body is cut instead of refused, and the rest is not read', async () => {
  let open = true
  const { port } = await serve((_, response) => {
    response.on('close', () => {
      open = false
    })
    response.writeHead(200, { 'content-length': String(50_000_000) })
    response.write('x'.repeat(100_000))
  })
  const made = outbound()
  const answer = await made.fetch(`http://${OPEN}:${port}/`, { maxBytes: 1_000, whenTooLarge: 'cut' })
  expect([answer.status, answer.body.toString()]).toEqual([200, 'x'.repeat(1_000)])
  await expect.poll(() => open).toBe(false)
})

test('a URL can be checked without being fetched', async () => {
  const made = outbound({ 'good.test': [OPEN], 'bad.test': [OPEN, CLOSED] })
  await made.check('https://good.test/hook')
  await made.check(`http://${OPEN}:9/`)
  const reasons = []
  for (const url of [
    'https://bad.test/',
    `http://${CLOSED}/`,
    'https://none.test/',
    'ftp://good.test/',
    'http://a:b@good.test/',
  ])
    reasons.push((await refused(made.check(url))).reason)
  expect(reasons).toEqual(['private_address', 'private_address', 'unresolvable', 'not_http', 'credentials_in_url'])
})
