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

/**
 * One commit at a time: what comes while it runs goes into the next one, so that a result waits about two commits at
 * most and a busy engine writes a hundred rows with each. A database that is away is waited for.
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
  const waiting: Waiting<T & { businessId: string }>[] = []
  let writing = false

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
    writing = true
    while (waiting.length > 0) {
      const group = waiting.splice(0, mostPerCommit)
      await commit(group)
    }
    writing = false
  }

  return (businessId, row) =>
    new Promise<void>((done, failed) => {
      waiting.push({ row: { ...row, businessId }, done, failed })
      // Started after this turn of the loop, so that results of one read of the sockets share a commit.
      if (!writing) {
        writing = true
        setImmediate(() => void run())
      }
    })
}
