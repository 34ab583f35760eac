import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { onTestFinished } from 'vitest'

/** A webhook receiver as a user would write it: a plain HTTP server and the public standardwebhooks package. */
export interface Receiver {
  url: string
  /** everything that came, in order */
  calls: ReceivedCall[]
  /** of the calls to one path */
  to(path: string): ReceivedCall[]
  close(): Promise<void>
}

export interface ReceivedCall {
  path: string
  id: string
  headers: IncomingHttpHeaders
  body: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  event: any
}

export type Behave = (call: ReceivedCall, response: ServerResponse) => void

const accept: Behave = (_, response) => void response.writeHead(204).end()

/** Closed when the test is over. */
export async function startReceiver(behave: Behave = accept): Promise<Receiver> {
  const calls: ReceivedCall[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { headers, url: path = '' } = request
    const call = { path, id: String(headers['webhook-id']), headers, body, event: JSON.parse(body) }
    calls.push(call)
    behave(call, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    to: path => calls.filter(call => call.path === path),
    async close() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  onTestFinished(receiver.close)
  return receiver
}

/** Throws unless the call was signed with this secret, just now. */
export const verify = (secret: string, call: ReceivedCall): unknown =>
  new Webhook(secret).verify(call.body, call.headers as Record<string, string>)
