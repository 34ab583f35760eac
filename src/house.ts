import { resolve } from 'node:path'
import { type BuiltPlatform, buildPlatform } from './platform/build.ts'
import type { Config } from './platform/config.ts'
import {
  claimDataFolder,
  type DataFolder,
  isDataFolderClaimed,
  openDataFolder,
  readMasterKey,
  StartError,
} from './platform/data-folder.ts'
import { connect } from './platform/database.ts'
import {
  type EmbeddedPostgres,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
  urlOf,
} from './platform/embedded-postgres.ts'
import type { Loop, Work } from './platform/jobs.ts'
import type { Log } from './platform/log.ts'
import { migrate } from './platform/migrate.ts'
import type { Service } from './platform/service.ts'
import { chooseServices } from './services.ts'
import { workOf } from './worker.ts'

export type Progress = (text: string) => void

/** A database that answers and is migrated, whoever runs it. */
export interface Ground {
  databaseUrl: string
  masterKey: Buffer
  embedded: boolean
  close(): Promise<void>
}

/**
 * Finds the database: the one named by settings, or the embedded one of the data folder. `beside` lets a command join
 * the embedded server of a running program; the program itself must own its data folder.
 */
export async function openGround(config: Config, options: { beside: boolean; progress: Progress }): Promise<Ground> {
  const { progress } = options
  const ground = config.databaseUrl ? await namedGround(config) : await embeddedGround(config, options)
  try {
    await migrateGround(ground.databaseUrl, progress)
    return ground
  } catch (error) {
    await ground.close()
    throw error
  }
}

async function namedGround(config: Config): Promise<Ground> {
  const masterKey = config.secretKey ?? (await readMasterKey(await openDataFolder(resolve(config.dataFolder))))
  return { databaseUrl: config.databaseUrl ?? '', masterKey, embedded: false, close: async () => {} }
}

async function embeddedGround(
  config: Config,
  { beside, progress }: { beside: boolean; progress: Progress },
): Promise<Ground> {
  const folder = await openDataFolder(resolve(config.dataFolder))
  const masterKey = config.secretKey ?? (await readMasterKey(folder))
  if (beside) {
    const databaseUrl = await findRunning(folder)
    if (databaseUrl) return { databaseUrl, masterKey, embedded: true, close: async () => {} }
  }
  const release = await claimDataFolder(folder)
  try {
    const maxConnections = Math.max(100, (2 * config.poolSize + 40) * config.processes)
    const keeper = await keepServer(() => startEmbeddedPostgres(folder, { onProgress: progress, maxConnections }))
    return {
      databaseUrl: keeper.url,
      masterKey,
      embedded: true,
      async close() {
        await keeper.stop()
        await release()
      },
    }
  } catch (error) {
    await release()
    throw error
  }
}

const joinTimeoutMs = 30_000

/** The server of a program that runs on this data folder; waits for one that is just starting or stopping. */
async function findRunning(folder: DataFolder): Promise<string | undefined> {
  for (const from = performance.now(); performance.now() - from < joinTimeoutMs; ) {
    if (!(await isDataFolderClaimed(folder))) return undefined
    const connection = await findEmbeddedPostgres(folder)
    if (connection) return urlOf(connection)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return undefined
}

/** The embedded server is started again when it dies under us; the pools reconnect by themselves. */
async function keepServer(start: () => Promise<EmbeddedPostgres>): Promise<{ url: string; stop(): Promise<void> }> {
  let stopping = false
  let server = await start()
  const watch = (): void =>
    void server.exited.then(async () => {
      while (!stopping) {
        try {
          server = await start()
          return watch()
        } catch (error) {
          console.error(`The database stopped and could not be started again: ${(error as Error).message}`)
          await new Promise(done => setTimeout(done, 2_000))
        }
      }
    })
  watch()
  return {
    url: server.url,
    async stop() {
      stopping = true
      await server.stop()
    },
  }
}

async function migrateGround(databaseUrl: string, progress: Progress): Promise<void> {
  const pool = connect(databaseUrl, { name: 'migrate', max: 1, statementTimeoutMs: 0 })
  try {
    await migrate(pool, progress)
  } catch (error) {
    throw startError(error)
  } finally {
    await pool.end({ timeout: 5 })
  }
}

function startError(error: unknown): Error {
  const { code, message } = error as { code?: string; message: string }
  if (['ECONNREFUSED', 'ENOTFOUND', 'CONNECT_TIMEOUT', 'ENOENT', 'EHOSTUNREACH', 'EAI_AGAIN'].includes(code ?? ''))
    return new StartError(`The database of DATABASE_URL does not answer (${code}). Check host, port and that it runs.`)
  if (code === '28P01' || code === '28000')
    return new StartError('The database of DATABASE_URL refuses the user or password.')
  if (code === '3D000') return new StartError(`The database of DATABASE_URL does not exist: ${message}.`)
  if (code === '42501' || code === '25006')
    return new StartError(`The user of DATABASE_URL must be allowed to make tables in it: ${message}.`)
  return error as Error
}

export interface House {
  platform: BuiltPlatform
  services: Service[]
  work: Work[]
  loops: Loop[]
  ground: Ground
  close(): Promise<void>
}

/** Everything built and wired, ready to serve or to work. */
export async function openHouse(
  config: Config,
  ground: Ground,
  options: { worker: boolean; log?: Log },
): Promise<House> {
  const platform = await buildPlatform(config, {
    databaseUrl: ground.databaseUrl,
    masterKey: ground.masterKey,
    ...options,
  })
  const services = chooseServices(config.services, () => platform)
  const { work, loops } = workOf(services, platform)
  await platform.jobs.prepare(work).catch(async error => {
    await platform.close()
    throw error
  })
  return {
    platform,
    services,
    work,
    loops,
    ground,
    async close() {
      await platform.close()
      await ground.close()
    },
  }
}
