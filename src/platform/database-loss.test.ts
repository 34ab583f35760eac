import { test as base, expect, inject } from 'vitest'
import { connect, isPassing, nested, type Pool, sendAlong, type Tx } from './database.ts'

const test = base.extend<{ db: Pool; killer: Pool }>({
  // biome-ignore lint/correctness/noEmptyPattern: fixtures are declared so
  db: async ({}, use) => {
    const db = connect(inject('databaseUrl'), { name: 'test', max: 2 })
    await use(db)
    await db.end({ timeout: 1 })
  },
  // biome-ignore lint/correctness/noEmptyPattern: as above
  killer: async ({}, use) => {
    const db = connect(inject('databaseUrl'), { name: 'killer', max: 1 })
    await use(db)
    await db.end({ timeout: 1 })
  },
})

const pidOf = async (tx: Tx) => Number((await tx<{ pid: number }[]>`select pg_backend_pid()::int as pid`)[0]?.pid)
const moment = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const passing = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => expect.fail('It did not fail'),
    error => error,
  )
  expect([error.code, isPassing(error)]).toEqual([error.code, true])
}

// What these would do without care is end the process: the run then reports an uncaught error.
const losses: Record<string, (tx: Tx, kill: () => Promise<unknown>) => Promise<unknown>> = {
  'in the middle of a statement': async (tx, kill) => {
    setTimeout(kill, 50)
    await tx`select pg_sleep(5)`
  },
  'between two statements': async (tx, kill) => {
    await kill()
    await moment(100)
    await tx`select 1`
  },
  'before the end': async (_, kill) => {
    await kill()
    await moment(100)
  },
  'before the code inside fails by itself': async (_, kill) => {
    await kill()
    await moment(100)
    throw new Error('a failure of its own')
  },
  'in a savepoint': (tx, kill) =>
    nested(tx).begin(async inner => {
      await kill()
      await moment(100)
      await inner`select 1`
    }),
  'in the middle of a statement of a savepoint': (tx, kill) =>
    tx.savepoint(async inner => {
      setTimeout(kill, 50)
      await inner`select pg_sleep(5)`
    }),
  'before a savepoint begins': async (tx, kill) => {
    await kill()
    await moment(100)
    await nested(tx).begin(inner => inner`select 1`.then(() => {}))
  },
  'before a statement that nobody waits for': async (tx, kill) => {
    await kill()
    await moment(100)
    await sendAlong(tx, tx`select 1`)
  },
  'before raw text': async (tx, kill) => {
    await kill()
    await moment(100)
    await tx.unsafe('select 1')
  },
}

test.for(Object.keys(losses))(
  'a transaction whose connection is lost %s fails, and the pool goes on',
  async (name, { db, killer }) => {
    for (let round = 0; round < 3; round++)
      await passing(
        db.begin(async tx => {
          const pid = await pidOf(tx)
          return losses[name]!(tx, () => killer`select pg_terminate_backend(${pid})`.execute())
        }),
      )
    await moment(20)
    expect((await db<{ one: number }[]>`select 1 as one`)[0]?.one).toBe(1)
  },
)

test('a transaction answers what its code answers, and its failure undoes everything', async ({ db }) => {
  const table = `database_test_${process.pid}`
  await db.unsafe(`create table ${table} (n int)`)
  const insert = (tx: Tx, n: number) => tx`insert into ${tx(table)} ${tx([{ n }])}`
  expect(
    await db.begin(async tx => {
      await insert(tx, 1)
      await tx.savepoint(inner => insert(inner, 2))
      await tx
        .savepoint(async inner => {
          await insert(inner, 3)
          throw new Error('undone')
        })
        .catch(() => {})
      return 'done'
    }),
  ).toBe('done')
  await expect(
    db.begin(async tx => {
      await insert(tx, 4)
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  await db.begin(tx => [insert(tx, 5), insert(tx, 6)])
  expect((await db<{ n: number }[]>`select n from ${db(table)} order by n`).map(row => row.n)).toEqual([1, 2, 5, 6])
  await db.unsafe(`drop table ${table}`)
})
