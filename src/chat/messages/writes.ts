import { retryLostRace } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { together } from '../batch.ts'
import { byKey } from '../by-key.ts'
import { isContactGone } from './store.ts'
import { type Acceptance, type Intended, type Intent, recordAccepted, writeIntents } from './store-intents.ts'

/** The two statements of a send; those of one business that come at the same moment go together. */
export interface Writes {
  /** undefined: the number is no contact's own */
  intend(businessId: string, intent: Intent): Promise<Intended | undefined>
  recordAccepted(businessId: string, acceptance: Acceptance): Promise<void>
}

const options = { maxItems: 100, maxParallel: 2 }
const known = new WeakMap<Platform, Writes>()

export function writesOf(platform: Platform): Writes {
  let writes = known.get(platform)
  if (!writes) {
    const db = byKey(platform)
    writes = {
      intend: together(async (businessId, intents: Intent[]) => {
        const write = () => retryLostRace(async () => await writeIntents(db, businessId, intents))
        const written = await write().catch(error => {
          // Someone deleted one of the contacts meanwhile: nothing was written, and the next look does not find it.
          if (!isContactGone(error)) throw error
          return write()
        })
        const intended = new Map(written.map(one => [one.id, one]))
        return intents.map(intent => intended.get(intent.id))
      }, options),
      recordAccepted: together(async (businessId, accepted: Acceptance[]) => {
        await retryLostRace(async () => await recordAccepted(db, businessId, accepted))
        return accepted.map(() => undefined)
      }, options),
    }
    known.set(platform, writes)
  }
  return writes
}
