import { PgBoss } from 'pg-boss'
import type { Db } from './database.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/** A kind of job. Defined once, beside the rule it serves; enqueued by reference, so that name and data always fit. */
export interface Queue<T extends object> {
  readonly name: string
  readonly retryLimit: number
  readonly retryDelaySeconds: number
  readonly retryDelayMaxSeconds: number
  /** a job that runs longer is taken for dead and tried again */
  readonly expireInSeconds: number
  /** carries the type of the data; never has a value */
  readonly data?: T
}

export const queue = <T extends object>(
  name: string,
  options: Partial<Omit<Queue<T>, 'name' | 'data'>> = {},
): Queue<T> => ({
  name,
  retryLimit: 10,
  retryDelaySeconds: 2,
  retryDelayMaxSeconds: 600,
  expireInSeconds: 900,
  ...options,
})

export interface EnqueueOptions {
  startAfter?: Date | number
  /** while a job with this key waits, another is not added */
  singletonKey?: string
  priority?: number
}

/** What a job gets: its data, and a signal that says the program wants to stop. Must bear being run twice. */
export type JobHandler<T extends object> = (
  data: T,
  job: { id: string; signal: AbortSignal; log: Log },
) => Promise<void>

/** Which job is done by which function; a line of the worker's page. */
export interface Work {
  // biome-ignore lint/suspicious/noExplicitAny: a page lists jobs of many data types; `does` checks each pair.
  queue: Queue<any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  run: JobHandler<any>
  concurrency: number
  /** a schedule, in cron form (UTC), that enqueues it with empty data */
  cron: string | undefined
}

export const does = <T extends object>(
  queue: Queue<T>,
  run: JobHandler<T>,
  options: { concurrency?: number; cron?: string } = {},
): Work => ({
  queue,
  run,
  concurrency: options.concurrency ?? 2,
  cron: options.cron,
})

/** Work that goes on by itself beside the queues, claiming rows of its own tables in batches; ends when the signal says so. */
export interface Loop {
  name: string
  run(signal: AbortSignal): Promise<void>
}

export interface Jobs {
  /** Makes the queues known to the database; before that nothing can be enqueued. */
  prepare(work: readonly Work[]): Promise<void>
  /** Adds a job in the caller's transaction, so that it exists exactly when the change that needs it is committed. */
  enqueue<T extends object>(db: Db, queue: Queue<T>, data: T, options?: EnqueueOptions): Promise<void>
  enqueueMany<T extends object>(db: Db, queue: Queue<T>, data: T[]): Promise<void>
  /** Starts to work; returns after the workers listen. */
  start(work: readonly Work[], loops: readonly Loop[]): Promise<void>
  /** Does everything that is due now and returns when nothing is left: for tests and for moving a test clock. */
  drain(work: readonly Work[]): Promise<number>
  /** Jobs that used up their tries. */
  deadLetters(limit?: number): Promise<DeadLetter[]>
  /** Puts dead letters back into their queues; answers how many. */
  retryDeadLetters(ids?: string[]): Promise<number>
  /** Lets running jobs finish (up to the time given), then stops. */
  stop(timeoutMs?: number): Promise<void>
}

export interface DeadLetter {
  id: string
  queue: string
  data: object
  error: string
  failedAt: Date
}

const deadLetterQueue = 'dead_letter'

