import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../test/world.ts'
import { type KeyedRequest, purgeIdempotencyKeys, runLocalOnce, runOutsideOnce } from './idempotency.ts'
import { outcomeUnknown, unprocessable } from './problem.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
  shop = await w.business()
})
afterAll(() => w.close())

const keyCount = async () => (await shop.account.get('/keys')).body.data.keys.length
const withKey = (key: string) => ({ 'idempotency-key': key })
const request = (key: string, body = 'one'): KeyedRequest => ({
  businessId: shop.id,
  method: 'POST',
  path: '/x',
  key,
  requestHash: Buffer.from(body),
})
const answer = { status: 200, contentType: 'application/json', body: '{"ok":true}' }

test('same key and body: the stored answer, byte for byte, and one effect', async () => {
  const before = await keyCount()
  const first = await shop.account.post('/keys', { service: 'email' }, withKey('once'))
  const second = await shop.account.post('/keys', { service: 'email' }, withKey('once'))
  expect(second.text).toBe(first.text)
  expect(second.status).toBe(first.status)
  expect(second.headers['content-type']).toBe(first.headers['content-type'])
  expect(await keyCount()).toBe(before + 1)
})

test('a key or secret that an answer shows once is not readable where the answer is kept', async () => {
  const { body } = await shop.account.post('/keys', { service: 'billing' }, withKey('secretive'))
  const kept = await w.db<{ body: string }[]>`select body from idempotency_key where key = 'secretive'`
  expect(kept).toHaveLength(1)
  for (const secret of [body.data.apiKey, body.data.secretKey]) {
    expect(secret).toMatch(/^pp[bs]_/)
    expect(kept[0]?.body).not.toContain(secret)
  }
})

test('same key, other body: 422; another path, method or business: another request', async () => {
  await shop.account.post('/keys', { service: 'email' }, withKey('reused'))
  expect((await shop.account.post('/keys', { service: 'chat' }, withKey('reused'))).body.code).toBe(
    'idempotency_key_reused',
  )
  expect((await shop.account.post('/businesses', { name: 'Second' }, withKey('reused'))).status).toBe(200)
  const other = await w.business()
  expect((await other.account.post('/keys', { service: 'chat' }, withKey('reused'))).status).toBe(200)
})

test('a slash at the end makes it no other request', async () => {
  const first = await shop.account.post('/keys', { service: 'email' }, withKey('slash'))
  const second = await shop.account.post('/keys/', { service: 'email' }, withKey('slash'))
  expect(second.text).toBe(first.text)
})

test('nothing is kept of a refused request, so that the corrected one may use the key', async () => {
  expect((await shop.account.post('/keys', { service: 'fax' }, withKey('corrected'))).status).toBe(400)
  expect((await shop.account.post('/keys', { service: 'email' }, withKey('corrected'))).status).toBe(200)
  expect((await shop.account.delete('/keys/missing', undefined, withKey('gone'))).status).toBe(404)
  expect(await w.db`select 1 from idempotency_key where key = 'gone'`).toHaveLength(0)
})

test('keys have 1 to 255 characters', async () => {
  expect((await shop.account.post('/keys', { service: 'email' }, withKey('k'.repeat(255)))).status).toBe(200)
  expect((await shop.account.post('/keys', { service: 'email' }, withKey('k'.repeat(256)))).status).toBe(400)
  expect((await shop.account.post('/keys', { service: 'email' }, withKey(''))).status).toBe(400)
})

test('while it runs, a repeat answers 409; of many at once exactly one acts', async () => {
  const before = await keyCount()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => shop.account.post('/keys', { service: 'email' }, withKey('crowd'))),
  )
  const done = answers.filter(one => one.status === 200)
  expect(answers.every(one => one.status === 200 || one.status === 409)).toBe(true)
  expect(new Set(done.map(one => one.text)).size).toBe(1)
  expect(await keyCount()).toBe(before + 1)
})

test('a request that died in the middle did nothing and is done by the repeat', async () => {
  await w.db`
    insert into idempotency_key (business_id, method, path, key, request_hash, state, running_until)
    values (${shop.id}, 'POST', '/x', 'died', ${Buffer.from('one')}, 'running', now())`
  expect(await runLocalOnce(w.db, request('died'), async () => answer)).toEqual(answer)
  expect(await runLocalOnce(w.db, request('died'), async () => expect.fail('acts twice'))).toEqual(answer)
})

test('act and stored answer are one transaction', async () => {
  const act = runLocalOnce(w.db, request('torn'), async db => {
    await db.begin(tx => tx`insert into installation (name, value) values ('torn', 'x')`)
    throw unprocessable('no', 'No.')
  })
  await expect(act).rejects.toMatchObject({ code: 'no' })
  expect(await w.db`select 1 from installation where name = 'torn'`).toHaveLength(0)
})

test('outside effects: an unknown outcome is answered again, not tried again; a known failure is tried again', async () => {
  const render = () => ({ ...answer, status: 504 })
  const unknown = () =>
    runOutsideOnce(w.db, request('unknown'), async () => Promise.reject(outcomeUnknown('u', 'Unknown.')), render)
  expect((await unknown()).status).toBe(504)
  expect((await runOutsideOnce(w.db, request('unknown'), async () => expect.fail('acts twice'), render)).status).toBe(
    504,
  )

  const refused = runOutsideOnce(
    w.db,
    request('refused'),
    async () => Promise.reject(unprocessable('no', 'No.')),
    render,
  )
  await expect(refused).rejects.toMatchObject({ code: 'no' })
  expect(await runOutsideOnce(w.db, request('refused', 'two'), async () => answer, render)).toEqual(answer)
})

test('outside effects: a lease keeps a repeat out until it is over', async () => {
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const first = runOutsideOnce(
    w.db,
    request('leased'),
    async () => held.then(() => answer),
    () => answer,
  )
  await expect.poll(() => w.db`select 1 from idempotency_key where key = 'leased'`.then(rows => rows.length)).toBe(1)
  await expect(
    runOutsideOnce(
      w.db,
      request('leased'),
      async () => answer,
      () => answer,
    ),
  ).rejects.toMatchObject({ status: 409 })
  release()
  expect(await first).toEqual(answer)
  await w.db`update idempotency_key set state = 'running', running_until = now() - interval '1 second' where key = 'leased'`
  expect(
    await runOutsideOnce(
      w.db,
      request('leased'),
      async () => ({ ...answer, body: 'recovered' }),
      () => answer,
    ),
  ).toMatchObject({ body: 'recovered' })
})

test('after a day the key is free again', async () => {
  await runLocalOnce(w.db, request('old'), async () => answer)
  await w.db`update idempotency_key set created_at = now() - interval '25 hours' where key = 'old'`
  expect(await runLocalOnce(w.db, request('old', 'two'), async () => ({ ...answer, body: 'new' }))).toMatchObject({
    body: 'new',
  })
  await w.db`update idempotency_key set created_at = now() - interval '25 hours' where key = 'old'`
  await purgeIdempotencyKeys(w.db)
  expect(await w.db`select 1 from idempotency_key where key = 'old'`).toHaveLength(0)
})
