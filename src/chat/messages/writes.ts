import type { Platform } from '../../platform/platform.ts'
import { together } from '../batch.ts'
import * as store from './store.ts'

/** The statements of the hot path; those of one business that come at the same moment go together. */
export interface Writes {
  findRecipient(businessId: string, number: string): Promise<store.Recipient | undefined>
  insertOutgoing(businessId: string, message: store.NewOutgoing): Promise<boolean>
  recordAccepted(businessId: string, acceptance: store.Acceptance): Promise<void>
}

const options = { maxItems: 200, maxParallel: 2 }
const known = new WeakMap<Platform, Writes>()

export function writesOf(platform: Platform): Writes {
  let writes = known.get(platform)
  if (!writes) {
    const { db } = platform
    writes = {
      findRecipient: together(
        (businessId, numbers: string[]) => store.findRecipients(db, businessId, numbers),
        options,
      ),
      insertOutgoing: together(async (businessId, messages: store.NewOutgoing[]) => {
        const written = await store.insertOutgoing(db, businessId, messages)
        return messages.map(message => written.has(message.id))
      }, options),
      recordAccepted: together(async (businessId, accepted: store.Acceptance[]) => {
        await store.recordAccepted(db, businessId, accepted)
        return accepted.map(() => undefined)
      }, options),
    }
    known.set(platform, writes)
  }
  return writes
}
