import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * Asks at a steady rate from a thread of its own, so that who measures does not take the time of who is measured; over
 * plain HTTP on kept connections, because both share two cores with the database.
 */
export interface Load {
  requests: { method: string; url: string; body: string }[]
  authorization: string
  perSecond: number
}

const { requests, authorization, perSecond } = workerData as Load
const agent = new Agent({ keepAlive: true })

const ask = ({ method, url, body }: Load['requests'][number]) =>
  new Promise<void>((resolve, reject) => {
    const headers = { authorization, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    request(url, { method, headers, agent }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', part => {
        text += part
      })
      answer.once('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(text))))
    })
      .once('error', reject)
      .end(body)
  })

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
agent.destroy()
parentPort!.postMessage({ times, seconds: (performance.now() - start) / 1_000 })
