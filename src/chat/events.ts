import type { Business } from '../platform/business.ts'
import type { Tx } from '../platform/database.ts'
import { type EventSource, emit } from '../platform/events.ts'
import type { Contact } from './contacts/contacts.ts'
import { shownContact } from './contacts/shown.ts'
import { shownMessage } from './messages/shown.ts'
import type { MessageRow } from './messages/store.ts'
import { getSetting } from './settings/settings.ts'

/** Tells of contacts that came, changed or went, in the transaction of the change. */
export async function tellContacts(
  tx: Tx,
  business: Pick<Business, 'id' | 'userId'>,
  {
    type,
    source,
    now,
  }: { type: 'contact_create' | 'contact_update' | 'contact_delete'; source: EventSource; now: Date },
  contacts: readonly Contact[],
): Promise<void> {
  if (contacts.length === 0) return
  const { id: settingId } = await getSetting(tx, business.id)
  await emit(
    tx,
    ...contacts.map(contact => ({
      businessId: business.id,
      type,
      source,
      objectId: contact.id,
      data: shownContact(business, settingId, contact),
      at: now,
    })),
  )
}

type MessageEvent =
  | 'message_sent'
  | 'message_delivered'
  | 'message_read'
  | 'message_failed'
  | 'message_unknown'
  | 'message_received'

/** Tells what became of messages, in the transaction that learnt it. */
export async function tellMessages(
  tx: Tx,
  business: Pick<Business, 'id'>,
  { type, source, now }: { type: MessageEvent; source: EventSource; now: Date },
  messages: readonly MessageRow[],
): Promise<void> {
  await emit(
    tx,
    ...messages.map(message => ({
      businessId: business.id,
      type,
      source,
      objectId: message.conversationId,
      data: shownMessage(message),
      at: now,
    })),
  )
}
