import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { answers, type DataFolder, findSecret, folderError, StartError } from './data-folder.ts'
import { openBinaries } from './embedded-binaries.ts'
import { openCluster, type Site, userName } from './embedded-cluster.ts'
import { findHomePath, openHome, passwordName, socketFolderOf } from './embedded-home.ts'
import {
  type Exit,
  findServerPid,
  type Running,
  runServer,
  serverError,
  stopOrphan,
  stopProcess,
} from './embedded-server.ts'

/** What postgres.js takes as options: `postgres({ ...connection, max: 10 })`. */
export interface EmbeddedConnection {
  /** The folder of the unix socket. */
  host: string
  port: number
  database: string
  username: string
  password: string
}

export interface EmbeddedPostgres {
  /** The same in one line, for the environment of child processes; postgres.js needs `connectionFromUrl` to read it. */
  url: string
  connection: EmbeddedConnection
  /** Ends the server and waits until it is gone. */
  stop(): Promise<void>
  /** Resolves when the server ends for whatever reason. */
  exited: Promise<Exit>
}

export interface EmbeddedOptions {
  onProgress?: (text: string) => void
  /** False only where data may be lost: tests. */
  durable?: boolean
  maxConnections?: number
}

const databaseName = 'pennypost'

/** Starts the private server of a data folder that the caller has claimed; at the first start it makes the cluster. */
export async function startEmbeddedPostgres(
  folder: DataFolder,
  options: EmbeddedOptions = {},
): Promise<EmbeddedPostgres> {
  const { onProgress = () => {}, durable = true, maxConnections = 100 } = options
  try {
    const home = await openHome(folder, onProgress)
    const binaries = await openBinaries(home, onProgress)
    const site = { folder, home, binaries, durable, onProgress }
    const connection = connectionTo(home.socketFolder, await openCluster(site))
    onProgress('Starting the database…')
    return supervise(await startServer(site, connection, maxConnections), connection)
  } catch (error) {
    throw folderError(error, folder.path)
  }
}

/** The connection of a server that another process has started for this data folder. */
export async function findEmbeddedPostgres(folder: DataFolder): Promise<EmbeddedConnection | undefined> {
  try {
    const homePath = await findHomePath(folder)
    const password = await findSecret(folder, passwordName)
    if (homePath === undefined || password === undefined) return undefined
    const connection = connectionTo(socketFolderOf(homePath), password)
    return (await probe(connection)) === 'ready' ? connection : undefined
  } catch (error) {
    throw folderError(error, folder.path)
  }
}

/**
 * postgres.js takes no socket in a URL, so it gets the parts; libpq and node-postgres read such a URL as it is.
 * Undefined for an ordinary URL, which postgres.js takes itself.
 */
export function connectionFromUrl(text: string): EmbeddedConnection | undefined {
  // A list of hosts is no URL to Node, but is one to postgres.js.
  const url = URL.parse(text)
  const host = url?.searchParams.get('host')
  if (!url || !host?.startsWith('/')) return undefined
  return {
    host,
    port: Number(url.port || 5432),
    database: decodeURIComponent(url.pathname.slice(1)),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  }
}

function connectionTo(socketFolder: string, password: string): EmbeddedConnection {
  return { host: socketFolder, port: 5432, database: databaseName, username: userName, password }
}

export function urlOf({ host, port, database, username, password }: EmbeddedConnection): string {
  return `postgres://${username}:${password}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
}

/** Processes of a server that was killed hold the cluster for a moment longer. */
const stillHeld = /pre-existing shared memory block|lock file ".*" already exists|is another postmaster/i
const heldTimeoutMs = 10_000

async function startServer(site: Site, connection: EmbeddedConnection, maxConnections: number): Promise<Running> {
  const { home, binaries, durable } = site
  const deadline = Date.now() + heldTimeoutMs
  for (;;) {
    const server = await runServer(binaries.postgres, home, { durable, maxConnections })
    try {
      if (await becomesReady(server, site, connection)) return server
    } catch (error) {
      await stopProcess(signal => server.child.kill(signal), server.exited)
      throw error
    }
    const exit = await server.exited
    if (!stillHeld.test(exit.log) || Date.now() > deadline) {
      throw serverError(`The database in ${home.cluster} could not start`, exit)
    }
    await delay(100)
    // A server started the moment before its program was killed had not written its lock file when we looked.
    await stopOrphan(home)
  }
}

const silentTimeoutMs = 60_000

/** False when the server ended before it was ready. Recovery may take minutes, so only silence has a limit. */
async function becomesReady(server: Running, site: Site, connection: EmbeddedConnection): Promise<boolean> {
  const { home, onProgress } = site
  const startedAt = Date.now()
  let lastSign = startedAt
  let isSlow = false
  while (!server.hasExited()) {
    // Until the lock file names our child, whoever answers on the socket is another.
    const state = (await findServerPid(home)) === server.pid ? await probe(connection) : 'absent'
    const now = Date.now()
    if (state === 'ready') return true
    if (state === 'no database') await createDatabase(connection)
    if (state !== 'absent') lastSign = now
    if (now - lastSign > silentTimeoutMs) {
      throw new StartError(`The database in ${home.cluster} started but does not answer on ${connection.host}.`)
    }
    if (state === 'starting' && !isSlow && now - startedAt > 2000) {
      isSlow = true
      onProgress('The database is recovering from an unclean stop…')
    }
    await Promise.race([delay(isSlow ? 100 : 10), server.exited])
  }
  return false
}

async function probe(connection: EmbeddedConnection): Promise<'ready' | 'starting' | 'no database' | 'absent'> {
  if (!(await answers(join(connection.host, `.s.PGSQL.${connection.port}`)))) return 'absent'
  const sql = postgres({ ...connection, max: 1, fetch_types: false, connect_timeout: 10 })
  try {
    await sql`select 1`
    return 'ready'
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === '57P03') return 'starting'
    if (code === '3D000') return 'no database'
    if (code === '28P01') throw new StartError('The database does not accept the password kept in the data folder.')
    if (code?.startsWith('E') || code?.startsWith('CONNECT')) return 'absent'
    throw new StartError(`The database refuses connections: ${message}.`)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function createDatabase(connection: EmbeddedConnection): Promise<void> {
  const sql = postgres({ ...connection, database: 'postgres', max: 1, fetch_types: false })
  try {
    await sql`create database ${sql(connection.database)}`
  } catch (error) {
    throw new StartError(`The database could not be created: ${(error as Error).message}.`)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function supervise(server: Running, connection: EmbeddedConnection): EmbeddedPostgres {
  const { child, exited } = server
  // A program that forgets stop() can still end.
  holdProgram(server, false)
  const stop = async () => {
    if (server.hasExited()) return
    holdProgram(server, true)
    await stopProcess(signal => child.kill(signal), exited)
  }
  return { url: urlOf(connection), connection, stop, exited }
}

/** Whether Node goes on running because of the child. */
function holdProgram({ child }: Running, isHeld: boolean): void {
  const pipes = [child.stdout, child.stderr] as unknown as { ref(): void; unref(): void }[]
  for (const each of [child, ...pipes]) isHeld ? each.ref() : each.unref()
}
