import { parentPort, workerData } from 'node:worker_threads'

/** Asks at a steady rate from a thread of its own, so that who measures does not take the time of who is measured. */
export interface Load {
  requests: { method: string; url: string; body: string }[]
  authorization: string
  perSecond: number
}

const { requests, authorization, perSecond } = workerData as Load
const times: number[] = []
const start = performance.now()
await Promise.all(
  requests.map(async ({ method, url, body }, n) => {
    await new Promise(resolve => setTimeout(resolve, (n * 1_000) / perSecond))
    const from = performance.now()
    const answer = await fetch(url, { method, body, headers: { authorization, 'content-type': 'application/json' } })
    const text = await answer.text()
    if (!answer.ok) throw new Error(text)
    times.push(performance.now() - from)
  }),
)
parentPort!.postMessage({ times, seconds: (performance.now() - start) / 1_000 })
