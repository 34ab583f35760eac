import { nowFor } from '../../platform/clock.ts'
import { beginWithRetry } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { applyStatuses } from '../channel/apply-statuses.ts'
import { readStatus } from '../channel/statuses.ts'
import { matchedParked, takeParked } from '../channel/store.ts'
import { tellMessages } from '../events.ts'
import { businessById } from '../store.ts'
import * as store from './store.ts'

/**
 * Sees to what a stopped process left: calls whose holder is gone count as unknown, and reports that came before
 * their message was known are applied now.
 */
export async function sweepMessages(platform: Platform): Promise<void> {
  const { db } = platform
  for (const { businessId } of await store.businessesWithLostCalls(db)) {
    const business = await businessById(db, businessId)
    if (!business) continue
    const now = await nowFor(db, business)
    await beginWithRetry(db, async tx => {
      const lost = await store.markLostUnknown(tx, businessId, now)
      await tellMessages(tx, business, { type: 'message_unknown', source: 'channel', now }, lost)
    })
  }
  for (const { businessId, platformId } of await matchedParked(db)) {
    const business = await businessById(db, businessId)
    if (!business) continue
    const now = await nowFor(db, business)
    await beginWithRetry(db, async tx => {
      const parked = await takeParked(tx, businessId, platformId)
      await applyStatuses(
        platform,
        tx,
        business,
        parked.map(({ element }) => readStatus(element)),
        now,
      )
    })
  }
}
