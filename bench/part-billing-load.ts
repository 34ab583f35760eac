import { connect, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * Asks at a steady rate from a thread of its own, so that who measures does not take the time of who is measured. It writes
 * and reads plain HTTP on kept sockets itself: both share two cores with the database, and Node's client takes half a millisecond.
 */
export interface Load {
  requests: { method: string; url: string; body: string }[]
  authorization: string
  perSecond: number
}

const { requests, authorization, perSecond } = workerData as Load
const free: Socket[] = []

async function ask({ method, url, body }: Load['requests'][number]): Promise<void> {
  const { host, hostname, port, pathname } = new URL(url)
  const socket = free.pop() ?? connect({ host: hostname, port: Number(port), noDelay: true })
  const answer = new Promise<string>((resolve, reject) => {
    let text = ''
    const read = (part: Buffer) => {
      text += part.toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
      if (head < 0 || length === undefined || text.length < head + 4 + Number(length)) return
      socket.off('data', read).off('error', reject)
      resolve(text)
    }
    socket.on('data', read).once('error', reject)
  })
  socket.write(
    `${method} ${pathname} HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  const text = await answer
  if (!text.startsWith('HTTP/1.1 200')) throw new Error(text)
  free.push(socket)
}

const times: number[] = []
const start = performance.now()
await Promise.all(
  requests.map(async (one, n) => {
    await new Promise(resolve => setTimeout(resolve, (n * 1_000) / perSecond))
    const from = performance.now()
    await ask(one)
    times.push(performance.now() - from)
  }),
)
const seconds = (performance.now() - start) / 1_000
for (const socket of free) socket.destroy()
parentPort!.postMessage({ times, seconds })
