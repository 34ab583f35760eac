import { createHash } from 'node:crypto'
import type { Business } from '../../platform/business.ts'
import type { Database } from '../../platform/database.ts'
import type { DeliveryName } from '../delivery/tokens.ts'
import { removeFromLists } from '../lists/members.ts'
import * as lists from '../lists/store.ts'
import { recordEvents } from './record.ts'

/** From now on nothing is mailed to this address. Asked again, nothing more happens, unless it was subscribed anew meanwhile. */
export function unsubscribe(db: Database, delivery: DeliveryName, now: Date, reason: string): Promise<void> {
  const id = createHash('sha256').update(`unsubscribe:${delivery.deliveryId}`).digest('hex').slice(0, 24)
  const event = { id, deliveryId: delivery.deliveryId, kind: 'unsubscribe' as const, at: now, reason, inPerson: true }
  return recordEvents(db, delivery.businessId, [event])
}

/** Leaves the lists that are no longer wanted. */
export async function keepLists(
  db: Database,
  business: Business,
  person: { subscriberId: string; listNumbers: number[] },
  isWanted: (listId: string) => boolean,
): Promise<void> {
  const own = await lists.byNumbers(db, business.id, person.listNumbers)
  const unwanted = own.filter(list => !isWanted(list.id)).map(list => list.id)
  if (unwanted.length > 0) await removeFromLists(db, business, { id: person.subscriberId }, unwanted)
}
