import type { Config } from './config.ts'
import type { ConnectOptions, Database, Db, Pool } from './database.ts'
import type { Jobs } from './jobs.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Outbound } from './outbound.ts'
import type { Secrets } from './secrets.ts'

/** What the house stands on. Built once, in main; handed down by parameter, never reached for. */
export interface Platform {
  config: Config
  db: Database
  /** reads that may lag a little; the same database where there is no replica */
  replica: Db
  /** opens a pool of its own, for work that must not queue behind requests; closed with the platform */
  connect(options: ConnectOptions): Pool
  jobs: Jobs
  secrets: Secrets
  outbound: Outbound
  /** a guarded way out of its own, for one busy partner that must not wait behind strangers; closed with the platform */
  openOutbound(options: { connectionsPerOrigin: number }): Outbound
  /** runs when the program stops, before the pools close: for what is still in memory and must be written */
  beforeClose(run: () => Promise<void>): void
  metrics: Metrics
  log: Log
}
