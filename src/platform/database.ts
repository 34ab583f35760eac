import postgres from 'postgres'
import { connectionFromUrl } from './embedded-postgres.ts'

/** int8 is read as bigint (money must be exact; cast counts to int in SQL), date as the text YYYY-MM-DD (a local date has no instant). */
const types = {
  bigint: {
    to: 20,
    from: [20],
    serialize: (x: bigint | number | string) => String(x),
    parse: (x: string) => BigInt(x),
  },
  localDate: { to: 1082, from: [1082], serialize: (x: unknown) => String(x), parse: (x: string) => x },
}
export type Types = { bigint: bigint; localDate: string }

/** May run statements, in or outside a transaction. */
export type Db = postgres.ISql<Types>
/** A transaction that the caller opened. */
export type Tx = postgres.TransactionSql<Types>
/** May open a transaction: `db.begin(async tx => …)`. Rules that change more than one row ask for this. */
export type Database = Db & { begin<T>(run: (tx: Tx) => Promise<T>): Promise<T> }
/** A pool of connections, owned by who opened it. */
export type Pool = postgres.Sql<Types>

export interface ConnectOptions {
  name: string
  max: number
  statementTimeoutMs?: number
  /** seconds a connection lives; 0 keeps it, for a session that holds an advisory lock */
  maxLifetimeSeconds?: number | null
  /** further settings of its sessions, such as how the server plans their statements */
  settings?: Record<string, string>
  onNotice?: (message: string) => void
}

/**
 * Transactions have connections of their own. The driver pipelines statements onto busy connections, BEGIN too; where
 * such a connection has much to write, BEGIN runs but the connection is not reserved, and strangers' statements then
 * run inside a transaction that nobody commits. A connection that only ever serves transactions is idle when BEGIN comes.
 */
export function connect(url: string, options: ConnectOptions): Pool {
  const settings: postgres.Options<typeof types> = {
    types,
    max: options.max,
    idle_timeout: 60,
    max_lifetime: options.maxLifetimeSeconds === undefined ? 45 * 60 : options.maxLifetimeSeconds,
    connect_timeout: 10,
    // After a database restart the first try comes at once, so that readiness follows the database within a second.
    backoff: attempt => Math.min(1, 0.05 * 2 ** attempt),
    connection: {
      application_name: `pennypost ${options.name}`,
      statement_timeout: options.statementTimeoutMs ?? 30_000,
      idle_in_transaction_session_timeout: 60_000,
      TimeZone: 'UTC',
      // To start a parallel worker takes longer than a request may: one core each, and as many requests as cores at a time.
      max_parallel_workers_per_gather: '0',
      ...options.settings,
    },
    onnotice: notice => options.onNotice?.(String(notice.message)),
  }
  const socket = connectionFromUrl(url)
  const open = (max: number) =>
    socket ? postgres({ ...settings, ...socket, max }) : postgres(url, { ...settings, max })
  const transactions = open(options.max)
  const begin = survivingBegin(transactions.begin.bind(transactions) as Begin) as Pool['begin']
  if (options.max === 1) return Object.assign(transactions, { begin })
  const statements = open(Math.max(2, Math.ceil(options.max / 2)))
  const end = statements.end.bind(statements)
  return Object.assign(statements, {
    begin,
    end: async (how?: { timeout?: number }) => {
      await Promise.all([end(how), transactions.end(how)])
    },
  })
}

type Begin = <T>(run: (tx: Tx) => T | Promise<T>) => Promise<T>

/**
 * The driver rejects a transaction at once when its connection is lost, but the code inside goes on, and its next
 * statement (or the driver's own rollback after it) is written to a socket that is gone: an error nobody can catch, which
 * ends the process. So code inside a lost transaction is left where it stands: its caller has already been told.
 */
