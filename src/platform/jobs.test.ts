import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import { createJobs, does, queue } from './jobs.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

test('a job exists exactly when its transaction is committed', async () => {
  const greet = queue<{ name: string }>('test_greet')
  const seen: string[] = []
  const work = [does(greet, async ({ name }) => void seen.push(name))]
  await w.platform.jobs.prepare(work)
  await w.db.begin(tx => w.platform.jobs.enqueue(tx, greet, { name: 'committed "quoted" ünïcode' }))
  await w.db
    .begin(async tx => {
      await w.platform.jobs.enqueue(tx, greet, { name: 'rolled back' })
      throw new Error('no')
    })
    .catch(() => {})
  await w.platform.jobs.enqueueMany(w.db, greet, [{ name: 'a' }, { name: 'b' }])
  expect(await w.platform.jobs.drain(work)).toBe(3)
  expect(seen.sort()).toEqual(['a', 'b', 'committed "quoted" ünïcode'])
})

test('a job that keeps failing becomes a dead letter that can be looked at and put back', async () => {
  const fragile = queue<{ id: number }>('test_fragile', { retryLimit: 1, retryDelaySeconds: 0 })
  let broken = true
  let done = 0
  const work = [
    does(fragile, async () => {
      if (broken) throw new Error('still broken')
      done++
    }),
  ]
  await w.platform.jobs.prepare(work)
  await w.platform.jobs.enqueue(w.db, fragile, { id: 7 })
  await expect
    .poll(
      async () => {
        await w.platform.jobs.drain(work)
        return (await w.platform.jobs.deadLetters()).length
      },
      { timeout: 10_000, interval: 100 },
    )
    .toBe(1)
  const [letter] = await w.platform.jobs.deadLetters()
  expect(letter).toMatchObject({ queue: 'test_fragile', data: { id: 7 } })
  broken = false
  expect(await w.platform.jobs.retryDeadLetters()).toBe(1)
  await w.platform.jobs.drain(work)
  expect(done).toBe(1)
})

test('stopping lets a running job finish, ends loops, and leaves waiting jobs for later', async () => {
  const slow = queue<{ n: number }>('test_slow')
  const finished: number[] = []
  let started = () => {}
  const firstStarted = new Promise<void>(resolve => {
    started = resolve
  })
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const work = [
    does(
      slow,
      async ({ n }) => {
        started()
        await held
        finished.push(n)
      },
      { concurrency: 1 },
    ),
  ]
  const jobs = await createJobs(w.databaseUrl, { log: createLog('silent'), metrics: createMetrics(), worker: true })
  await jobs.prepare(work)
  let loopEnded = false
  const loop = {
    name: 'until told',
    run: async (signal: AbortSignal) => {
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      loopEnded = true
    },
  }
  await jobs.start(work, [loop])
  await jobs.enqueueMany(w.db, slow, [{ n: 1 }])
  await firstStarted
  const stopped = jobs.stop()
  await w.platform.jobs.enqueueMany(w.db, slow, [{ n: 2 }])
  release()
  await stopped
  expect(finished).toHaveLength(1)
  expect(loopEnded).toBe(true)
  await w.platform.jobs.drain(work)
  expect(finished.sort()).toEqual([1, 2])
})
