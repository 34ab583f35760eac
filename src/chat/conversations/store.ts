import { type Db, first } from '../../platform/database.ts'
import { type MessageRow, messageColumns } from '../messages/store.ts'

export interface ConversationRow {
  id: string
  contactName: string
  contactMobile: string
  lastMessageAt: Date
  lastMessageId: string
  lastIncomingAt: Date | null
  freeEntryUntil: Date | null
  unreadCount: number
}

const columns = (db: Db) => db`
  conversation.id, contact.name as "contactName", contact.mobile as "contactMobile",
  conversation.last_message_at as "lastMessageAt", conversation.last_message_id as "lastMessageId",
  conversation.last_incoming_at as "lastIncomingAt", conversation.free_entry_until as "freeEntryUntil",
  conversation.unread_count as "unreadCount"`

export const conversations = (
  db: Db,
  businessId: string,
  { unread, offset, limit }: { unread: boolean; offset: number; limit: number },
) => db<ConversationRow[]>`
  select ${columns(db)} from chat_conversation conversation
  join chat_contact contact on contact.business_id = conversation.business_id and contact.id = conversation.id
  where conversation.business_id = ${businessId} ${unread ? db`and conversation.unread_count > 0` : db``}
  order by conversation.last_message_at desc, conversation.id desc offset ${offset} limit ${limit}`

export const countUnread = (db: Db, businessId: string) =>
  db<{ total: number }[]>`
  select count(*)::int as total from chat_conversation where business_id = ${businessId} and unread_count > 0`.then(
    rows => rows[0]?.total ?? 0,
  )

export const conversationById = (db: Db, businessId: string, id: string) =>
  db<ConversationRow[]>`
  select ${columns(db)} from chat_conversation conversation
  join chat_contact contact on contact.business_id = conversation.business_id and contact.id = conversation.id
  where conversation.business_id = ${businessId} and conversation.id = ${id}`.then(first)

export const messagesByIds = (db: Db, businessId: string, ids: string[]) => db<MessageRow[]>`
  select ${messageColumns(db)} from chat_message where business_id = ${businessId} and id = any(${ids})`

export const messagesOf = (
  db: Db,
  businessId: string,
  { conversationId, offset, limit }: { conversationId: string; offset: number; limit: number },
) => db<MessageRow[]>`
  select ${messageColumns(db)} from chat_message
  where business_id = ${businessId} and conversation_id = ${conversationId}
  order by created_at desc, id desc offset ${offset} limit ${limit}`

export const countMessages = (db: Db, businessId: string, conversationId: string) =>
  db<{ total: number }[]>`
  select count(*)::int as total from chat_message
  where business_id = ${businessId} and conversation_id = ${conversationId}`.then(rows => rows[0]?.total ?? 0)

/** Answers how many were new to us, and the newest of all, for the platform's read receipt. */
export async function markSeen(db: Db, businessId: string, conversationId: string) {
  const seen = await db`
    update chat_message set seen = true
    where business_id = ${businessId} and conversation_id = ${conversationId} and direction = 'in' and not seen`
  await db`update chat_conversation set unread_count = 0 where business_id = ${businessId} and id = ${conversationId}`
  const [newest] = await db<{ platformId: string }[]>`
    select platform_id as "platformId" from chat_message
    where business_id = ${businessId} and conversation_id = ${conversationId} and direction = 'in'
    order by created_at desc, id desc limit 1`
  return { seen: seen.count, newest: newest?.platformId }
}
