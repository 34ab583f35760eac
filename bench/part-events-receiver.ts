// The receiver of bench/events.ts, in a process of its own: /live answers at once, /hang never, /report tells what came.
import { createServer } from 'node:http'

let latencies: number[] = []
let firstAt = 0
let lastAt = 0
const server = createServer((request, response) => {
  const path = request.url ?? ''
  if (path === '/report') {
    response.end(JSON.stringify({ latencies, firstAt, lastAt }))
    latencies = []
    firstAt = 0
    return
  }
  let body = ''
  request.on('data', chunk => (body += chunk))
  request.on('end', () => {
    if (path.startsWith('/hang')) return
    lastAt = Date.now()
    firstAt ||= lastAt
    latencies.push(lastAt - JSON.parse(body).data.sentAt)
    response.writeHead(204).end()
  })
})
server.requestTimeout = 0
server.listen(Number(process.argv[2]), '127.0.0.1', 10_000, () => console.log('ready'))
