import type { Business } from './business.ts'
import type { Db } from './database.ts'

/**
 * The time a business lives in. It is the world's time, except for a business in test mode whose clock was set:
 * then it stands still until it is moved, so that what a test sees does not depend on when it looks.
 * No rule asks the world's clock itself; it is given `now`.
 */
export async function nowFor(db: Db, business: Pick<Business, 'id' | 'testMode'>): Promise<Date> {
  if (!business.testMode) return new Date()
  const rows = await db<{ now: Date | null }[]>`select clock_now as now from account_business where id = ${business.id}`
  return rows[0]?.now ?? new Date()
}

/**
 * What a service does when time passes. Advancing a test clock stops at every due moment on the way, in order, and
 * runs what is due there before it goes on. Workers call `run` with the present for businesses in the world's time.
 */
export interface TimeKeeper {
  name: string
  /** the next moment after which something is due for this business, or undefined */
  nextDue(db: Db, businessId: string): Promise<Date | undefined>
  /** does everything due at or before `now`; calling it again does nothing */
  run(businessId: string, now: Date): Promise<void>
}
