import { type Config, ConfigError } from './config.ts'
import { connect, type Pool } from './database.ts'
import { createJobs } from './jobs.ts'
import { createLog, type Log } from './log.ts'
import { createMetrics } from './metrics.ts'
import { createOutbound, type Outbound } from './outbound.ts'
import type { Platform } from './platform.ts'
import { createSecrets } from './secrets.ts'

export interface BuiltPlatform extends Platform {
  /** ends jobs first, then the pools they use */
  close(): Promise<void>
}

/** Builds what the house stands on, from settings and a database that answers. */
export async function buildPlatform(
  config: Config,
  options: { databaseUrl: string; masterKey: Buffer; worker: boolean; log?: Log },
): Promise<BuiltPlatform> {
  const { databaseUrl, masterKey, worker } = options
  const log = options.log ?? createLog(config.logLevel)
  const metrics = createMetrics()
  const pools = new Set<Pool>()
  const open = (url: string, name: string, max: number) => {
    const pool = connect(url, {
      name,
      max,
      statementTimeoutMs: config.statementTimeoutMs,
      onNotice: message => log.debug({ message }, 'database notice'),
    })
    pools.add(pool)
    return pool
  }
  const db = open(databaseUrl, 'requests', config.poolSize)
  const secrets = createSecrets(masterKey)
  const jobs = await checkMasterKey(db, secrets.fingerprint)
    .then(() => createJobs(databaseUrl, { log, metrics, worker }))
    .catch(async error => {
      // An open pool would keep the process of a refused start alive for another minute.
      await db.end({ timeout: 5 })
      throw error
    })
  const outbounds: Outbound[] = []
  const lastActs: (() => Promise<void>)[] = []
  const openOutbound = (options: { connectionsPerOrigin?: number } = {}) => {
    const opened = createOutbound({ allowPrivate: config.allowPrivateAddresses }, options)
    outbounds.push(opened)
    return opened
  }
  return {
    config,
    db: db as Platform['db'],
    replica: config.replicaUrl ? open(config.replicaUrl, 'replica', config.poolSize) : db,
    connect(connectOptions) {
      const pool = connect(databaseUrl, connectOptions)
      pools.add(pool)
      const end = pool.end.bind(pool)
      // Who opened a pool may end it long before the program does; remembering it would hold all that it ever held.
      return Object.assign(pool, {
        end: async (how?: { timeout?: number }) => {
          pools.delete(pool)
          await end(how)
        },
      })
    },
    jobs,
    secrets,
    outbound: openOutbound(),
    openOutbound,
    beforeClose: run => void lastActs.push(run),
    metrics,
    log,
    async close() {
      await jobs.stop()
      for (const act of lastActs) await act().catch(error => log.error({ err: error }, 'a last act failed'))
      await Promise.all(outbounds.map(outbound => outbound.close()))
      await Promise.all([...pools].map(pool => pool.end({ timeout: 5 })))
    },
  }
}

/** Copies with different master keys could not read one another's secrets; the second one is told so at start. */
async function checkMasterKey(db: Pool, fingerprint: string): Promise<void> {
  const [row] = await db<{ value: string }[]>`
    insert into installation (name, value) values ('master_key', ${fingerprint})
    on conflict (name) do update set value = installation.value returning value`
  if (row?.value !== fingerprint)
    throw new ConfigError(
      'PENNYPOST_SECRET_KEY (or secret.key in the data folder) is not the key this database was first used with. Use the same key in every copy.',
    )
}
