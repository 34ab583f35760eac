import { type Database, isPassing } from '../../platform/database.ts'
import { pause } from '../../platform/jobs.ts'
import type { Log } from '../../platform/log.ts'
import * as store from './store-work.ts'

/** Writes results as they come; each promise resolves when its row is committed. */
export interface ResultLog {
  final(businessId: string, row: store.FinalRow): Promise<void>
  deferred(businessId: string, row: store.DeferredRow): Promise<void>
}

const mostPerCommit = 1_000

/** More would only split the rows over more commits; fewer would let a result wait for a commit it is not part of. */
const commitsAtOnce = 3

/**
 * A few commits at a time: what comes while they run goes into the next one, so that a busy engine writes many rows
 * with each. The database joins their flushes to disk. A database that is away is waited for.
 */
export function createResultLog(db: Database, log: Log): ResultLog {
  return {
    final: inGroups(async rows => void (await store.insertFinals(db, rows)), log),
    deferred: inGroups(
      rows =>
        db.begin(async tx => void (await Promise.all(rows.map(row => store.upsertDeferral(tx, row.businessId, row))))),
      log,
    ),
  }
}

type Waiting<T> = { row: T; done(): void; failed(error: unknown): void }

function inGroups<T extends object>(
  write: (rows: (T & { businessId: string })[]) => Promise<unknown>,
  log: Log,
): (businessId: string, row: T) => Promise<void> {
  let waiting: Waiting<T & { businessId: string }>[] = []
  let writers = 0

  const commit = async (group: typeof waiting): Promise<void> => {
    for (let wait = 50; ; wait = Math.min(wait * 2, 1_000)) {
      try {
        await write(group.map(one => one.row))
        for (const one of group) one.done()
        return
      } catch (error) {
        if (isPassing(error)) await pause(wait)
        else if (group.length > 1) {
          // One row that the database refuses must not hold the others.
          for (const one of group) await commit([one])
          return
        } else {
          log.error({ err: error }, 'a delivery result could not be written')
          group[0]?.failed(error)
          return
        }
      }
    }
  }

  const run = async () => {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      for (let from = 0; from < group.length; from += mostPerCommit)
        await commit(group.slice(from, from + mostPerCommit))
    }
    writers--
  }

  return (businessId, row) =>
    new Promise<void>((done, failed) => {
      waiting.push({ row: { ...row, businessId }, done, failed })
      // Started after this turn of the loop, so that results of one read of the sockets share a commit.
      if (writers < commitsAtOnce && waiting.length === 1) {
        writers++
        setImmediate(() => void run())
      }
    })
}
