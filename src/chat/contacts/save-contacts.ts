import type { Business } from '../../platform/business.ts'
import { beginWithRetry, type Database, type Tx } from '../../platform/database.ts'
import { Problem } from '../../platform/problem.ts'
import { tellContacts } from '../events.ts'
import { ensureLists } from '../lists/lists.ts'
import { findNumber, numberRule } from '../phone.ts'
import { bodyReader } from '../read-body.ts'
import { missingNames } from '../settings/settings.ts'
import { countContacts } from '../tally.ts'
import { type Change, type Contact, describeUnknown, newContact, withDetails } from './contacts.ts'
import { type ContactDetails, type ContactSource, contactTexts, NewContactSchema } from './schema.ts'
import * as store from './store.ts'

export type OnDuplicate = 'skip' | 'overwrite' | 'error'

export interface SavedContacts {
  createdContacts: Contact[]
  updatedContacts: Contact[]
  skippedContacts: Contact[]
  failedContacts: { index: number; mobile: string; error: string }[]
}

interface Item {
  index: number
  mobile: string
  details: ContactDetails
}

export const readNewContact = bodyReader(NewContactSchema, contactTexts)

class NumberTakenMeanwhile extends Error {}

/** Creates or updates many contacts; a bad item fails alone, the good ones are saved together. */
export async function saveContacts(
  db: Database,
  business: Business,
  items: readonly unknown[],
  options: Change & { onDuplicate: OnDuplicate; contactSource: ContactSource },
): Promise<SavedContacts> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await beginWithRetry(db, tx => saveInTransaction(tx, business, items, options))
    } catch (error) {
      if (!(error instanceof NumberTakenMeanwhile) || attempt === 5) throw error
    }
  }
}

async function saveInTransaction(
  tx: Tx,
  business: Business,
  items: readonly unknown[],
  options: Change & { onDuplicate: OnDuplicate; contactSource: ContactSource },
): Promise<SavedContacts> {
  const saved: SavedContacts = { createdContacts: [], updatedContacts: [], skippedContacts: [], failedContacts: [] }
  const good = await refuseUnknown(tx, business.id, readItems(items, saved), saved)
  const wantedLists = good.flatMap(item => item.details.list ?? [])
  const lists = await ensureLists(tx, business.id, { wanted: wantedLists, now: options.now })
  const known = await loadKnown(tx, business.id, good)
  const originals = new Map([...known.values()].map(contact => [contact.id, contact]))
  const created = new Map<string, Contact>()
  const updated = new Map<string, Contact>()

  for (const { index, mobile, details } of good) {
    const found = known.get(mobile)
    // Two numbers of one batch may be the same person's.
    const present = found && (updated.get(found.id) ?? found)
    if (present && options.onDuplicate === 'skip') saved.skippedContacts.push(present)
    else if (present && options.onDuplicate === 'error')
      saved.failedContacts.push({ index, mobile, error: 'A contact with this number exists already.' })
    else {
      const base = present ?? newContact({ mobile, source: options.contactSource, now: options.now })
      const contact = withDetails(base, details, lists)
      known.set(mobile, contact)
      if (originals.has(contact.id)) updated.set(contact.id, contact)
      else created.set(contact.id, contact)
    }
  }
  saved.createdContacts = [...created.values()]
  saved.updatedContacts = [...updated.values()].map(contact => ({
    ...contact,
    revision: contact.revision + 1,
    updatedAt: options.now,
  }))
  await write(tx, business, saved, originals, options)
  return saved
}

function readItems(items: readonly unknown[], saved: SavedContacts): Item[] {
  const good: Item[] = []
  for (const [index, item] of items.entries()) {
    const given = (item as { mobile?: unknown } | null)?.mobile
    const mobile = findNumber(given)
    try {
      const details = readNewContact(item)
      if (mobile !== undefined) good.push({ index, mobile, details })
      else saved.failedContacts.push({ index, mobile: String(given ?? ''), error: `mobile ${numberRule}.` })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const shown = typeof given === 'string' || typeof given === 'number' ? String(given) : ''
      saved.failedContacts.push({
        index,
        mobile: mobile ?? shown,
        error: error.message.replace(/^body /, 'A contact '),
      })
    }
  }
  return good
}

async function refuseUnknown(tx: Tx, businessId: string, items: Item[], saved: SavedContacts): Promise<Item[]> {
  const tagsOf = (item: Item) => item.details.tags ?? []
  const attributesOf = (item: Item) => (item.details.attributes ?? []).map(attribute => attribute.name)
  const missingTags = new Set(await missingNames(tx, 'chat_tag', businessId, items.flatMap(tagsOf)))
  const missingAttributes = new Set(await missingNames(tx, 'chat_attribute', businessId, items.flatMap(attributesOf)))
  return items.filter(item => {
    const error = describeUnknown(
      tagsOf(item).filter(tag => missingTags.has(tag)),
      attributesOf(item).filter(name => missingAttributes.has(name)),
    )
    if (error) saved.failedContacts.push({ index: item.index, mobile: item.mobile, error })
    return !error
  })
}

/** Locked first, so that what is changed is what was read; while we waited a number may have become another contact's. */
async function loadKnown(tx: Tx, businessId: string, items: readonly Item[]): Promise<Map<string, Contact>> {
  const numbers = items.map(item => item.mobile)
  const locked = new Set<string>()
  for (;;) {
    const found = await store.contactsByNumbers(tx, businessId, numbers)
    const open = found.map(contact => contact.id).filter(id => !locked.has(id))
    if (open.length === 0) return new Map(found.map(({ matched, ...contact }) => [matched, contact]))
    await store.lockContacts(tx, businessId, open)
    for (const id of open) locked.add(id)
  }
}

async function write(
  tx: Tx,
  business: Business,
  saved: SavedContacts,
  originals: ReadonlyMap<string, Contact>,
  change: Change,
): Promise<void> {
  const { createdContacts, updatedContacts, failedContacts } = saved
  if (createdContacts.length > 0) {
    const written = await store.insertContacts(tx, business.id, createdContacts)
    if (written.size < createdContacts.length) throw new NumberTakenMeanwhile()
  }
  if (updatedContacts.length > 0) await store.updateContacts(tx, business.id, updatedContacts)
  await countContacts(tx, business.id, [
    ...createdContacts.map(after => ({ after })),
    ...updatedContacts.map(after => ({ before: originals.get(after.id)!, after })),
  ])
  await tellContacts(tx, business, { type: 'contact_create', ...change }, createdContacts)
  await tellContacts(tx, business, { type: 'contact_update', ...change }, updatedContacts)
  failedContacts.sort((a, b) => a.index - b.index)
}
