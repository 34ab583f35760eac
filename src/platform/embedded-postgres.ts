import { randomBytes } from 'node:crypto'
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import {
  answers,
  type DataFolder,
  findSecret,
  folderError,
  ignoreMissing,
  keepSecret,
  StartError,
  syncFolder,
} from './data-folder.ts'
import { type Binaries, openBinaries } from './embedded-binaries.ts'
import {
  exists,
  findHomePath,
  type Home,
  openHome,
  passwordName,
  pointToHome,
  socketFolderOf,
} from './embedded-home.ts'
import {
  type Exit,
  findServerPid,
  type Running,
  run,
  runServer,
  type ServerSettings,
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
const userName = 'pennypost'

/** Starts the private server of a data folder that the caller has claimed; at the first start it makes the cluster. */
export async function startEmbeddedPostgres(
  folder: DataFolder,
  options: EmbeddedOptions = {},
): Promise<EmbeddedPostgres> {
  const onProgress = options.onProgress ?? (() => {})
  const settings = { durable: options.durable ?? true, maxConnections: options.maxConnections ?? 100 }
  try {
    const home = await openHome(folder, onProgress)
    const binaries = await openBinaries(home, onProgress)
    const connection = await openCluster({ folder, home, binaries, settings, onProgress })
    onProgress('Starting the database…')
    const server = await startServer({ home, binaries, settings, connection, onProgress })
    return supervise(server, connection)
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
  const url = new URL(text)
  const host = url.searchParams.get('host')
  if (!host?.startsWith('/')) return undefined
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

function urlOf({ host, port, database, username, password }: EmbeddedConnection): string {
  return `postgres://${username}:${password}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
}

interface Place {
  home: Home
  binaries: Binaries
  settings: ServerSettings
  onProgress: (text: string) => void
}

async function openCluster(place: Place & { folder: DataFolder }): Promise<EmbeddedConnection> {
  const { folder, home, binaries } = place
  if (await exists(home.cluster)) {
    await checkVersion(home, binaries)
    await stopOrphan(home)
    if ((await findSecret(folder, passwordName)) === undefined) {
      throw new StartError(
        `The password of the database is missing: restore ${join(folder.path, passwordName)} from a backup.`,
      )
    }
  } else {
    place.onProgress('Creating the database…')
    await createCluster(place, await keepSecret(folder, passwordName))
  }
  await pointToHome(folder, home)
  return connectionTo(home.socketFolder, await keepSecret(folder, passwordName))
}

async function checkVersion(home: Home, binaries: Binaries): Promise<void> {
  const found = (await readFile(join(home.cluster, 'PG_VERSION'), 'utf8').catch(ignoreMissing))?.trim()
  if (found === binaries.major) return
  throw new StartError(
    found === undefined
      ? `The folder ${home.cluster} is not a PostgreSQL database: it has no file PG_VERSION.`
      : `The database in ${home.cluster} was made by PostgreSQL ${found}, but this program brings PostgreSQL ${binaries.major}: use the version of Pennypost that made it, or set DATABASE_URL.`,
  )
}

/** Made under another name and renamed when complete, so that a program killed meanwhile leaves no half cluster. */
async function createCluster({ home, binaries, settings }: Place, password: string): Promise<void> {
  const draft = `${home.cluster}.new`
  const passwordFile = join(home.socketFolder, `initdb-${randomBytes(6).toString('hex')}`)
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    if (home.user.switch) {
      for (const path of [draft, passwordFile]) await chown(path, home.user.uid, home.user.gid)
    }
    const args = ['-D', draft, '-U', userName, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8']
    args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8')
    if (!settings.durable) args.push('--no-sync')
    const exit = await run(binaries.initdb, args, home.user).exited
    if (exit.code !== 0) throw serverError(`The database in ${home.path} could not be created`, exit)
    await rename(draft, home.cluster)
    if (settings.durable) await syncFolder(home.path)
  } finally {
    await rm(passwordFile, { force: true })
    await rm(draft, { recursive: true, force: true })
  }
}

/** Processes of a server that was killed hold the cluster for a moment longer. */
const stillHeld = /pre-existing shared memory block|lock file ".*" already exists|is another postmaster/i
const heldTimeoutMs = 10_000

async function startServer(place: Place & { connection: EmbeddedConnection }): Promise<Running> {
  const { home, binaries, settings } = place
  const deadline = Date.now() + heldTimeoutMs
  for (;;) {
    const server = await runServer(binaries.postgres, home, settings)
    try {
      if (await becomesReady(server, place)) return server
    } catch (error) {
      await stopProcess(signal => server.child.kill(signal), server.exited)
      throw error
    }
    const exit = await server.exited
    if (!stillHeld.test(exit.log) || Date.now() > deadline) {
      throw serverError(`The database in ${home.cluster} could not start`, exit)
    }
    await delay(100)
  }
}

const silentTimeoutMs = 60_000

/** False when the server ended before it was ready. Recovery may take minutes, so only silence has a limit. */
async function becomesReady(server: Running, place: Place & { connection: EmbeddedConnection }): Promise<boolean> {
  const { home, connection, onProgress } = place
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
    if (!isSlow && now - startedAt > 2000) {
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

/** One sentence with the line of the log that says why. */
function serverError(what: string, { code, signal, log }: Exit): StartError {
  if (/no space left on device|disk quota exceeded/i.test(log)) return new StartError(`${what}: the disk is full.`)
  if (/could not look up effective user ID/i.test(log)) {
    return new StartError(`${what}: this user has no entry in /etc/passwd. Give it one, or set DATABASE_URL.`)
  }
  const lines = log.split('\n')
  const telling = lines.findLast(line => /\b(FATAL|PANIC)\b|error:|ENOENT|EACCES/.test(line)) ?? lines.at(-1)
  const reason = telling?.replace(/^.*\b(?:FATAL|PANIC|error):\s*/, '').replace(/\.$/, '')
  return new StartError(`${what}: ${reason || `it ended with ${signal ?? code}`}.`)
}

function supervise(server: Running, connection: EmbeddedConnection): EmbeddedPostgres {
  const { child, exited } = server
  // A program that forgets stop() can still end, and takes the server with it.
  const stopAtExit = () => child.kill('SIGINT')
  process.once('exit', stopAtExit)
  exited.then(() => process.off('exit', stopAtExit))
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
