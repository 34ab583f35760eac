import type { Business } from '../../platform/business.ts'
import type { Database, Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { notFound } from '../../platform/problem.ts'
import type { SubscriberKey } from '../subscribers/schema.ts'
import { type SubscriberRow, update } from '../subscribers/store.ts'
import { type Reading, readingOf, toSubscriber } from '../subscribers/view.ts'
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
  return db.begin(async tx => {
    const [reading, known] = await Promise.all([
      readingOf(tx, business),
      store.byIds(tx, business.id, [...ids.add, ...ids.remove]),
    ])
    const numbers = (wanted: string[]) => known.filter(list => wanted.includes(list.id)).map(list => list.number)
    const [toAdd, toRemove] = [numbers(ids.add), numbers(ids.remove)]
    const changed = await update(tx, reading, who, { listsToAdd: toAdd, listsToRemove: toRemove })
    if (!changed) throw notFound('Subscriber')
    if (ids.add.length > 0 && toAdd.length === 0) throw notFound('List')
    const { oldListNumbers: before, listNumbers: after } = changed
    const names = await namesOf(tx, business.id, [...before, ...after])
    if (before.length !== after.length || before.some(one => !after.includes(one))) await tell(tx, reading, changed)
    return {
      subscriberId: changed._id,
      email: changed.email,
      addedLists: names(after.filter(one => !before.includes(one))),
      removedLists: names(before.filter(one => !after.includes(one))),
      currentLists: names(after),
    }
  })
}

async function namesOf(tx: Tx, businessId: string, numbers: number[]) {
  const rows = await store.byNumbers(tx, businessId, [...new Set(numbers)])
  const names = new Map(rows.map(row => [row.number, row.name]))
  return (wanted: number[]) => wanted.flatMap(number => names.get(number) ?? [])
}

const tell = (tx: Tx, reading: Reading, changed: SubscriberRow) =>
  emit(tx, {
    businessId: reading.businessId,
    type: 'subscriber_update',
    source: 'api',
    objectId: changed._id,
    data: toSubscriber(reading, changed),
    at: reading.now,
  })
