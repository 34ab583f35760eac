import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { fail, notFound } from '../../platform/problem.ts'
import type { SubscriberKey } from '../subscribers/schema.ts'
import { update } from '../subscribers/store.ts'
import { findSubscriber, readingOf } from '../subscribers/view.ts'
import * as store from './store.ts'

export interface MembershipChange {
  subscriberId: string
  email: string
  addedLists: string[]
  removedLists: string[]
  currentLists: string[]
}

/** Lists the subscriber is in already, and lists that do not exist, are skipped; when none exists, 404. */
export const addToLists = (db: Database, business: Business, who: SubscriberKey, listIds: string[]) =>
  changeLists(db, business, who, { add: listIds, remove: [] })

/** Lists the subscriber is not in, and lists that do not exist, are skipped. */
export const removeFromLists = (db: Database, business: Business, who: SubscriberKey, listIds: string[]) =>
  changeLists(db, business, who, { add: [], remove: listIds })

/** One change of one row: nobody can see the subscriber in neither or in both. Spec silent: a list in both stays. */
export const moveBetweenLists = (
  db: Database,
  business: Business,
  who: SubscriberKey,
  lists: { from: string[]; to: string[] },
) => changeLists(db, business, who, { add: lists.to, remove: lists.from.filter(id => !lists.to.includes(id)) })

async function changeLists(
  db: Database,
  business: Business,
  who: SubscriberKey,
  ids: { add: string[]; remove: string[] },
): Promise<MembershipChange> {
  const now = await nowFor(db, business)
  return db.begin(async tx => {
    const known = await store.byIds(tx, business.id, [...ids.add, ...ids.remove])
    const numbers = (wanted: string[]) => known.filter(list => wanted.includes(list.id)).map(list => list.number)
    const [toAdd, toRemove] = [numbers(ids.add), numbers(ids.remove)]
    const changed = await update(tx, business.id, who, { listsToAdd: toAdd, listsToRemove: toRemove }, now)
    if (!changed) throw notFound('Subscriber')
    if (ids.add.length > 0 && toAdd.length === 0) throw notFound('List')
    const names = await namesOf(tx, business.id, [...changed.oldLists, ...changed.lists])
    if (changed.oldLists.length !== changed.lists.length || changed.oldLists.some(one => !changed.lists.includes(one)))
      await tell(tx, business, changed.id, now)
    return {
      subscriberId: changed.id,
      email: changed.email,
      addedLists: names(changed.lists.filter(one => !changed.oldLists.includes(one))),
      removedLists: names(changed.oldLists.filter(one => !changed.lists.includes(one))),
      currentLists: names(changed.lists),
    }
  })
}

async function namesOf(tx: Tx, businessId: string, numbers: number[]) {
  const rows = await store.byNumbers(tx, businessId, [...new Set(numbers)])
  const names = new Map(rows.map(row => [row.number, row.name]))
  return (wanted: number[]) => wanted.flatMap(number => names.get(number) ?? [])
}

async function tell(tx: Tx, business: Business, id: string, now: Date): Promise<void> {
  const data = (await findSubscriber(tx, await readingOf(tx, business), { id })) ?? fail(notFound('Subscriber'))
  await emit(tx, { businessId: business.id, type: 'subscriber_update', source: 'api', objectId: id, data, at: now })
}
