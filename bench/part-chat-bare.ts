// The reference of bench/chat.ts: takes a body and passes it through to the platform, nothing else. A process of its own.
import Fastify from 'fastify'
import { Pool } from 'undici'

const [port = '0', platform = ''] = process.argv.slice(2)
const pool = new Pool(platform, { connections: 256 })
const app = Fastify()
app.post('/messages', async request => {
  const { body } = await pool.request({
    method: 'POST',
    path: '/v23.0/1/messages',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  })
  return body.json()
})
await app.listen({ port: Number(port), host: '127.0.0.1' })
console.log('ready')
