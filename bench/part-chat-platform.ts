// The platform of bench/chat.ts: answers every send after a fixed time. A process of its own.
import { createServer } from 'node:http'

const [port = '0', latencyMs = '0'] = process.argv.slice(2)
let count = 0
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    const id = `wamid.bench${++count}`
    const answer = () =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"messaging_product":"whatsapp","contacts":[{"input":"+1","wa_id":"1"}],"messages":[{"id":"${id}"}]}`)
    if (Number(latencyMs) > 0) setTimeout(answer, Number(latencyMs))
    else answer()
  })
})
server.keepAliveTimeout = 120_000
server.listen(Number(port), '127.0.0.1', () => console.log('ready'))