function survivingBegin(begin: Begin): Begin {
  return async run => {
    let lost = false
    const sentAlong: Promise<unknown>[] = []
    const standStill = new Promise<never>(() => {})
    const settle = async <T>(running: T | Promise<T>): Promise<T> => {
      try {
        const result = Array.isArray(running) ? ((await Promise.all(running)) as T) : await running
        return lost ? await standStill : result
      } catch (error) {
        // The failed statement and the lost connection are one event, told one after the other.
        await new Promise(resolve => setImmediate(resolve))
        if (lost) await standStill
        throw error
      }
    }
    const guard = (tx: Tx, along: Promise<unknown>[]): Tx =>
      new Proxy(tx, {
        apply: (target, self, given) => (lost ? standStill : Reflect.apply(target as never, self, given)),
        get(target, name) {
          if (name === alongKey) return along
          if (lost && (name === 'unsafe' || name === 'savepoint')) return () => standStill
          if (name === 'savepoint')
            return (...given: [...unknown[], (inner: Tx) => unknown]) =>
              (target.savepoint as (...all: unknown[]) => unknown)(...given.slice(0, -1), async (inner: Tx) => {
                const innerAlong: Promise<unknown>[] = []
                const result = await settle((given.at(-1) as (inner: Tx) => unknown)(guard(inner, innerAlong)))
                // What fails within a savepoint must be known before it ends: only then is it undone alone.
                await Promise.all(innerAlong)
                return result
              })
          return Reflect.get(target, name)
        },
      })
    try {
      const result = (await begin(tx => settle(run(guard(tx, sentAlong))))) as Awaited<ReturnType<typeof run>>
      // Where one of them failed, COMMIT was a rollback without an error of its own.
      await Promise.all(sentAlong)
      return result
    } catch (error) {
      lost = true
      throw error
    }
  }
}

const alongKey = Symbol('sent along')

/** Written, not sent yet. */
export interface Statement extends PromiseLike<unknown> {
  execute(): Promise<unknown>
}
/** A part of another statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>

/**
 * For statements whose answers nobody needs: they are sent in this order without waiting, and travel with those after them, at best
 * with COMMIT. They fail the transaction as awaited ones do: `begin` answers only when all of them are known to have worked.
 */
export async function sendAlong(tx: Tx, ...statements: readonly Statement[]): Promise<void> {
  const along = (tx as unknown as { [alongKey]?: Promise<unknown>[] })[alongKey]
  for (const statement of statements)
    if (along) along.push(statement.execute())
    else await statement
}

export const first = <T>(rows: readonly T[]): T | undefined => rows[0]

/** For statements that always answer one row, such as an insert … returning. */
export function only<T>(rows: readonly T[]): T {
  const row = rows[0]
  if (row === undefined) throw new Error('The database answered no row where one was promised.')
  return row
}

/** The same handle, but `begin` opens a savepoint: lets a whole request run inside one transaction. */
export function nested(tx: Tx): Database {
  const begin = <T>(run: (tx: Tx) => Promise<T>) => tx.savepoint(run) as Promise<T>
  return new Proxy(tx, {
    get: (target, name) => (name === 'begin' ? begin : Reflect.get(target, name)),
  }) as unknown as Database
}

const passing = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '55P03',
  '40001',
  '40P01',
  '57014',
  // the disk is full; PostgreSQL rolls back and goes on
  '53100',
  '58030',
])

/** The database is away, busy or gave up on the statement: nothing was done, the same request may be sent again. */
export function isPassing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && passing.has(String(error.code))
}

export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  error instanceof postgres.PostgresError &&
  error.code === '23505' &&
  (!constraint || error.constraint_name === constraint)

/** Something that this belongs to was deleted meanwhile. */
export const isOrphan = (error: unknown, constraint: string): boolean =>
  error instanceof postgres.PostgresError && error.code === '23503' && error.constraint_name === constraint

/** A deadlock or a serialisation race; the loser did nothing. */
export const isLostRace = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && (error.code === '40001' || error.code === '40P01')

/** Runs the transaction again when it lost a deadlock or a serialisation race. */
export const beginWithRetry = <T>(db: Database, run: (tx: Tx) => Promise<T>, tries = 5): Promise<T> =>
  retryLostRace(() => db.begin(run) as Promise<T>, tries)

/** The same for a statement on its own. */
export async function retryLostRace<T>(run: () => Promise<T>, tries = 5): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isLostRace(error) || attempt >= tries) throw error
    }
  }
}
