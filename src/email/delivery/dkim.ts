import { generateKeyPair } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import type { SigningKey } from './dkim-sign.ts'
import type { SigningAnswer, SigningOrder } from './dkim-worker.ts'

/** Answers the DKIM-Signature field, with its line end, for a message. The message may be changed as soon as it is called. */
export type Signer = (message: Buffer) => Promise<string>

interface Waiting {
  bytes: Buffer
  key: SigningKey
  done(header: string): void
  failed(error: Error): void
}

interface Bench {
  worker: Worker
  /** the orders it has, oldest first */
  orders: Waiting[][]
}

/** As many as are signed in a few milliseconds, so that a single message never waits long behind them. */
const mostPerOrder = 8
/** one to work on and one to go on with */
const ordersAtOnce = 2
const idleMs = 30_000

const waiting: Waiting[] = []
const benches = new Set<Bench>()
let idle: NodeJS.Timeout | undefined

/**
 * Signs on threads of their own, one a core, started when the first message wants it: a signature costs ten times what
 * the rest of a message does. Orders of several messages travel as one block of memory.
 */
export const createSigner =
  (key: SigningKey): Signer =>
  message =>
    new Promise((done, failed) => {
      waiting.push({ bytes: Buffer.from(message), key, done, failed })
      if (waiting.length === 1) setImmediate(handOut)
    })

function handOut(): void {
  while (waiting.length > 0) {
    const bench = freeBench()
    if (!bench) return
    const order = waiting.splice(0, mostPerOrder)
    bench.orders.push(order)
    const bytes = new ArrayBuffer(order.reduce((sum, one) => sum + one.bytes.length, 0))
    const view = new Uint8Array(bytes)
    const ends: number[] = []
    for (const one of order) {
      const from = ends.at(-1) ?? 0
      view.set(one.bytes, from)
      ends.push(from + one.bytes.length)
    }
    const keys = [...new Set(order.map(one => one.key))]
    const message: SigningOrder = { bytes, ends, keys, which: order.map(one => keys.indexOf(one.key)) }
    bench.worker.postMessage(message, [bytes])
  }
}

function freeBench(): Bench | undefined {
  clearTimeout(idle)
  idle = undefined
  let best: Bench | undefined
  for (const bench of benches) if (!best || bench.orders.length < best.orders.length) best = bench
  if (best?.orders.length === 0) return best
  if (benches.size < availableParallelism()) return openBench()
  return best && best.orders.length < ordersAtOnce ? best : undefined
}

function openBench(): Bench {
  const worker = new Worker(new URL('./dkim-worker.ts', import.meta.url), {
    // It holds a few messages at a time; a large heap would only keep what is long done with.
    resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 },
  })
  const bench: Bench = { worker, orders: [] }
  benches.add(bench)
  bench.worker.on('message', (answer: SigningAnswer) => {
    const order = bench.orders.shift() ?? []
    handOut()
    if ('headers' in answer) for (const [i, one] of order.entries()) one.done(answer.headers[i] ?? '')
    else for (const one of order) one.failed(new Error(answer.error))
    if (waiting.length === 0 && [...benches].every(one => one.orders.length === 0)) closeLater()
  })
  bench.worker.on('error', error => {
    benches.delete(bench)
    for (const one of bench.orders.flat()) one.failed(error as Error)
    handOut()
  })
  // A program that has nothing else to do may end. (To listen holds it; so this comes last.)
  bench.worker.unref()
  return bench
}

/** Threads keep memory; a program that has not signed for a while gives it back. */
function closeLater(): void {
  idle ??= setTimeout(() => {
    idle = undefined
    for (const bench of benches) if (bench.orders.length === 0 && benches.delete(bench)) void bench.worker.terminate()
  }, idleMs).unref()
}

/** A new key: the private part for us, the public part for a DNS record. */
export async function makeDkimKey(): Promise<{ privateKey: string; publicKey: string }> {
  const pair = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  return {
    privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicKey: (pair.publicKey.export({ type: 'spki', format: 'der' }) as Buffer).toString('base64'),
  }
}
