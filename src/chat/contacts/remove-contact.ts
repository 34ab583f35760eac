import type { Business } from '../../platform/business.ts'
import { beginWithRetry, type Database, type Tx } from '../../platform/database.ts'
import { conflict } from '../../platform/problem.ts'
import { tellContacts } from '../events.ts'
import { addToTallies } from '../store.ts'
import { countContacts, tallyNames } from '../tally.ts'
import { type Change, type Contact, getContact } from './contacts.ts'
import { lockNumber } from './store.ts'
import * as store from './store-remove.ts'

/**
 * Spec silent: a contact is deleted with all that is kept about the person: conversation, messages in both directions, the files they
 * sent, their words of consent. Broadcasts keep their counts. Should they write again, they are a new contact.
 */
export function removeContact(db: Database, business: Business, id: string, { now, source }: Change): Promise<Contact> {
  return beginWithRetry(db, async tx => {
    const contactId = (await getContact(tx, business.id, id)).id
    // What the person writes meanwhile waits here, and then finds no contact.
    for (const name of (await store.namesOf(tx, business.id, contactId)).sort()) await lockNumber(tx, business.id, name)
    await store.lockBroadcastsOf(tx, business.id, contactId)
    const hadConversation = await store.lockConversation(tx, business.id, contactId)
    if (hadConversation) await uncountConversation(tx, business.id)
    await requireNothingUnderWay(tx, business.id, contactId)
    await store.lockWhole(tx, business.id, contactId)
    const contact = await getContact(tx, business.id, contactId)
    // Now that the contact is locked no further message can be written to it; one may have been just before.
    await requireNothingUnderWay(tx, business.id, contactId)
    if (!hadConversation && (await store.lockConversation(tx, business.id, contactId)))
      await uncountConversation(tx, business.id)
    await store.rememberOutcomes(tx, business.id, contactId)
    await store.removeAll(tx, business.id, contactId)
    await countContacts(tx, business.id, [{ before: contact }])
    await tellContacts(tx, business, { type: 'contact_delete', source, now }, [contact])
    return contact
  })
}

const uncountConversation = (tx: Tx, businessId: string) =>
  addToTallies(tx, businessId, [[tallyNames.conversations, -1]])

async function requireNothingUnderWay(tx: Tx, businessId: string, contactId: string): Promise<void> {
  if (await store.lockMessages(tx, businessId, contactId))
    throw conflict('contact_busy', 'A message to this contact is being sent right now. Try again in a moment.')
}
