import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Platform } from '../../platform/platform.ts'
import { Problem } from '../../platform/problem.ts'
import { platformMediaId } from '../media/media.ts'
import { recentSetting } from '../settings/settings.ts'
import { pauseBroadcast } from './broadcasts.ts'
import * as store from './store.ts'

/**
 * The header of a broadcast is uploaded once, when its messages are written: one that waited for a month still has it.
 * Where the platform does not take it, the broadcast waits for a person.
 */
export async function mediaForFreeze(platform: Platform, business: Business, id: string): Promise<string | undefined> {
  const { db } = platform
  const broadcast = await store.broadcastById(db, business.id, id)
  const { mediaId } = broadcast?.request.parameters ?? {}
  if (broadcast?.status !== 'preparing' || typeof mediaId !== 'string') return undefined
  try {
    const setting = await recentSetting(platform, business.id)
    return await platformMediaId(platform, business, setting, { mediaId, kind: undefined })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const now = await nowFor(db, business)
    await pauseBroadcast(db, business.id, id, { reason: `The header: ${error.message}`, now })
    return undefined
  }
}
