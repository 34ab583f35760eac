import { parseArgs } from 'node:util'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { accountCommand } from './cli/account.ts'
import { auditCommand } from './cli/audit.ts'
import { type Command, UsageError } from './cli/command.ts'
import { createDemo, demoCommand, isEmpty } from './cli/demo.ts'
import { doctorCommand } from './cli/doctor.ts'
import { importCommand } from './cli/import.ts'
import { jobsCommand } from './cli/jobs.ts'
import { keysCommand } from './cli/keys.ts'
import { openGround, openHouse } from './house.ts'
import { type Config, ConfigError, type Environment, readConfig } from './platform/config.ts'
import { StartError } from './platform/data-folder.ts'
import { createLog } from './platform/log.ts'
import { Problem } from './platform/problem.ts'
import { startProcesses } from './processes.ts'
import { startChild, startProcess } from './serve.ts'

const commands: Record<string, Command> = {
  account: accountCommand,
  keys: keysCommand,
  demo: demoCommand,
  doctor: doctorCommand,
  jobs: jobsCommand,
  audit: auditCommand,
  import: importCommand,
}

const usage = `Usage: pennypost <command>

  serve [--role all|api|worker] [--services email,chat,billing] [--processes N]
  migrate
${Object.values(commands)
  .map(command => `  ${command.usage}`)
  .join('\n')}

Settings are environment variables; docs/settings.md lists them.`

/** The composition root: settings → database → services → server and worker, or one command of the command line. */
export async function main(argv: string[], env: Environment): Promise<void> {
  try {
    await run(argv, env)
  } catch (error) {
    process.exitCode = 1
    if (error instanceof UsageError || isParseError(error)) console.error(`${(error as Error).message}\n\n${usage}`)
    else if (error instanceof StartError || error instanceof ConfigError || error instanceof Problem)
      console.error(error.message)
    else console.error(error)
  }
}

const isParseError = (error: unknown) => String((error as { code?: string }).code).startsWith('ERR_PARSE_ARGS')

async function run([name = 'help', ...args]: string[], env: Environment): Promise<void> {
  if (name === 'help' || [name, ...args].some(word => word === '--help' || word === '-h')) return console.log(usage)
  if (name === 'serve') return serve(readConfig(serveSettings(args, env)), env)
  const config = readConfig(env)
  if (name === 'migrate') {
    const ground = await openGround(config, { beside: true, progress: console.log })
    await ground.close()
    return console.log('The database is up to date.')
  }
  const command = commands[name]
  if (!command) throw new UsageError(`There is no command "${name}".`)
  await command.run({
    args,
    config,
    print: console.log,
    async withHouse(run) {
      const ground = await openGround(config, { beside: true, progress: () => {} })
      closeOnSignal(ground)
      // What a command prints may be read by a program; what is logged beside it must not stand in it.
      const log = createLog(config.logLevel, process.stderr)
      const house = await openHouse(config, ground, { worker: false, log }).catch(async error => {
        await ground.close()
        throw error
      })
      try {
        return await run(house)
      } finally {
        await house.close()
      }
    },
  })
}

/** Flags of `serve` win over the environment. */
function serveSettings(args: string[], env: Environment): Environment {
  const { values } = parseArgs({
    args,
    options: { role: { type: 'string' }, services: { type: 'string' }, processes: { type: 'string' } },
  })
  return {
    ...env,
    ...(values.role !== undefined && { PENNYPOST_ROLE: values.role }),
    ...(values.services !== undefined && { PENNYPOST_SERVICES: values.services }),
    ...(values.processes !== undefined && { PENNYPOST_PROCESSES: values.processes }),
  }
}

