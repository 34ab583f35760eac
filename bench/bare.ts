// The reference of bench/request.ts: one bare route, the same statement, nothing else. Started as a process of its own.
import Fastify from 'fastify'
import { connect } from '../src/platform/database.ts'

const [url = '', port = '0'] = process.argv.slice(2)
const db = connect(url, { name: 'bare', max: 10 })
const app = Fastify()
app.get<{ Params: { id: string } }>('/business/:id', async request => {
  const rows = await db`
    select id, user_id as "userId", name, time_zone as "timeZone", currency, test_mode as "testMode", settings,
      created_at as "createdAt", updated_at as "updatedAt"
    from account_business where id = ${request.params.id}`
  return { success: true, status: 'success', message: 'Business', data: rows[0] }
})
await app.listen({ port: Number(port), host: '127.0.0.1' })
console.log('ready')
