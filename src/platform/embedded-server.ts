import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFile, rm, statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ignoreMissing, StartError } from './data-folder.ts'
import type { Home, ServerUser } from './embedded-home.ts'

export interface Exit {
  code: number | null
  signal: string | null
  /** The last lines it said. */
  log: string
}

/** A program running as the database's user, apart from our terminal, with its last lines kept. */
export interface Running {
  pid: number | undefined
  child: ChildProcess
  hasExited(): boolean
  exited: Promise<Exit>
}

const keptLines = 100

export function run(program: string, args: string[], user: ServerUser): Running {
  const child = spawn(program, args, {
    // Its own process group: Ctrl-C in the terminal is for us, who stop the database last.
    detached: true,
    // The user may not be allowed where we stand.
    cwd: '/',
    // Nothing of ours: PGDATA, PGPORT and the like would change what the programs do.
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // `| 0` because nobody is -2 on macOS.
    ...(user.switch && { uid: user.uid | 0, gid: user.gid | 0 }),
  })
  const lines = keepLines(child)
  let over = false
  const exited = new Promise<Exit>(done => {
    const finish = (code: number | null, signal: string | null) => {
      over = true
      done({ code, signal, log: lines.join('\n') })
    }
    child.once('error', error => {
      lines.push(error.message)
      if (child.pid === undefined) finish(null, null)
    })
    // Its last words may arrive after its end, but children it left behind could hold the pipe open for long.
    child.once('exit', (code, signal) => {
      const timer = setTimeout(finish, 500, code, signal)
      child.once('close', () => {
        clearTimeout(timer)
        finish(code, signal)
      })
    })
  })
  // A program that ends without stopping it takes it along.
  const stopAtExit = () => child.kill('SIGINT')
  process.once('exit', stopAtExit)
  exited.then(() => process.off('exit', stopAtExit))
  return { pid: child.pid, child, hasExited: () => over, exited }
}

function keepLines(child: ChildProcess): string[] {
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    let rest = ''
    stream?.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop()!.slice(0, 10_000)
      lines.push(...parts.filter(line => line !== ''))
      if (lines.length > keptLines) lines.splice(0, lines.length - keptLines)
    })
    stream?.once('close', () => {
      if (rest !== '') lines.push(rest)
    })
  }
  return lines
}

export interface ServerSettings {
  durable: boolean
  maxConnections: number
}

export async function runServer(postgres: string, home: Home, settings: ServerSettings): Promise<Running> {
  const options = Object.entries(await serverOptions(home, settings)).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  return run(postgres, ['-D', home.cluster, ...options], home.user)
}

async function serverOptions(home: Home, settings: ServerSettings): Promise<Record<string, string | number>> {
  const memoryMb = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2 ** 20
  const sharedMemory = await statfs('/dev/shm').catch(() => undefined)
  return {
    listen_addresses: '',
    port: 5432,
    // Quoted because it is a list: a comma in the path would make two of it.
    unix_socket_directories: `"${home.socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: settings.maxConnections,
    shared_buffers: `${Math.round(Math.min(1024, Math.max(128, memoryMb / 16)))}MB`,
    effective_cache_size: `${Math.round(Math.max(256, memoryMb / 2))}MB`,
    work_mem: '16MB',
    maintenance_work_mem: '256MB',
    max_wal_size: '4GB',
    checkpoint_timeout: '15min',
    checkpoint_completion_target: 0.9,
    random_page_cost: 1.1,
    jit: 'off',
    autovacuum_vacuum_scale_factor: 0.05,
    autovacuum_analyze_scale_factor: 0.05,
    // Until it is analysed, a business that was just filled may be read whole to find one row.
    autovacuum_naptime: settings.durable ? '15s' : '1min',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_destination: 'stderr',
    logging_collector: 'off',
    log_checkpoints: 'off',
    // Containers have 64 MB of it, where a parallel query fails with "no space left on device".
    ...(sharedMemory && sharedMemory.blocks * sharedMemory.bsize < 2 ** 29 && { dynamic_shared_memory_type: 'mmap' }),
    ...(!settings.durable && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  }
}

/** One sentence with the line of the log that says why. */
export function serverError(what: string, { code, signal, log }: Exit): StartError {
  if (/no space left on device|disk quota exceeded/i.test(log)) return new StartError(`${what}: the disk is full.`)
  if (/could not look up effective user ID/i.test(log)) {
    return new StartError(`${what}: this user has no entry in /etc/passwd. Give it one, or set DATABASE_URL.`)
  }
  const lines = log.split('\n')
  const foreign = lines.find(line => /^spawn .* ENOENT|error while loading shared libraries|GLIBC/.test(line))
  if (foreign !== undefined) {
    return new StartError(`${what}: the bundled programs do not run on this system (${foreign}). Set DATABASE_URL.`)
  }
  const telling = lines.findLast(line => /\b(FATAL|PANIC|error):/.test(line)) ?? lines.at(-1)
  const reason = telling?.replace(/^.*\b(?:FATAL|PANIC|error):\s*/, '').replace(/^but |\.$/g, '')
  return new StartError(`${what}: ${reason || `it ended with ${signal ?? code}`}.`)
}

/** Fast shutdown, which ends the connections; then without a checkpoint; then by force, which the next start repairs. */
export async function stopProcess(kill: (signal: NodeJS.Signals) => void, ended: Promise<unknown>): Promise<void> {
  for (const [signal, waitMs] of [
    ['SIGINT', 10_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    kill(signal)
    const timer = new AbortController()
    const timeout = delay(waitMs, 'late', { signal: timer.signal }).catch(() => undefined)
    const outcome = await Promise.race([ended, timeout])
    timer.abort()
    if (outcome !== 'late') return
  }
}

/** The process named in the cluster's lock file, whether or not it lives. */
export async function findServerPid(home: Home): Promise<number | undefined> {
  const text = await readFile(join(home.cluster, 'postmaster.pid'), 'utf8').catch(ignoreMissing)
  const pid = Number.parseInt(text ?? '', 10)
  return pid > 1 ? pid : undefined
}

/** Stops a server that outlived its program (kill -9), so that the one that runs is always our child. */
export async function stopOrphan(home: Home): Promise<void> {
  const pid = await findServerPid(home)
  if (pid === undefined) return
  if (await isServerOf(home, pid)) {
    const ended = async () => {
      while (await isServerOf(home, pid)) await delay(10)
    }
    await stopProcess(signal => signalProcess(pid, signal), ended())
  } else if (signalProcess(pid, 0)) {
    // After a restart (of a container above all) the number may be another program's, which PostgreSQL takes for a
    // running server and refuses to start.
    await rm(join(home.cluster, 'postmaster.pid'), { force: true })
    await rm(join(home.socketFolder, '.s.PGSQL.5432.lock'), { force: true })
  }
}

/** By its command line, because numbers of processes are used again; a zombie has none. */
async function isServerOf(home: Home, pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(async () => {
    const found = promisify(execFile)('ps', ['-p', String(pid), '-ww', '-o', 'command='])
    return (await found.catch(() => ({ stdout: '' }))).stdout
  })
  return command.replaceAll('\0', ' ').includes(`postgres -D ${home.cluster} -c`)
}

function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
