import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { saveContact } from './contacts.ts'
import * as store from './store.ts'

export interface ConsentChange {
  decision: 'stop' | 'resume'
  source: 'keyword' | 'preference' | 'platform_error'
  /** the words or the code that decided */
  evidence: string
  /** when the person said so; their latest word counts, in whatever order the platform tells them */
  saidAt?: Date
  now: Date
}

/** The person stops or resumes marketing; every decision is kept with its proof. */
export async function changeConsent(
  tx: Tx,
  business: Business,
  contactId: string,
  { decision, source, evidence, saidAt, now }: ConsentChange,
): Promise<void> {
  const before = await store.lockContact(tx, business.id, contactId)
  if (!before) return
  const outdated = saidAt !== undefined && (await store.hasLaterWord(tx, business.id, contactId, saidAt))
  await store.insertConsent(tx, business.id, { id: newId(), contactId, decision, source, evidence, at: saidAt ?? now })
  if (outdated) return
  const stopped = decision === 'stop'
  if ((before.stoppedAt !== null) === stopped && before.optin === !stopped) return
  const after = { ...before, optin: !stopped, stoppedAt: stopped ? now : null }
  await saveContact(tx, business, { before, after, now, source: 'channel' })
}