async function serve(config: Config, env: Environment): Promise<void> {
  process.on('unhandledRejection', error => console.error('A background task failed:', error))
  if (env.PENNYPOST_CHILD === '1') {
    const child = await startChild(config)
    stopOnSignal(() => child.stop())
    process.send?.({ ready: true })
    letMemoryGrow()
    return
  }
  let started = false
  let stopping = false
  const starting = openGround(config, { beside: false, progress: console.log }).then(ground =>
    config.processes > 1 ? serveMany(config, ground) : serveAlone(config, ground),
  )
  stopOnSignal(async () => {
    stopping = true
    // Listened to from the first moment: the embedded server would outlive us. A database of one's own needs nobody.
    if (started || !config.databaseUrl) await starting.then(stop => stop())
  })
  await starting
  started = true
  if (stopping) return
  const what = config.role === 'worker' ? 'Pennypost is working' : `Pennypost is ready on ${config.publicUrl}`
  console.log(what)
  letMemoryGrow()
}

/** Space for young objects, both halves: from here it may double once more. Beyond that memory buys little speed. */
const youngBytes = 14e6

/**
 * Starting allocates much that is gone a moment later. bin/pennypost holds the space for young objects small until here,
 * because once grown it stays: an idle program would keep 40 MB it never needs. From now on it grows with the load, up to
 * a bound; and old objects are looked through when they are half as many again, not when they have doubled.
 */
function letMemoryGrow(): void {
  setFlagsFromString('--heap-growing-percent=50')
  let factor = 0
  const keepBound = () => {
    const young = getHeapSpaceStatistics().find(space => space.space_name === 'new_space')
    const wanted = (young?.space_size ?? 0) >= youngBytes ? 1 : 2
    if (wanted !== factor) setFlagsFromString(`--semi-space-growth-factor=${wanted}`)
    factor = wanted
  }
  keepBound()
  setInterval(keepBound, 100).unref()
}

type Ground = Awaited<ReturnType<typeof openGround>>

async function serveAlone(config: Config, ground: Ground): Promise<() => Promise<void>> {
  const house = await openHouse(config, ground, { worker: config.role !== 'api' }).catch(closing(ground))
  const running = await welcome(config, house)
    .then(() => startProcess(config, house))
    .catch(closing(house))
  return running.stop
}

async function serveMany(config: Config, ground: Ground): Promise<() => Promise<void>> {
  const house = await openHouse({ ...config, poolSize: 2 }, ground, { worker: false }).catch(closing(ground))
  await welcome(config, house).catch(closing(house))
  await house.platform.close()
  const processes = await startProcesses(config, ground).catch(closing(ground))
  return async () => {
    await processes.stop()
    await ground.close()
  }
}

/** A command that is stopped takes along the server that it started. */
function closeOnSignal(ground: Ground): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void ground.close().finally(() => process.exit(1)))
}

const closing = (part: { close(): Promise<void> }) => async (error: unknown) => {
  await part.close()
  throw error
}

/** A newcomer's first start brings a demo business; an own database is left as it is. */
async function welcome(config: Config, house: Awaited<ReturnType<typeof openHouse>>): Promise<void> {
  if (!config.demo || !house.ground.embedded || !(await isEmpty(house))) return
  console.log('Making a demo business…')
  console.log(await createDemo(house))
}

/** The first signal lets everything finish; a second one does not wait. */
function stopOnSignal(stop: () => Promise<void>): void {
  let stopping = false
  const onSignal = async (signal: string) => {
    if (stopping) process.exit(1)
    stopping = true
    if (process.env.PENNYPOST_CHILD !== '1') console.log(signal === 'SIGINT' ? '\nStopping…' : 'Stopping…')
    try {
      await stop()
      process.exit(0)
    } catch (error) {
      console.error(error)
      process.exit(1)
    }
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void onSignal(signal))
  if (process.env.npm_lifecycle_event) watchParent(() => void onSignal('SIGTERM'))
}

/** npm passes Ctrl-C on, but not a kill of its own process; without it nobody could stop us, so its end is ours. */
function watchParent(onGone: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onGone()
  }, 500)
  timer.unref()
}
