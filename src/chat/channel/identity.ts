import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newContact, saveContact } from '../contacts/contacts.ts'
import * as contactStore from '../contacts/store.ts'
import { tellContacts } from '../events.ts'
import { dialingCode } from '../phone.ts'
import { addToTallies } from '../store.ts'
import { countContacts, tallyNames } from '../tally.ts'
import { moveThread } from './store-incoming.ts'

/** How the platform names a person: by number, by a user id of its own, or by both. Either may be missing. */
export interface Names {
  phone: string | undefined
  userId: string | undefined
  profileName: string
  /** the number that a person moves to */
  movesTo?: string | undefined
}

/**
 * One person, one contact: found by number first, then by user id; what was not known before is added. A number and a
 * user id that lead to two contacts show that they are one person: the one with the number stays, the other is joined to it.
 */
export async function resolveContact(
  tx: Tx,
  business: Business,
  names: Names,
  now: Date,
): Promise<contactStore.ContactRow> {
  const { phone, userId, movesTo } = names
  // Two messages of a new person must not make two contacts.
  for (const name of [phone, userId, movesTo].filter(one => one !== undefined).sort())
    await contactStore.lockNumber(tx, business.id, name)
  const byPhone = phone ? (await contactStore.contactsByNumbers(tx, business.id, [phone]))[0] : undefined
  const byUser = userId ? await contactStore.contactByUserId(tx, business.id, userId) : undefined
  if (byPhone && byUser && byPhone.id !== byUser.id)
    return joinContacts(tx, business, { stays: byPhone, goes: byUser, now })
  const contact = byPhone ?? byUser ?? (await createContact(tx, business, names, now))
  if (userId && !byUser)
    await contactStore.addIdentity(tx, business.id, { kind: 'user', value: userId, contactId: contact.id })
  return phone && !byPhone && contact.mobile !== phone ? addPhone(tx, business, contact, { phone, now }) : contact
}

async function createContact(tx: Tx, business: Business, { phone = '', profileName }: Names, now: Date) {
  const contact = newContact({ mobile: phone, source: 'wa', now, name: profileName.slice(0, 256) })
  const written = await contactStore.insertContacts(tx, business.id, [contact])
  // A request made the contact between our look and our write: it is the one.
  if (written.size === 0) return (await contactStore.contactsByNumbers(tx, business.id, [phone]))[0]!
  await countContacts(tx, business.id, [{ after: contact }])
  await tellContacts(tx, business, { type: 'contact_create', source: 'channel', now }, [contact])
  return contact
}

/** The first number becomes the contact's own; a further one stands beside it. */
async function addPhone(
  tx: Tx,
  business: Business,
  contact: contactStore.ContactRow,
  { phone, now }: { phone: string; now: Date },
): Promise<contactStore.ContactRow> {
  if (contact.mobile !== '') {
    await contactStore.addIdentity(tx, business.id, { kind: 'phone', value: phone, contactId: contact.id })
    return contact
  }
  return setPhone(tx, business, contact, { phone, now })
}

async function setPhone(
  tx: Tx,
  business: Business,
  contact: contactStore.ContactRow,
  { phone, now }: { phone: string; now: Date },
): Promise<contactStore.ContactRow> {
  const before = (await contactStore.lockContact(tx, business.id, contact.id)) ?? contact
  const after = { ...before, mobile: phone, countryCode: dialingCode(phone) }
  return saveContact(tx, business, { before, after, now, source: 'channel' })
}

/**
 * The person moved to another number: what we send goes there from now on, since the old one may soon be somebody else's.
 * The old one stays beside it. A number that is another contact's is left alone: it may be one that was given out anew.
 */
export async function changePhone(
  tx: Tx,
  business: Business,
  contact: contactStore.ContactRow,
  { phone, now }: { phone: string; now: Date },
): Promise<void> {
  const [owner] = await contactStore.contactsByNumbers(tx, business.id, [phone])
  if ((owner && owner.id !== contact.id) || contact.mobile === phone) return
  await setPhone(tx, business, contact, { phone, now })
  if (contact.mobile)
    await contactStore.addIdentity(tx, business.id, { kind: 'phone', value: contact.mobile, contactId: contact.id })
}

async function joinContacts(
  tx: Tx,
  business: Business,
  { stays, goes, now }: { stays: contactStore.ContactRow; goes: contactStore.ContactRow; now: Date },
): Promise<contactStore.ContactRow> {
  await contactStore.lockContacts(tx, business.id, [stays.id, goes.id])
  const before = (await contactStore.contactById(tx, business.id, stays.id))!
  const gone = (await contactStore.contactById(tx, business.id, goes.id))!
  const names = new Set(before.attributes.map(attribute => attribute.name))
  const after: contactStore.ContactRow = {
    ...before,
    name: before.name || gone.name,
    optin: before.optin && gone.optin,
    stoppedAt: before.stoppedAt ?? gone.stoppedAt,
    tags: [...new Set([...before.tags, ...gone.tags])],
    list: [...new Set([...before.list, ...gone.list])],
    attributes: [...before.attributes, ...gone.attributes.filter(attribute => !names.has(attribute.name))],
  }
  const hadTwoThreads = await moveThread(tx, business.id, { from: gone.id, to: before.id })
  if (hadTwoThreads) await addToTallies(tx, business.id, [[tallyNames.conversations, -1]])
  if (gone.mobile)
    await contactStore.addIdentity(tx, business.id, { kind: 'phone', value: gone.mobile, contactId: before.id })
  await countContacts(tx, business.id, [{ before: gone }])
  await emit(tx, {
    businessId: business.id,
    type: 'contact_merge',
    source: 'channel',
    objectId: before.id,
    data: { _id: before.id, mergedId: gone.id },
    at: now,
  })
  return saveContact(tx, business, { before, after, now, source: 'channel' })
}
