import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** How many RSA-2048 signatures a second this machine makes with all its cores and nothing else to do. */
export async function signingCeiling(ms: number): Promise<{ perSecond: number; total: number }> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const counts = await Promise.all(
    Array.from({ length: availableParallelism() }, () => {
      const worker = new Worker(import.meta.filename, { workerData: { pem, ms } })
      return new Promise<{ count: number; ms: number }>(resolve => worker.once('message', resolve))
    }),
  )
  return {
    total: counts.reduce((sum, one) => sum + one.count, 0),
    perSecond: counts.reduce((sum, one) => sum + (one.count * 1000) / one.ms, 0),
  }
}

if (!isMainThread) {
  const { pem, ms } = workerData as { pem: string; ms: number }
  const key = createPrivateKey(pem)
  const data = Buffer.alloc(1_000, 'x')
  const begin = performance.now()
  let count = 0
  for (; performance.now() - begin < ms; count++) sign('RSA-SHA256', data, key)
  parentPort?.postMessage({ count, ms: performance.now() - begin })
}
