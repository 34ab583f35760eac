import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import { beginWithRetry, isPassing, isUniqueViolation, nested, only, sendAlong, type Tx } from './database.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

test('money stays exact, local dates stay text, instants are dates', async () => {
  const row = only(
    await w.db`select 9007199254740993::int8 as money, '2026-03-31'::date as day, '2026-03-31T22:00:00Z'::timestamptz as at`,
  )
  expect(row).toEqual({ money: 9007199254740993n, day: '2026-03-31', at: new Date('2026-03-31T22:00:00Z') })
})

test('a transaction inside a transaction is a savepoint', async () => {
  await w.db.begin(async tx => {
    const db = nested(tx)
    await db.begin(inner => inner`insert into installation (name, value) values ('kept', '1')`)
    await db
      .begin(async inner => {
        await inner`insert into installation (name, value) values ('undone', '1')`
        throw new Error('undo')
      })
      .catch(() => {})
    expect(await db`select name from installation where name in ('kept', 'undone')`).toEqual([{ name: 'kept' }])
    await db`insert into installation ${db([{ name: 'helper', value: '2' }])}`
  })
  expect(await w.db`select name from installation where name in ('kept', 'undone', 'helper') order by name`).toEqual([
    { name: 'helper' },
    { name: 'kept' },
  ])
})

test('a statement that takes too long is given up, and told as passing', async () => {
  const pool = w.platform.connect({ name: 'slow', max: 1, statementTimeoutMs: 50 })
  const error = await pool`select pg_sleep(5)`.catch(error => error)
  expect(isPassing(error)).toBe(true)
})

test('a connection that the database ends is opened again', async () => {
  const pool = w.platform.connect({ name: 'ended', max: 1 })
  const { pid } = only(await pool<{ pid: number }[]>`select pg_backend_pid() as pid`)
  await w.db`select pg_terminate_backend(${pid})`
  await expect
    .poll(() => pool<{ pid: number }[]>`select pg_backend_pid() as pid`.then(rows => rows[0]?.pid).catch(() => pid))
    .not.toBe(pid)
})

test('a lost deadlock is tried again', async () => {
  await w.db`insert into installation (name, value) values ('a', '0'), ('b', '0')`
  const both = (first: string, second: string) =>
    beginWithRetry(w.db, async tx => {
      await tx`update installation set value = (value::int + 1)::text where name = ${first}`
      await tx`select pg_sleep(0.1)`
      await tx`update installation set value = (value::int + 1)::text where name = ${second}`
    })
  await Promise.all([both('a', 'b'), both('b', 'a')])
  expect(await w.db`select value from installation where name in ('a', 'b')`).toEqual([{ value: '2' }, { value: '2' }])
})

test('a broken unique index is recognised by name', async () => {
  await w.db`insert into installation (name, value) values ('twice', '0')`
  const error = await w.db`insert into installation (name, value) values ('twice', '0')`.catch(error => error)
  expect(isUniqueViolation(error)).toBe(true)
  expect(isUniqueViolation(error, 'installation_pkey')).toBe(true)
  expect(isUniqueViolation(error, 'another')).toBe(false)
})

test('a transaction never shares its connection, however many statements wait before it', async () => {
  const pool = w.platform.connect({ name: 'crowded', max: 2 })
  await pool`create table crowd (number int)`
  const add = (number: number) => pool`insert into crowd values (${number})`.then(() => {})
  const sleep = (seconds: number) => pool`select pg_sleep(${seconds})`.then(() => {})
  // Both connections are open and know the statements, so that from here on everything is pipelined.
  await Promise.all([sleep(0.05), sleep(0.05), add(0), add(0), sleep(0.05), sleep(0.05), add(0), add(0)])
  for (let before = 196; before <= 204; before++) {
    const waiting = [sleep(0.05), sleep(0.05), ...Array.from({ length: before }, (_, number) => add(number))]
    const begun = Array.from({ length: 4 }, () => pool.begin(tx => tx`insert into crowd values (-1)`.then(() => {})))
    await Promise.all([...waiting, ...begun])
  }
  expect(only(await w.db<{ count: number }[]>`select count(*)::int as count from crowd where number = -1`).count).toBe(
    36,
  )
  const open = await w.db`
    select 1 from pg_stat_activity where application_name = 'pennypost crowded' and state = 'idle in transaction'`
  expect(open).toHaveLength(0)
})

test('a statement sent along with COMMIT fails the transaction as an awaited one does', async () => {
  const add = (tx: Tx, name: string) => sendAlong(tx, tx`insert into installation (name, value) values (${name}, '0')`)
  await w.db.begin(tx => add(tx, 'along'))
  const twice = w.db.begin(async tx => {
    await tx`insert into installation (name, value) values ('before along', '0')`
    await add(tx, 'along')
    return 'committed'
  })
  await expect(twice).rejects.toMatchObject({ code: '23505' })
  const twiceWithMore = w.db.begin(async tx => {
    await add(tx, 'along')
    await tx`insert into installation (name, value) values ('after along', '0')`
  })
  await expect(twiceWithMore).rejects.toMatchObject({ code: '23505' })
  expect(await w.db`select name from installation where name like '%along' order by name`).toEqual([{ name: 'along' }])
})

test('one sent along within a savepoint is undone with it alone', async () => {
  const add = (tx: Tx, name: string) => sendAlong(tx, tx`insert into installation (name, value) values (${name}, '0')`)
  await w.db.begin(async tx => {
    await add(tx, 'kept inside')
    const undone = nested(tx).begin(async inner => {
      await add(inner, 'undone inside')
      await add(inner, 'kept inside')
    })
    await expect(undone).rejects.toMatchObject({ code: '23505' })
    await nested(tx).begin(inner => add(inner, 'other inside'))
  })
  expect(await w.db`select name from installation where name like '% inside' order by name`).toEqual([
    { name: 'kept inside' },
    { name: 'other inside' },
  ])
})
