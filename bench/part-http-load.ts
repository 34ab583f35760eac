// A load generator in a process of its own, as lean as it can be: each connection writes a prepared request and writes
// the next one when the answer is complete. Takes { host, port, connections, seconds, requests } from whoever forked it.
import { connect } from 'node:net'

interface Order {
  port: number
  connections: number
  seconds: number
  /** whole requests as text; each connection goes through them from another place */
  requests: string[]
}

const headEnd = Buffer.from('\r\n\r\n')

function work({
  port,
  connections,
  seconds,
  requests,
}: Order): Promise<{ total: number; failed: number; p50: number; p99: number; seconds: number }> {
  const prepared = requests.map(text => Buffer.from(text, 'latin1'))
  const times: number[] = []
  let failed = 0
  let next = 0
  const begin = performance.now()
  const until = begin + seconds * 1_000
  const one = () =>
    new Promise<void>(resolve => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let asked = 0
      let held: Buffer = Buffer.alloc(0)
      const ask = () => {
        asked = performance.now()
        if (asked >= until) return void socket.end()
        socket.write(prepared[next++ % prepared.length] as Buffer)
      }
      socket.on('connect', ask)
      socket.on('data', (chunk: Buffer) => {
        held = held.length > 0 ? Buffer.concat([held, chunk]) : chunk
        const end = held.indexOf(headEnd)
        if (end < 0) return
        const head = held.toString('latin1', 0, end).toLowerCase()
        const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
        if (held.length < end + 4 + length) return
        if (!/^http\/1.1 [23]/.test(head)) failed++
        times.push(performance.now() - asked)
        held = Buffer.alloc(0)
        ask()
      })
      socket.on('error', () => failed++)
      socket.on('close', () => resolve())
    })
  return Promise.all(Array.from({ length: connections }, one)).then(() => {
    const spent = (performance.now() - begin) / 1_000
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
    return { total: times.length, failed, p50: at(0.5), p99: at(0.99), seconds: spent }
  })
}

process.once('message', async (order: Order) => {
  process.send?.(await work(order), () => process.exit())
})
