import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const bin = join(import.meta.dirname, '../bin/pennypost')

/** The real program in a process of its own, as a person starts it. */
export interface Program {
  child: ChildProcess
  url: string
  output(): string
  /** resolves with the exit code */
  exited: Promise<number | null>
  stop(): Promise<number | null>
  /** kill -9 */
  kill(): Promise<void>
}

export interface ProgramOptions {
  data: string
  port?: number
  args?: string[]
  env?: Record<string, string>
  uid?: number
  gid?: number
}

export const makeDataFolder = () => mkdtemp(join(tmpdir(), 'pennypost-program-'))
export const removeDataFolder = (path: string) => rm(path, { recursive: true, force: true })

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts the program without waiting for it to be ready. */
export async function launch(options: ProgramOptions): Promise<Program> {
  const port = options.port ?? (await freePort())
  const env = {
    PATH: process.env.PATH ?? '',
    PENNYPOST_DATA: options.data,
    PORT: String(port),
    HOST: '127.0.0.1',
    PENNYPOST_RATE_LIMIT: '0',
    ...options.env,
  }
  const child = spawn(process.execPath, [bin, 'serve', ...(options.args ?? [])], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.uid !== undefined && { uid: options.uid, gid: options.gid ?? options.uid, cwd: options.data }),
  })
  let output = ''
  child.stdout?.on('data', chunk => (output += chunk))
  child.stderr?.on('data', chunk => (output += chunk))
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return {
    child,
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    exited,
    async stop() {
      child.kill('SIGTERM')
      return exited
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Starts the program and waits until it says it is ready. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const program = await launch(options)
  let ended = false
  program.exited.then(() => {
    ended = true
  })
  while (!/Pennypost is (ready|working)/.test(program.output())) {
    if (ended) throw new Error(`The program ended before it was ready:\n${program.output()}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return program
}

/** Runs a command of the command line to its end. */
export async function command(
  data: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [bin, ...args], {
      env: { PATH: process.env.PATH ?? '', PENNYPOST_DATA: data, ...env },
    })
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

/** Makes an account by the command line, as it prints it: with a key of each service. */
// biome-ignore lint/suspicious/noExplicitAny: looks into what was printed
export async function createAccount(data: string, env: Record<string, string> = {}): Promise<any> {
  const words = ['account', 'create', '--email', 'owner@example.com', '--business', 'Shop', '--json']
  const { code, stdout, stderr } = await command(data, words, env)
  if (code !== 0) throw new Error(`No account was made: ${stderr}`)
  return JSON.parse(stdout)
}
