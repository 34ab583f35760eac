import type { Business } from '../../platform/business.ts'
import { beginWithRetry, type Database, type Db, isUniqueViolation, type Tx } from '../../platform/database.ts'
import type { EventSource } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, notFound, unprocessable } from '../../platform/problem.ts'
import { tellContacts } from '../events.ts'
import { ensureLists } from '../lists/lists.ts'
import { dialingCode, readNumber } from '../phone.ts'
import { missingNames } from '../settings/settings.ts'
import { countContacts } from '../tally.ts'
import type { ContactChange, ContactDetails, ContactSource } from './schema.ts'
import * as store from './store.ts'

export type Contact = store.ContactRow

export const getContact = async (db: Db, businessId: string, id: string): Promise<Contact> =>
  (await store.contactById(db, businessId, id.toLowerCase())) ?? fail(notFound('Contact'))

export function newContact(contact: { mobile: string; source: ContactSource; now: Date; name?: string }): Contact {
  const { mobile, source, now, name = '' } = contact
  return {
    id: newId(),
    name,
    countryCode: dialingCode(mobile),
    mobile,
    status: 'active',
    source,
    optin: true,
    stoppedAt: null,
    incomingBlocked: false,
    attributes: [],
    list: [],
    tags: [],
    broadcastIds: [],
    revision: 0,
    createdAt: now,
    updatedAt: now,
  }
}

/** The contact with the details put in: tags and lists replace, attributes merge, an empty value removes one. */
export function withDetails(
  contact: Contact,
  details: ContactDetails,
  listNames: ReadonlyMap<string, string>,
): Contact {
  const incomingBlocked = details.incomingBlocked ?? contact.incomingBlocked
  return {
    ...contact,
    name: details.name ?? contact.name,
    optin: details.optin ?? contact.optin,
    incomingBlocked,
    // Spec silent: blocked is what a contact is whose incoming messages are blocked.
    status: incomingBlocked ? 'blocked' : 'active',
    tags: details.tags ? [...new Set(details.tags)] : contact.tags,
    list: details.list
      ? [...new Set(details.list.map(name => listNames.get(name.toLowerCase()) ?? name))]
      : contact.list,
    attributes: mergeAttributes(contact.attributes, details.attributes ?? []),
  }
}

function mergeAttributes(
  present: readonly store.Attribute[],
  changes: readonly { name: string; value: string | number | boolean | null }[],
): store.Attribute[] {
  const merged = new Map(present.map(attribute => [attribute.name, attribute]))
  for (const { name, value } of changes) {
    const text = value === null ? '' : String(value)
    if (text === '') merged.delete(name)
    else merged.set(name, { name, value: text, _id: merged.get(name)?._id ?? newId() })
  }
  return [...merged.values()]
}

/** What the details name but the settings lack, as one sentence; undefined where all exist. */
export async function unknownNames(
  db: Db,
  businessId: string,
  details: Pick<ContactChange, 'tags' | 'tagsToAdd' | 'attributes'>,
): Promise<string | undefined> {
  const tags = await missingNames(db, 'chat_tag', businessId, [...(details.tags ?? []), ...(details.tagsToAdd ?? [])])
  const attributes = await missingNames(
    db,
    'chat_attribute',
    businessId,
    (details.attributes ?? []).map(attribute => attribute.name),
  )
  return describeUnknown(tags, attributes)
}

export function describeUnknown(tags: readonly string[], attributes: readonly string[]): string | undefined {
  const parts = []
  if (tags.length > 0) parts.push(`tags ${tags.map(name => `"${name}"`).join(', ')}`)
  if (attributes.length > 0) parts.push(`attributes ${attributes.map(name => `"${name}"`).join(', ')}`)
  return parts.length > 0 ? `Not in settings: ${parts.join('; ')}. Add them first.` : undefined
}

export async function requireKnownNames(
  db: Db,
  businessId: string,
  details: Pick<ContactChange, 'tags' | 'tagsToAdd' | 'attributes'>,
): Promise<void> {
  const unknown = await unknownNames(db, businessId, details)
  if (unknown) throw unprocessable('not_in_settings', unknown)
}

export interface Change {
  now: Date
  source: EventSource
}

/** Tags replace first, then those to add, then those to remove. */
export function updateContact(
  db: Database,
  business: Business,
  id: string,
  change: ContactChange & Change,
): Promise<Contact> {
  return beginWithRetry(db, async tx => {
    const before = (await store.lockContact(tx, business.id, id.toLowerCase())) ?? fail(notFound('Contact'))
    // A value can be taken away also after its name left the settings.
    const carried = new Set(before.attributes.map(attribute => attribute.name))
    const given = change.attributes?.filter(({ name, value }) => !carried.has(name) || (value !== '' && value !== null))
    await requireKnownNames(tx, business.id, { ...change, ...(given && { attributes: given }) })
    const lists = await ensureLists(tx, business.id, { wanted: change.list ?? [], now: change.now })
    const after = withDetails(before, change, lists)
    const removed = new Set(change.tagsToRemove)
    after.tags = [...new Set([...after.tags, ...(change.tagsToAdd ?? [])])].filter(tag => !removed.has(tag))
    if (change.mobile !== undefined) await renumber(tx, business.id, after, readNumber('mobile', change.mobile))
    return saveContact(tx, business, { before, after, ...change })
  })
}

async function renumber(tx: Tx, businessId: string, contact: Contact, mobile: string): Promise<void> {
  const owners = await store.contactsByNumbers(tx, businessId, [mobile])
  if (owners.some(owner => owner.id !== contact.id)) throw numberTaken(mobile)
  contact.mobile = mobile
  contact.countryCode = dialingCode(mobile)
}

const numberTaken = (mobile: string) =>
  conflict('contact_mobile_taken', `Another contact has the number ${mobile} already.`)

/** Writes a changed contact with its revision, its counts and its event. */
export async function saveContact(
  tx: Tx,
  business: Business,
  { before, after, now, source }: { before: Contact; after: Contact } & Change,
): Promise<Contact> {
  const saved = { ...after, revision: before.revision + 1, updatedAt: now }
  await store.updateContacts(tx, business.id, [saved]).catch(error => {
    throw isUniqueViolation(error, 'chat_contact_mobile') ? numberTaken(saved.mobile) : error
  })
  await countContacts(tx, business.id, [{ before, after: saved }])
  await tellContacts(tx, business, { type: 'contact_update', source, now }, [saved])
  return saved
}
