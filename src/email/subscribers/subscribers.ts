import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Tx } from '../../platform/database.ts'
import { emit, type NewEvent } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { badRequest, fail, invalidField, notFound } from '../../platform/problem.ts'
import { checkCustomFields, isLocalDate } from '../custom-fields/custom-fields.ts'
import { resolveLists } from '../lists/lists.ts'
import { liftSuppressions, suppressAsSaid, suppressionOf } from '../suppressions/suppressions.ts'
import { ensureTags, findTags } from '../tags/tags.ts'
import { isEmail } from './email-address.ts'
import {
  looksLikeId,
  type NewSubscriber,
  type Status,
  type Subscriber,
  type SubscriberChanges,
  type SubscriberKey,
} from './schema.ts'
import { takeSlot } from './slots.ts'
import * as store from './store.ts'
import { findSubscriber, type Reading, readingOf, toSubscriber } from './view.ts'

const unknown = 'Not Specified'

/** A path names a subscriber by email (anything with an @) or by id. */
export function subscriberKey(text: string): SubscriberKey {
  if (text.includes('@') ? isEmail(text) : false) return { email: text }
  if (looksLikeId(text)) return { id: text }
  throw badRequest('invalid_email', `"${text.slice(0, 100)}" is not a valid email.`, [
    { field: 'email', message: 'must be a valid email address' },
  ])
}

/** A body names a subscriber by subscriberId or email. */
export function subscriberKeyOf(body: { email?: string; subscriberId?: string }): SubscriberKey {
  if (body.subscriberId !== undefined) return { id: body.subscriberId }
  if (body.email === undefined) throw invalidField('email', 'is required when subscriberId is absent')
  if (!isEmail(body.email)) throw invalidField('email', 'must be a valid email address')
  return { email: body.email }
}

export const getSubscriber = async (db: Database, business: Business, key: SubscriberKey): Promise<Subscriber> =>
  (await findSubscriber(db, await readingOf(db, business), key)) ?? fail(notFound('Subscriber'))

/** Creates a subscriber, or updates the one with this email. Two parallel calls for a new email make one subscriber. */
export async function saveSubscriber(
  platform: Platform,
  db: Database,
  business: Business,
  given: NewSubscriber,
): Promise<{ subscriber: Subscriber; created: boolean }> {
  if (!isEmail(given.email)) throw invalidField('email', 'must be a valid email address')
  checkValues(given)
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    // Sent together: every trip to the database costs both sides.
    const [reading, listNumbers, tagNumbers] = await Promise.all([
      readingOf(tx, business, now),
      resolveLists(tx, business.id, given.lists ?? []),
      ensureTags(tx, business.id, given.tags ?? [], now),
    ])
    checkCustomFields(given.customFields ?? {}, reading.customFields)
    for (;;) {
      // Spec silent: tags and lists given for someone who exists are added; to take some away there are other calls.
      const changes = { ...rowChanges(given), source: given.source, listsToAdd: listNumbers, tagsToAdd: tagNumbers }
      const updated = await store.update(tx, reading, { email: given.email }, changes)
      if (updated) return { subscriber: await afterUpdate(tx, reading, updated, given.status), created: false }
      const made = await insertSubscriber(platform, tx, reading, given, { listNumbers, tagNumbers })
      if (made) return { subscriber: made, created: true }
    }
  })
}

/** Undefined when another request just created the email. */
async function insertSubscriber(
  platform: Platform,
  tx: Tx,
  reading: Reading,
  given: NewSubscriber,
  numbers: { listNumbers: number[]; tagNumbers: number[] },
): Promise<Subscriber | undefined> {
  const { businessId, now } = reading
  const status = given.status ?? (await statusOfNewcomer(tx, businessId, given.email))
  const made = await store.insert(
    tx,
    businessId,
    {
      id: newId(),
      slot: await takeSlot(platform, businessId),
      email: given.email,
      firstName: given.firstName ?? '',
      lastName: given.lastName ?? '',
      mobile: given.mobile ?? '',
      country: given.country || unknown,
      city: given.city || unknown,
      dateOfBirth: given.dateOfBirth ?? null,
      leadScore: given.leadScore ?? 0,
      status,
      source: given.source ?? 'api',
      customFields: withoutNulls(given.customFields ?? {}),
      ...numbers,
    },
    now,
  )
  if (!made) return undefined
  if (given.status) await followStatus(tx, reading, given.email, given.status)
  const subscriber = (await findSubscriber(tx, reading, made)) ?? fail(notFound('Subscriber'))
  await emit(tx, event(reading, 'subscriber_create', subscriber))
  return subscriber
}

