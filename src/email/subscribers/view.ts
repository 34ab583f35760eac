import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Db } from '../../platform/database.ts'
import { customFieldsOf, mayBe } from '../custom-fields/custom-fields.ts'
import { historyOf } from './history.ts'
import type { Subscriber, SubscriberKey } from './schema.ts'
import * as store from './store.ts'
import { definitions } from './store-reading.ts'

/** What is needed to show subscribers of a business: its fields, its segments, and the moment they are judged at. */
export interface Reading extends store.RowContext {
  business: Business
}

export async function readingOf(db: Db, business: Business, at?: Date): Promise<Reading> {
  const [{ customFields, segments }, now] = await Promise.all([
    definitions(db, business.id),
    at ?? nowFor(db, business),
  ])
  const fields = customFields.length > 0 ? customFields : await customFieldsOf(db, business.id)
  return { businessId: business.id, business, customFields: fields, segments, now }
}

export async function findSubscriber(db: Db, reading: Reading, key: SubscriberKey): Promise<Subscriber | undefined> {
  const row = await store.find(db, reading, key)
  return row && toSubscriber(reading, row)
}

/** In the order of the ids given. */
export async function subscribersByIds(db: Db, reading: Reading, ids: string[]): Promise<Subscriber[]> {
  if (ids.length === 0) return []
  const rows = new Map((await store.byIds(db, reading, ids)).map(row => [row._id, row]))
  return ids.flatMap(id => {
    const row = rows.get(id)
    return row ? [toSubscriber(reading, row)] : []
  })
}

export function toSubscriber(reading: Reading, row: store.SubscriberRow): Subscriber {
  const { suppressionType, suppressionReason, suppressedAt, suppressionUpdatedAt, customFields, mailed, ...rest } = row
  const { activity, campaigns, ...plain } = { ...rest, ...historyOf({ ...rest, mailed }) }
  const names = new Map(campaigns.map(one => [one.campaignId, one.campaignName]))
  return {
    ...plain,
    userId: reading.business.userId,
    businessId: reading.businessId,
    customFields: Object.fromEntries(
      reading.customFields.flatMap(({ key, type }) =>
        Object.hasOwn(customFields, key) && mayBe(type, customFields[key]) ? [[key, customFields[key]]] : [],
      ),
    ),
    campaignDetails: campaigns,
    activity: activity.map(([type, at, campaignId, machine]) => ({
      type: type as Subscriber['activity'][number]['type'],
      campaignId,
      campaignName: names.get(campaignId) ?? '',
      isMachine: machine === 1,
      createdAt: new Date(at).toISOString(),
    })),
    // Spec silent: no automation exists yet, so nobody is in one.
    automationWorkflows: [],
    deleteAfter: null,
    isSuppressed: suppressionType !== null,
    // Spec silent: someone who is not suppressed has the detail too, with empty type and reason and their own times.
    suppressionDetail: {
      type: suppressionType ?? '',
      reason: suppressionReason ?? '',
      createdAt: suppressedAt ?? row.createdAt,
      updatedAt: suppressionUpdatedAt ?? row.updatedAt,
    },
  }
}
