import { Type } from 'typebox'
import { beginWithRetry, type Db } from '../../platform/database.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { Id, IdInPath, Nullable, PageQuery, Timestamp } from '../../platform/schema.ts'
import { channelOf } from '../channel/channels.ts'
import { envelope, ok } from '../envelope.ts'
import { answersSuccess, SentAnswer } from '../messages/endpoints.ts'
import { sendMessage } from '../messages/send.ts'
import { MessageSchema, shownMessage } from '../messages/shown.ts'
import { recipientById } from '../messages/store.ts'
import { recentSetting } from '../settings/settings.ts'
import { tally } from '../store.ts'
import { tallyNames } from '../tally.ts'
import * as store from './store.ts'

const windowMs = 24 * 3_600_000

const ConversationSchema = Type.Object({
  _id: Id,
  chatId: Id,
  contact: Type.Object({ _id: Id, name: Type.String(), mobile: Type.String() }),
  lastMessage: Nullable(MessageSchema),
  lastMessageAt: Timestamp,
  lastActive: Nullable(Timestamp),
  windowExpiresAt: Nullable(Timestamp),
  unreadCount: Type.Integer(),
})

async function shownConversations(db: Db, businessId: string, rows: readonly store.ConversationRow[]) {
  const messages = await store.messagesByIds(
    db,
    businessId,
    rows.map(row => row.lastMessageId),
  )
  const byId = new Map(messages.map(message => [message.id, message]))
  return rows.map(row => {
    const last = byId.get(row.lastMessageId)
    const ends = [row.lastIncomingAt ? row.lastIncomingAt.getTime() + windowMs : 0, row.freeEntryUntil?.getTime() ?? 0]
    return {
      _id: row.id,
      chatId: row.id,
      contact: { _id: row.id, name: row.contactName, mobile: row.contactMobile },
      lastMessage: last ? shownMessage(last) : null,
      lastMessageAt: row.lastMessageAt,
      lastActive: row.lastIncomingAt,
      windowExpiresAt: Math.max(...ends) > 0 ? new Date(Math.max(...ends)) : null,
      unreadCount: row.unreadCount,
    }
  })
}

export const listConversations = endpoint({
  summary: 'List conversations, the latest first',
  query: Type.Object({ ...PageQuery, unread: Type.Optional(Type.Boolean()) }),
  answer: envelope(
    Type.Object({
      conversations: Type.Array(ConversationSchema),
      total: Type.Integer(),
      page: Type.Integer(),
      limit: Type.Integer(),
    }),
  ),
  run: async ({ db, business, query }) => {
    const { page, limit, offset } = pageRequest(query, 25)
    const unread = query.unread === true
    const rows = await store.conversations(db, business.id, { unread, offset, limit })
    const total = unread
      ? await store.countUnread(db, business.id)
      : await tally(db, business.id, tallyNames.conversations)
    return ok('Conversations fetched', {
      conversations: await shownConversations(db, business.id, rows),
      total,
      page,
      limit,
    })
  },
})

const ChatInPath = Type.Object({ chatId: IdInPath })
const getConversation = async (db: Db, businessId: string, chatId: string) =>
  (await store.conversationById(db, businessId, chatId)) ?? fail(notFound('Conversation'))

export const listMessages = endpoint({
  summary: 'Messages of a conversation, the latest first',
  params: ChatInPath,
  query: Type.Object(PageQuery),
  answer: envelope(
    Type.Object({
      messages: Type.Array(MessageSchema),
      total: Type.Integer(),
      page: Type.Integer(),
      limit: Type.Integer(),
    }),
  ),
  run: async ({ db, business, params, query }) => {
    const { id } = await getConversation(db, business.id, params.chatId)
    const { page, limit, offset } = pageRequest(query, 25)
    const messages = await store.messagesOf(db, business.id, { conversationId: id, offset, limit })
    const total = await store.countMessages(db, business.id, id)
    return ok('Messages fetched', { messages: messages.map(shownMessage), total, page, limit })
  },
})

export const markRead = endpoint({
  summary: 'Mark a conversation as read; the person sees it too',
  params: ChatInPath,
  answer: envelope(Type.Object({ chatId: Id, read: Type.Integer() })),
  effects: 'outside',
  run: async ({ platform, db, business, params, log }) => {
    const { id } = await getConversation(db, business.id, params.chatId)
    const { seen, newest } = await beginWithRetry(db, tx => store.markSeen(tx, business.id, id))
    const setting = await recentSetting(platform, business.id)
    // The receipt is a courtesy: what we have read is read, also where the platform is away.
    if (seen > 0 && newest)
      await channelOf(platform, setting)
        .markRead(newest)
        .catch(error => log.warn({ err: error }, 'read receipt failed'))
    return ok('Conversation read', { chatId: id, read: seen })
  },
})

export const reply = endpoint({
  summary: 'Reply in a conversation: the body of POST /messages without to',
  params: ChatInPath,
  body: Type.Object({
    type: Type.String(),
    interactiveType: Type.Optional(Type.String()),
    templateName: Type.Optional(Type.String()),
  }),
  answer: SentAnswer,
  effects: 'outside',
  run: async ({ platform, db, business, params, body, idempotencyKey }) => {
    const conversation = (await recipientById(db, business.id, params.chatId)) ?? fail(notFound('Conversation'))
    // A key belongs to its path; the messages of all paths share one table.
    const key = idempotencyKey && `${conversation.id} ${idempotencyKey}`
    const data = await sendMessage(platform, db, business, { body, idempotencyKey: key, conversation })
    const message = 'Message sent'
    return answersSuccess(body) ? { success: true, message, data } : { status: 'success' as const, message, data }
  },
})
