import type { Tx } from '../../platform/database.ts'
import * as store from './store.ts'

/**
 * An address that is suppressed is never mailed, whether it is a subscriber or not. Unsubscribing, a hard bounce and a
 * complaint suppress; setting a subscriber to `subscribed`, or removing the suppression, lifts it. Imports never do.
 */
export type SuppressionType = 'unsubscribed' | 'bounced' | 'complaint' | 'manual'

export interface NewSuppression {
  email: string
  type: SuppressionType
  reason: string
}

/** Suppresses many addresses in one statement. A complaint is never weakened to something milder. */
export async function suppressAddresses(
  tx: Tx,
  businessId: string,
  entries: NewSuppression[],
  now: Date,
): Promise<void> {
  if (entries.length > 0) await store.suppress(tx, businessId, lastOfEach(entries), now)
}

/** As the owner of the list says, who may also correct what was noted as a complaint. */
export const suppressAsSaid = (tx: Tx, businessId: string, entry: NewSuppression, now: Date) =>
  store.suppress(tx, businessId, [entry], now, { weaken: true })

export const liftSuppressions = (tx: Tx, businessId: string, emails: string[]) => store.lift(tx, businessId, emails)

/** For the moment of sending: which of these addresses must not be mailed. In lower case. */
export const suppressedAmong = async (tx: Tx, businessId: string, emails: string[]): Promise<Set<string>> =>
  new Set((await store.suppressedAmong(tx, businessId, emails)).map(row => row.address))

/** A condition for a statement of another store: `not ${isSuppressed(db, businessId, db`email`)}`. */
export const isSuppressed = store.isSuppressed

/** One statement can't touch an address twice; the strongest reason wins, then the last. */
function lastOfEach(entries: NewSuppression[]): NewSuppression[] {
  const byAddress = new Map<string, NewSuppression>()
  for (const entry of entries) {
    const key = entry.email.toLowerCase()
    if (byAddress.get(key)?.type !== 'complaint' || entry.type === 'complaint') byAddress.set(key, entry)
  }
  return [...byAddress.values()]
}

export const suppressionOf = store.find
