import { type Db, first } from '../../platform/database.ts'
import { type MessageRow, messageColumns } from '../messages/store.ts'

export interface NewIncoming {
  id: string
  contactId: string
  kind: string
  sender: string
  payload: object
  platformId: string
  blocked: boolean
  mediaId: string | null
  at: Date
  now: Date
}

/**
 * Undefined when this message was received before. The platform tells whole seconds: what arrives in the second of the last
 * message is put behind it, by less than is shown, because it was written later or at least read later.
 */
export const insertIncoming = (db: Db, businessId: string, message: NewIncoming) =>
  db<MessageRow[]>`
  insert into chat_message (business_id, id, conversation_id, direction, kind, status, recipient, payload, platform_id,
    media_id, blocked, seen, created_at, updated_at)
  values (${businessId}, ${message.id}, ${message.contactId}, 'in', ${message.kind}, 'received', ${message.sender},
    ${db.json(message.payload as never)}, ${message.platformId}, ${message.mediaId}, ${message.blocked}, ${message.blocked},
    coalesce((
      select last_message_at + interval '1 microsecond' from chat_conversation
      where business_id = ${businessId} and id = ${message.contactId}
        and last_message_at >= ${message.at} and last_message_at < ${message.at}::timestamptz + interval '1 second'),
      ${message.at}), ${message.now})
  on conflict (business_id, platform_id) where direction = 'in' do nothing
  returning ${messageColumns(db)}`.then(first)

/** Late messages do not turn the time of the conversation back. */
export const touchConversation = (
  db: Db,
  businessId: string,
  touch: {
    contactId: string
    messageId: string
    messageAt: Date
    writtenAt: Date | null
    unread: number
    freeEntryUntil: Date | null
  },
) =>
  db<{ fresh: boolean }[]>`
  insert into chat_conversation (business_id, id, last_message_at, last_message_id, last_incoming_at, unread_count, free_entry_until)
  values (${businessId}, ${touch.contactId}, ${touch.messageAt}, ${touch.messageId}, ${touch.writtenAt}, ${touch.unread},
    ${touch.freeEntryUntil})
  on conflict (business_id, id) do update
  set last_message_id = case when excluded.last_message_at >= chat_conversation.last_message_at
        then excluded.last_message_id else chat_conversation.last_message_id end,
      last_message_at = greatest(chat_conversation.last_message_at, excluded.last_message_at),
      last_incoming_at = greatest(chat_conversation.last_incoming_at, excluded.last_incoming_at),
      free_entry_until = greatest(chat_conversation.free_entry_until, excluded.free_entry_until),
      unread_count = chat_conversation.unread_count + excluded.unread_count
  returning (xmax = 0) as fresh`.then(rows => rows[0]?.fresh === true)

export const moveThread = async (db: Db, businessId: string, { from, to }: { from: string; to: string }) => {
  await db`update chat_message set conversation_id = ${to} where business_id = ${businessId} and conversation_id = ${from}`
  await db`update chat_identity set contact_id = ${to} where business_id = ${businessId} and contact_id = ${from}`
  await db`update chat_consent set contact_id = ${to} where business_id = ${businessId} and contact_id = ${from}`
  const joined = await db<{ both: boolean }[]>`
    with gone as (delete from chat_conversation where business_id = ${businessId} and id = ${from} returning *)
    insert into chat_conversation (business_id, id, last_message_at, last_message_id, last_incoming_at, unread_count, free_entry_until)
    select business_id, ${to}, last_message_at, last_message_id, last_incoming_at, unread_count, free_entry_until from gone
    on conflict (business_id, id) do update
    set last_message_id = case when excluded.last_message_at >= chat_conversation.last_message_at
          then excluded.last_message_id else chat_conversation.last_message_id end,
        last_message_at = greatest(chat_conversation.last_message_at, excluded.last_message_at),
        last_incoming_at = greatest(chat_conversation.last_incoming_at, excluded.last_incoming_at),
        free_entry_until = greatest(chat_conversation.free_entry_until, excluded.free_entry_until),
        unread_count = chat_conversation.unread_count + excluded.unread_count
    returning (xmax <> 0) as both`
  await db`delete from chat_contact where business_id = ${businessId} and id = ${from}`
  return joined[0]?.both === true
}
