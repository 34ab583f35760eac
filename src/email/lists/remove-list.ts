import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { does, queue, type Work } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import { totalsOf } from '../stats/totals.ts'
import { takeOff } from '../subscribers/take-off.ts'
import { tell, toList } from './lists.ts'
import { releaseNames, requireUnscheduled } from './names.ts'
import type { List } from './schema.ts'
import * as store from './store.ts'

const leaveList = queue<{ businessId: string; number: number }>('email_leave_list')
/** Longer than any request or chunk that was under way when the list went may take. */
const againSeconds = 900

/**
 * The list and its name are gone with this transaction, nobody is found by it any more; its members leave it in the background, whatever
 * their number. Nobody is deleted. Spec silent: what a scheduled campaign or a running import needs can't be deleted.
 */
export async function removeList(platform: Platform, db: Database, business: Business, id: string): Promise<List> {
  const now = await nowFor(db, business)
  return db.begin(async tx => {
    const { number, ...list } = (await store.remove(tx, business.id, id)) ?? fail(notFound('List'))
    await requireUnscheduled(tx, business.id, { kind: 'list', ...list })
    if (await store.isBeingImported(tx, business.id, number))
      throw unprocessable(
        'list_in_use',
        `An import into the list "${list.name}" is under way. Wait for it or cancel it.`,
      )
    await releaseNames(tx, business.id, id)
    const gone = toList({ number, ...list }, (await totalsOf(tx, business.id, 'list', now)).get(number))
    await tell(tx, business, 'list_delete', gone, now)
    const job = { businessId: business.id, number }
    await platform.jobs.enqueue(tx, leaveList, job)
    await platform.jobs.enqueue(tx, leaveList, job, { startAfter: againSeconds })
    return gone
  })
}

export const listWork = (platform: Platform): Work[] => [
  does(leaveList, async ({ businessId, number }) => {
    const now = await nowFor(platform.db, { id: businessId, testMode: true })
    await takeOff(platform.db, businessId, { kind: 'lists', number }, now)
  }),
]
