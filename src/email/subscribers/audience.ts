import type { Db } from '../../platform/database.ts'
import { customFieldsOf } from '../custom-fields/custom-fields.ts'
import * as segments from '../segments/store.ts'
import { audienceRows } from './store-audience.ts'
import type { Fragment } from './store-changes.ts'

/** To whom a campaign goes: members of any included list or segment who are in none of the excluded ones. */
export interface Audience {
  includedListIds: string[]
  includedSegmentIds: string[]
  excludedListIds: string[]
  excludedSegmentIds: string[]
}

/**
 * The people of an audience as a statement that yields (subscriber_id, email), each person once: subscribed, not
 * suppressed, not deleted at this moment. Made to be inserted from.
 * It comes in an object, because a statement that an async function answers by itself would be run.
 */
export async function audienceOf(
  db: Db,
  businessId: string,
  audience: Audience,
  now: Date,
): Promise<{ people: Fragment }> {
  const { includedSegmentIds, excludedSegmentIds } = audience
  const found = await segments.byIds(db, businessId, [...includedSegmentIds, ...excludedSegmentIds])
  const context = { businessId, customFields: await customFieldsOf(db, businessId), now }
  return {
    people: audienceRows(db, context, {
      ...audience,
      includedSegments: found.filter(segment => includedSegmentIds.includes(segment.id)),
      excludedSegments: found.filter(segment => excludedSegmentIds.includes(segment.id)),
    }),
  }
}
