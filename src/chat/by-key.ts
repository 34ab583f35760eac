import type { Database } from '../platform/database.ts'
import type { Platform } from '../platform/platform.ts'

/**
 * Connections for statements that only ever look rows up by key, a few at a time. They are planned once and always go by
 * an index: a plan that was made while a business was new reads the whole business, and is kept while the business grows.
 */
const settings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

const pools = new WeakMap<Platform, Database>()

export function byKey(platform: Platform): Database {
  let pool = pools.get(platform)
  if (!pool) {
    const { statementTimeoutMs } = platform.config
    pool = platform.connect({ name: 'chat by key', max: 4, statementTimeoutMs, settings }) as Database
    pools.set(platform, pool)
  }
  return pool
}
