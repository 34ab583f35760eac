import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { auditEmail } from '../audit.ts'
import { mergeChunk, prepareChunk } from './chunk.ts'
import { runImport } from './import.ts'
import { openTools } from './plan.ts'
import * as store from './store.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)
const upload = async (csv: string): Promise<string> => {
  const answer = await shop.email.post('/subscribers/import', csv, { 'content-type': 'text/csv' })
  expect(answer.status, answer.text).toBe(201)
  return answer.body.data.import.id
}
const imported = async (id: string) => (await shop.email.get(`/subscribers/imports/${id}`)).body.data.import
const subscriber = async (email: string) => (await shop.email.get(`/subscribers/${email}`)).body.data
const total = async (query = '') => (await shop.email.get(`/subscribers${query}`)).body.data.pagination.totalItems

/** The first chunk, prepared; `merge` merges it, after whatever came between. */
async function prepared(id: string) {
  const record = (await store.find(w.db, shop.id, id))!
  const tools = await openTools(w.db, shop.id)
  const chunk = (await prepareChunk(w.platform, shop.id, record, { number: 0, lines: 0 }, tools))!
  return { merge: () => mergeChunk(w.platform, shop.id, record, chunk, tools) }
}

for (const [size, count] of [
  ['few', 20],
  ['many', 2_500],
] as const)
  test(`what happens between preparing and merging counts: ${size}`, async () => {
    await shop.email.post('/lists', { name: 'Kept' })
    const gone = (await shop.email.post('/lists', { name: 'Gone' })).body.data.list.id
    for (const email of ['known@b.example', 'deleted@b.example'])
      await shop.email.post('/subscribers', { email, firstName: 'Before', tags: ['old'] })
    const people = numbers(count).map(i => `p${i}@b.example,Import,,${i % 2 ? 'Kept' : ''}`)
    const id = await upload(
      [
        'email,firstName,tags,lists',
        'known@b.example,,new,',
        'deleted@b.example,Import,old;new,Kept',
        'listed@b.example,,,Gone',
        ...people,
      ].join('\n'),
    )
    const { merge } = await prepared(id)
    await shop.email.post('/subscribers', { email: 'P7@b.example', lastName: 'Taken', tags: ['own'] })
    await shop.email.delete('/subscribers', { email: 'deleted@b.example' })
    await shop.email.delete('/tags', { name: 'old' })
    expect((await shop.email.delete(`/lists/${gone}`)).status).toBe(200)
    await shop.email.put('/lead-score', { hotFrom: -5, coldTo: -10 })
    await merge()
    while (await runImport(w.platform, shop, id));
    expect(await imported(id)).toMatchObject({
      status: 'done',
      rows: count + 3,
      created: count,
      updated: 2,
      refused: 1,
    })
    expect(await subscriber('p7@b.example')).toMatchObject({
      email: 'P7@b.example',
      firstName: 'Import',
      lastName: 'Taken',
      tags: ['own'],
      lists: ['Kept'],
    })
    expect(await subscriber('known@b.example')).toMatchObject({ firstName: 'Before', tags: ['new'] })
    expect(await subscriber('deleted@b.example')).toMatchObject({ tags: ['old', 'new'], lists: ['Kept'] })
    expect(await total()).toBe(count + 2)
    expect(await total('?tags=old')).toBe(1)
    expect(await auditEmail(w.platform, shop.id)).toEqual([])
  })

test('cancelled between preparing and merging, or merged by another meanwhile, it does nothing', async () => {
  const csv = `email\n${numbers(3_000)
    .map(i => `p${i}@b.example\n`)
    .join('')}`
  const [cancelled, twice] = [await upload(csv), await upload(csv)]
  const first = await prepared(cancelled)
  await shop.email.post(`/subscribers/imports/${cancelled}/cancel`)
  await first.merge()
  expect([await total(), await imported(cancelled)]).toMatchObject([0, { status: 'cancelled', rows: 0 }])
  const both = [await prepared(twice), await prepared(twice)]
  await Promise.all(both.map(({ merge }) => merge()))
  expect(await imported(twice)).toMatchObject({ rows: 3_000, created: 3_000, updated: 0 })
  expect(await total()).toBe(3_000)
  expect(await auditEmail(w.platform, shop.id)).toEqual([])
})

test('an email that someone takes between preparing and merging is theirs, and the whole chunk is merged all the same', async () => {
  const id = await upload(
    `email,firstName\n${numbers(3_000)
      .map(i => `p${i}@b.example,Import\n`)
      .join('')}`,
  )
  const { merge } = await prepared(id)
  await shop.email.post('/subscribers', { email: 'P2999@b.example', lastName: 'Taken' })
  await merge()
  expect(await imported(id)).toMatchObject({ rows: 3_000, created: 2_999, updated: 1 })
  expect(await subscriber('p2999@b.example')).toMatchObject({ firstName: 'Import', lastName: 'Taken' })
  expect(await auditEmail(w.platform, shop.id)).toEqual([])
})

test('who comes again in the next chunk is updated there, and the later row wins', async () => {
  const rows = numbers(16_000).map(i => `P${i % 9_000}@b.example,Name${i},${i < 9_000 ? 'early' : 'late'}\n`)
  const id = await upload(`email,firstName,tags\n${rows.join('')}`)
  while (await runImport(w.platform, shop, id));
  expect(await imported(id)).toMatchObject({ status: 'done', rows: 16_000, created: 9_000, updated: 7_000 })
  expect(await subscriber('p10@b.example')).toMatchObject({ firstName: 'Name9010', tags: ['early', 'late'] })
  expect(await subscriber('p8000@b.example')).toMatchObject({ firstName: 'Name8000', tags: ['early'] })
  expect([await total('?tags=early'), await total('?tags=late')]).toEqual([9_000, 7_000])
  expect(await auditEmail(w.platform, shop.id)).toEqual([])
})

test('a chunk that fails while the next is ready leaves nothing, and is done again', async () => {
  const id = await upload(
    `email\n${numbers(12_000)
      .map(i => `p${i}@b.example\n`)
      .join('')}`,
  )
  await w.db`insert into email_fold (business_id, engaged_as_of) values (${shop.id}, now()) on conflict do nothing`
  await w.db.begin(async tx => {
    await tx`select 1 from email_fold where business_id = ${shop.id} for update`
    const run = expect(runImport(w.platform, shop, id)).rejects.toThrow()
    // The first chunk waits for the lock after its people are copied; its connection is cut there.
    await expect
      .poll(
        () => w.db`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%from email_fold%'`,
        { timeout: 20_000 },
      )
      .toHaveLength(1)
    await run
  })
  expect([await total(), await imported(id)]).toMatchObject([0, { status: 'queued', rows: 0 }])
  while (await runImport(w.platform, shop, id));
  expect(await imported(id)).toMatchObject({ status: 'done', rows: 12_000, created: 12_000, updated: 0 })
  expect(await total()).toBe(12_000)
  expect(await auditEmail(w.platform, shop.id)).toEqual([])
})

test('addresses that only the database lowers to the same are one person', async () => {
  const id = await upload('email,firstName\nÉA@b.example,One\néa@b.example,Two\nİx@b.example,Dot\nix@b.example,Plain\n')
  while (await runImport(w.platform, shop, id));
  const { created, updated } = await imported(id)
  expect([created + updated, await total()]).toEqual([4, created])
  expect(await subscriber(encodeURIComponent('éa@b.example'))).toMatchObject({
    email: 'éa@b.example',
    firstName: 'Two',
  })
})
