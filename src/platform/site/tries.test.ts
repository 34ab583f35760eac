import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../../test/world.ts'
import { isTriedOut, type Limit, noteTry, purgeTries } from './tries.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const limit = (session: string, ip: string): Limit => ({
  kind: 'coupon',
  windowSeconds: 900,
  subjects: [
    { subject: `session ${session}`, most: 2 },
    { subject: `ip ${ip}`, most: 3 },
  ],
})

test('distinct tries count, for each of those who try', async () => {
  const { id } = await w.business()
  await noteTry(w.db, id, limit('a', '1.1.1.1'), 'X')
  await noteTry(w.db, id, limit('a', '1.1.1.1'), 'X')
  expect(await isTriedOut(w.db, id, limit('a', '1.1.1.1'))).toBe(false)
  await noteTry(w.db, id, limit('a', '1.1.1.1'), 'Y')
  expect(await isTriedOut(w.db, id, limit('a', '1.1.1.1'))).toBe(true)
  // A new session helps once; then the address is used up.
  expect(await isTriedOut(w.db, id, limit('b', '1.1.1.1'))).toBe(false)
  await noteTry(w.db, id, limit('b', '1.1.1.1'), 'Z')
  expect(await isTriedOut(w.db, id, limit('c', '1.1.1.1'))).toBe(true)
  expect(await isTriedOut(w.db, id, limit('c', '2.2.2.2'))).toBe(false)
  const other = await w.business()
  expect(await isTriedOut(w.db, other.id, limit('a', '1.1.1.1'))).toBe(false)
})

test('old tries are forgotten', async () => {
  const { id } = await w.business()
  for (const what of ['X', 'Y']) await noteTry(w.db, id, limit('a', '3.3.3.3'), what)
  await w.db`update page_try set at = now() - interval '901 seconds' where business_id = ${id}`
  expect(await isTriedOut(w.db, id, limit('a', '3.3.3.3'))).toBe(false)
  await w.db`update page_try set at = now() - interval '25 hours' where business_id = ${id}`
  await purgeTries(w.db)
  expect(await w.db`select 1 from page_try where business_id = ${id}`).toHaveLength(0)
})

test('neither what was tried nor by whom is kept', async () => {
  const { id } = await w.business()
  await noteTry(w.db, id, limit('secret-session', '9.9.9.9'), 'SECRETCODE')
  const rows = await w.db`select subject, what from page_try where business_id = ${id}`
  expect(JSON.stringify(rows)).not.toMatch(/secret|9\.9\.9/i)
})
