import { type Database, isPassing, isUniqueViolation } from '../../platform/database.ts'
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
const commitsAtOnce = 1

/**
 * A few commits at a time: what comes while they run goes into the next one, so that a busy engine writes many rows
 * with each. The database joins their flushes to disk. A database that is away is waited for.
 */
export function createResultLog(db: Database, log: Log): ResultLog {
  const insert = ({ businessId, shared, rows }: Alike) =>
    store.insertFinals(db, businessId, shared, rows).catch(error => {
      // Written before: by another worker that held the claim, or by a commit whose answer was lost.
      if (!isUniqueViolation(error)) throw error
      return store.insertMissingFinals(db, businessId, shared, rows)
    })
  return {
    final: inGroups(group => Promise.all(alike(group).map(insert)), log),
    deferred: inGroups(
      group =>
        db.begin(tx => Promise.all(group.map(({ businessId, row }) => store.upsertDeferral(tx, businessId, row)))),
      log,
    ),
  }
}

interface Alike {
  businessId: string
  shared: store.SharedResult
  rows: store.FinalRow[]
}

/** Results that differ in nothing but recipient and reply go into one statement: nearly always that is all of them. */
function alike(group: readonly Waiting<store.FinalRow>[]): Alike[] {
  const kinds: Alike[] = []
  for (const { businessId, row } of group) {
    const known = kinds.find(
      kind =>
        kind.businessId === businessId &&
        kind.shared.state === row.state &&
        kind.shared.class === row.class &&
        kind.shared.code === row.code &&
        kind.shared.serverId === row.serverId &&
        kind.shared.retried === row.retried,
    )
    if (known) {
      known.rows.push(row)
      // Those of one commit share the time of the last.
      known.shared = row
    } else kinds.push({ businessId, shared: row, rows: [row] })
  }
  return kinds
}

interface Waiting<T> {
  businessId: string
  row: T
  done(): void
  failed(error: unknown): void
}

function inGroups<T>(
  write: (group: readonly Waiting<T>[]) => Promise<unknown>,
  log: Log,
): (businessId: string, row: T) => Promise<void> {
  let waiting: Waiting<T>[] = []
  let writers = 0

  const commit = async (group: readonly Waiting<T>[]): Promise<void> => {
    for (let wait = 50; ; wait = Math.min(wait * 2, 1_000)) {
      try {
        await write(group)
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
      waiting.push({ businessId, row, done, failed })
      // Started after this turn of the loop, so that results of one read of the sockets share a commit.
      if (writers < commitsAtOnce && waiting.length === 1) {
        writers++
        setImmediate(() => void run())
      }
    })
}
