import type { Business } from '../platform/business.ts'
import { nowFor } from '../platform/clock.ts'
import type { Database } from '../platform/database.ts'
import type { EventSource, NewEvent } from '../platform/events.ts'
import type { Platform } from '../platform/platform.ts'

/** For whom, when and why something is done. */
export interface Context {
  platform: Platform
  db: Database
  business: Business
  now: Date
  source: EventSource
}

export async function contextOf(
  call: { platform: Platform; db: Database; business: Business },
  source: EventSource = 'api',
): Promise<Context> {
  const { platform, db, business } = call
  return { platform, db, business, source, now: await nowFor(db, business) }
}

export const eventOf = (context: Context, type: string, objectId: string, data: object): NewEvent => ({
  businessId: context.business.id,
  type,
  source: context.source,
  objectId,
  data,
  at: context.now,
})