export async function createJobs(url: string, context: { log: Log; metrics: Metrics; worker: boolean }): Promise<Jobs> {
  const { log, metrics, worker } = context
  const boss = new PgBoss({
    connectionString: url,
    application_name: 'pennypost jobs',
    schema: 'jobs',
    max: 4,
    useListenNotify: worker,
    supervise: worker,
    schedule: worker,
    persistWarnings: false,
  })
  boss.on('error', error => log.warn({ err: error }, 'job engine'))
  await boss.start()

  const stopping = new AbortController()
  let loopsDone: Promise<unknown> = Promise.resolve()

  const runOne = async (work: Work, job: { id: string; data: object; signal?: AbortSignal }) => {
    const end = metrics.jobSeconds.startTimer({ queue: work.queue.name })
    try {
      await work.run(job.data, {
        id: job.id,
        signal: job.signal ? AbortSignal.any([job.signal, stopping.signal]) : stopping.signal,
        log: log.child({ job: job.id, queue: work.queue.name }),
      })
      metrics.jobs.inc({ queue: work.queue.name, outcome: 'done' })
    } catch (error) {
      metrics.jobs.inc({ queue: work.queue.name, outcome: 'failed' })
      log.warn({ err: error, job: job.id, queue: work.queue.name }, 'job failed; it will be tried again')
      throw error
    } finally {
      end()
    }
  }

  return {
    prepare: work =>
      createQueues(
        boss,
        work.map(one => one.queue),
      ),
    enqueue: async (db, queue, data, options = {}) => {
      await boss.send(queue.name, data, { ...sendOptions(options), db: inTransaction(db) })
    },
    enqueueMany: async (db, queue, data) => {
      if (data.length > 0)
        await boss.insert(
          queue.name,
          data.map(item => ({ data: item })),
          { db: inTransaction(db) },
        )
    },
    async start(works, loops) {
      for (const work of works) {
        const options = { localConcurrency: work.concurrency, batchSize: 1, pollingIntervalSeconds: 2 }
        await boss.work<object>(work.queue.name, options, async jobs => {
          for (const job of jobs) await runOne(work, job)
        })
        if (work.cron) await boss.schedule(work.queue.name, work.cron, {}, { missed: 'once' })
      }
      loopsDone = Promise.all(loops.map(loop => keepRunning(loop, stopping.signal, log)))
    },
    async drain(works) {
      for (let done = 0; ; ) {
        const before = done
        for (const work of works) done += await drainQueue(boss, work, runOne)
        if (done === before) return done
      }
    },
    async deadLetters(limit = 100) {
      const rows = await boss.findJobs<object>(deadLetterQueue, { queued: true })
      return rows.slice(0, limit).map(row => ({
        id: row.id,
        queue: row.sourceName ?? '',
        data: row.data ?? {},
        error: messageOf(row.output),
        failedAt: row.createdOn,
      }))
    },
    retryDeadLetters: ids => boss.redrive(deadLetterQueue, ids ? { ids } : {}),
    async stop(timeoutMs = 20_000) {
      stopping.abort()
      await boss.stop({ graceful: true, timeout: timeoutMs, close: true })
      await loopsDone
    },
  }
}

async function createQueues(boss: PgBoss, queues: readonly Queue<object>[]): Promise<void> {
  const known = new Set((await boss.getQueues()).map(found => found.name))
  if (!known.has(deadLetterQueue)) await boss.createQueue(deadLetterQueue, { retentionSeconds: 90 * 86_400 })
  for (const wanted of queues) {
    const options = {
      retryLimit: wanted.retryLimit,
      retryDelay: wanted.retryDelaySeconds,
      retryBackoff: true,
      retryDelayMax: wanted.retryDelayMaxSeconds,
      expireInSeconds: wanted.expireInSeconds,
      deadLetter: deadLetterQueue,
      deleteAfterSeconds: 86_400,
      notify: true,
    }
    if (known.has(wanted.name)) await boss.updateQueue(wanted.name, options)
    else await boss.createQueue(wanted.name, options)
  }
}

async function drainQueue(
  boss: PgBoss,
  work: Work,
  runOne: (work: Work, job: { id: string; data: object }) => Promise<void>,
): Promise<number> {
  let done = 0
  for (;;) {
    const jobs = await boss.fetch<object>(work.queue.name, { batchSize: 50 })
    if (jobs.length === 0) return done
    for (const job of jobs) {
      try {
        await runOne(work, job)
        await boss.complete(work.queue.name, job.id)
      } catch (error) {
        await boss.fail(work.queue.name, job.id, { message: messageOf(error) })
      }
      done++
    }
  }
}

/** A loop that fails is logged and begins again after a pause; it is never silently gone. */
async function keepRunning(loop: Loop, signal: AbortSignal, log: Log): Promise<void> {
  while (!signal.aborted) {
    try {
      await loop.run(signal)
    } catch (error) {
      if (!signal.aborted) log.error({ err: error, loop: loop.name }, 'loop failed; it begins again')
    }
    if (!signal.aborted) await pause(1_000, signal)
  }
}

/** Waits, or less when the signal comes. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}

const sendOptions = ({ startAfter, singletonKey, priority }: EnqueueOptions) => ({
  ...(startAfter !== undefined && { startAfter }),
  ...(singletonKey !== undefined && { singletonKey }),
  ...(priority !== undefined && { priority }),
})

/** Lets the job engine run its statement on our connection. Its values are text that the statement casts itself. */
const inTransaction = (db: Db) => ({
  async executeSql(text: string, values: unknown[] = []) {
    const parameters = values.map(value =>
      value === null || value === undefined ? null : db.typed(asText(value) as never, 25),
    )
    const rows = await db.unsafe(text, parameters as never)
    return { rows: [...rows] }
  },
})

const asText = (value: unknown) =>
  value instanceof Date ? value.toISOString() : typeof value === 'object' ? JSON.stringify(value) : String(value)

const messageOf = (error: unknown): string =>
  error instanceof Error
    ? error.message
    : typeof error === 'object' && error !== null && 'message' in error
      ? String(error.message)
      : JSON.stringify(error)
