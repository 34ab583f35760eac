// The routes of bench/events.ts: pairs that differ only in whether they tell an event. Started as a process of its own.
import { Type } from 'typebox'
import { createAuthenticate } from '../src/accounts/authenticate.ts'
import { createApp } from '../src/app.ts'
import { buildPlatform } from '../src/platform/build.ts'
import { readConfig } from '../src/platform/config.ts'
import { endpoint } from '../src/platform/endpoint.ts'
import { emit } from '../src/platform/events.ts'
import { newId } from '../src/platform/ids.ts'
import type { Service } from '../src/platform/service.ts'

const [databaseUrl = '', masterKey = '', port = '0'] = process.argv.slice(2)
const platform = await buildPlatform(readConfig({ PENNYPOST_RATE_LIMIT: '0' }), {
  databaseUrl,
  masterKey: Buffer.from(masterKey, 'hex'),
  worker: false,
})
await platform.db`create table if not exists bench_thing (
  business_id text not null, id text not null, name text not null, detail jsonb not null, primary key (business_id, id))`
await platform.db`create table if not exists bench_member (
  business_id text not null, id text not null, list_id text not null, primary key (business_id, list_id, id))`
await platform.db`create table if not exists bench_count (business_id text primary key, count int not null default 0)`
await platform.db`insert into bench_count (business_id) select id from account_business on conflict do nothing`

const detail = { city: 'Utrecht', tags: ['new', 'spring'], score: 12, note: 'x'.repeat(300) }

/** Small: the row alone. Usual: a check, the row, a membership, a counter. In one transaction. */
const create = (usual: boolean, telling: boolean) =>
  endpoint({
    summary: 'Make a thing',
    body: Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }),
    answer: Type.Object({ id: Type.String(), name: Type.String() }),
    run: ({ db, business, body }) =>
      db.begin(async tx => {
        const id = newId()
        if (usual) await tx`select 1 from bench_thing where business_id = ${business.id} and id = ${id} for update`
        await tx`
          insert into bench_thing (business_id, id, name, detail)
          values (${business.id}, ${id}, ${body.name}, ${tx.json(detail)})`
        if (usual) {
          await tx`insert into bench_member (business_id, id, list_id) values (${business.id}, ${id}, 'list')`
          await tx`update bench_count set count = count + 1 where business_id = ${business.id}`
        }
        if (telling)
          await emit(tx, {
            businessId: business.id,
            type: 'webhook_test',
            source: 'api',
            objectId: id,
            data: { id, name: body.name, detail },
          })
        return { id, name: body.name }
      }),
  })

const service: Service = {
  name: 'account',
  title: 'Bench',
  base: '/bench',
  routes: [
    ['POST', '/small-quiet', create(false, false)],
    ['POST', '/small-telling', create(false, true)],
    ['POST', '/usual-quiet', create(true, false)],
    ['POST', '/usual-telling', create(true, true)],
  ],
  openRoutes: [],
  pages: [],
  eventTypes: [],
  work: () => [],
  loops: () => [],
  keepers: () => [],
  demo: async () => [],
  audit: async () => [],
}
const app = createApp({
  platform,
  services: [service],
  authenticate: createAuthenticate(platform.db),
  metricsText: async () => '',
})
await app.listen({ port: Number(port), host: '127.0.0.1' })
console.log('ready')