/** Spec silent: a newcomer whose address is suppressed starts with the status that this tells, unless a status is given. */
async function statusOfNewcomer(tx: Tx, businessId: string, email: string): Promise<Status> {
  const type = (await suppressionOf(tx, businessId, email))?.type
  return type === undefined || type === 'manual' ? 'subscribed' : type
}

/** Every provided field is updated; omitted fields stay unchanged. */
export async function updateSubscriber(
  db: Database,
  business: Business,
  key: SubscriberKey,
  given: SubscriberChanges,
): Promise<Subscriber> {
  checkValues(given)
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const [reading, tagsToAdd, tagsToRemove] = await Promise.all([
      readingOf(tx, business, now),
      ensureTags(tx, business.id, given.tagsToAdd ?? [], now),
      findTags(tx, business.id, given.tagsToRemove ?? []),
    ])
    checkCustomFields(given.customFields ?? {}, reading.customFields)
    const tags = given.tagsToAdd || given.tagsToRemove ? { tagsToAdd, tagsToRemove } : {}
    const updated = await store.update(tx, reading, key, { ...rowChanges(given), ...tags })
    return afterUpdate(tx, reading, updated ?? fail(notFound('Subscriber')), given.status)
  })
}

async function afterUpdate(
  tx: Tx,
  reading: Reading,
  updated: store.Updated,
  status: Status | undefined,
): Promise<Subscriber> {
  if (status) await followStatus(tx, reading, updated.email, status)
  const subscriber = status
    ? ((await findSubscriber(tx, reading, { id: updated._id })) ?? fail(notFound('Subscriber')))
    : toSubscriber(reading, updated)
  await emit(tx, event(reading, 'subscriber_update', subscriber))
  if (updated.oldStatus !== 'unsubscribed' && updated.status === 'unsubscribed')
    await emit(tx, event(reading, 'subscriber_unsubscribe', subscriber))
  return subscriber
}

/** `subscribed` lifts the suppression of the address, every other status makes one. */
async function followStatus(tx: Tx, { businessId, now }: Reading, email: string, status: Status): Promise<void> {
  if (status === 'subscribed') await liftSuppressions(tx, businessId, [email])
  else await suppressAsSaid(tx, businessId, { email, type: status, reason: `Set to ${status} through the API` }, now)
}

const thirtyDaysMs = 30 * 86_400_000

/** They vanish at once and are erased after thirty days. What suppresses their addresses stays. */
export async function deleteSubscribers(
  db: Database,
  reading: Pick<Reading, 'businessId' | 'now'>,
  keys: { ids: string[]; emails: string[] },
): Promise<{ deleted: number; notFound: string[] }> {
  const deleteAfter = new Date(reading.now.getTime() + thirtyDaysMs)
  const gone = await db.begin(async tx => {
    const rows = await store.markDeleted(tx, reading.businessId, keys, reading.now, deleteAfter)
    await emit(tx, ...rows.map(row => event(reading, 'subscriber_delete', { ...row, deleteAfter })))
    return rows
  })
  const found = new Set(gone.flatMap(row => [row._id, row.email.toLowerCase()]))
  const missing = [...new Set([...keys.ids, ...keys.emails])].filter(
    key => !found.has(key) && !found.has(key.toLowerCase()),
  )
  return { deleted: gone.length, notFound: missing }
}

const event = (
  reading: Pick<Reading, 'businessId' | 'now'>,
  type: string,
  data: { _id: string; [more: string]: unknown },
): NewEvent => ({
  businessId: reading.businessId,
  type,
  source: 'api',
  objectId: data._id,
  data,
  at: reading.now,
})

function checkValues({ dateOfBirth }: { dateOfBirth?: string | null }): void {
  if (dateOfBirth && !isLocalDate(dateOfBirth)) throw invalidField('dateOfBirth', 'must be a valid date')
}

/** Spec silent: an empty country or city is an unknown one. */
const rowChanges = (given: SubscriberChanges): store.RowChanges => ({
  firstName: given.firstName,
  lastName: given.lastName,
  mobile: given.mobile,
  country: given.country === '' ? unknown : given.country,
  city: given.city === '' ? unknown : given.city,
  dateOfBirth: given.dateOfBirth,
  leadScore: given.leadScore,
  status: given.status,
  customFields: given.customFields,
})

const withoutNulls = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
