import { connect } from '../src/platform/database.ts'
import { createJobs } from '../src/platform/jobs.ts'
import { createLog } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { migrate } from '../src/platform/migrate.ts'

export const templateName = 'pennypost_template'

/** Migrations and the job engine's tables, so that a clone is ready at once. */
export async function buildTemplate(url: string): Promise<void> {
  const pool = connect(url, { name: 'template', max: 2 })
  await migrate(pool)
  await pool.end()
  const jobs = await createJobs(url, { log: createLog('silent'), metrics: createMetrics(), worker: false })
  await jobs.stop()
}
