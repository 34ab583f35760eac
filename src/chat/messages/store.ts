import { type Db, first, isOrphan } from '../../platform/database.ts'
import { type ContactRow, contactColumns } from '../contacts/store.ts'

export type MessageStatus =
  | 'queued'
  | 'sending'
  | 'accepted'
  | 'sent'
  | 'delivered'
  | 'read'
  | 'failed'
  | 'unknown'
  | 'cancelled'
  | 'received'

export interface MessageError {
  code: number | string
  title: string
  details: string
}

export interface MessageRow {
  id: string
  conversationId: string
  direction: 'in' | 'out'
  kind: string
  status: MessageStatus
  recipient: string
  payload: Record<string, unknown>
  platformId: string | null
  platformAnswer: Record<string, unknown> | null
  error: MessageError | null
  pricing: Record<string, unknown> | null
  attempt: number
  category: string
  broadcastId: string | null
  mediaId: string | null
  blocked: boolean
  seen: boolean
  createdAt: Date
  updatedAt: Date
  acceptedAt: Date | null
  sentAt: Date | null
  deliveredAt: Date | null
  readAt: Date | null
  failedAt: Date | null
}

export const messageColumns = (db: Db) => db`
  id, conversation_id as "conversationId", direction, kind, status, recipient, payload, platform_id as "platformId",
  platform_answer as "platformAnswer", error, pricing, attempt, category, broadcast_id as "broadcastId", media_id as "mediaId", blocked, seen,
  created_at as "createdAt", updated_at as "updatedAt", accepted_at as "acceptedAt", sent_at as "sentAt",
  delivered_at as "deliveredAt", read_at as "readAt", failed_at as "failedAt"`

export interface Recipient extends ContactRow {
  lastIncomingAt: Date | null
  freeEntryUntil: Date | null
}

const conversationColumns = (db: Db) =>
  db`conversation.last_incoming_at as "lastIncomingAt", conversation.free_entry_until as "freeEntryUntil"`

/** The contact of a number with what a send must know of it. A number it had before, or that the platform rewrote, finds it too. */
export const findRecipient = (db: Db, businessId: string, number: string) =>
  db<Recipient[]>`
  select ${contactColumns(db)}, ${conversationColumns(db)}
  from (
    select id, 1 as place from chat_contact where business_id = ${businessId} and mobile = ${number} and mobile <> ''
    union all
    select contact_id, 2 from chat_identity where business_id = ${businessId} and kind = 'phone' and value = ${number}
    order by place limit 1) named
  join chat_contact contact on contact.business_id = ${businessId} and contact.id = named.id
  left join chat_conversation conversation on conversation.business_id = contact.business_id and conversation.id = contact.id`.then(
    first,
  )

export const recipientById = (db: Db, businessId: string, id: string) =>
  db<Recipient[]>`
  select ${contactColumns(db)}, ${conversationColumns(db)} from chat_contact contact
  left join chat_conversation conversation on conversation.business_id = contact.business_id and conversation.id = contact.id
  where contact.business_id = ${businessId} and contact.id = ${id}`.then(first)

export interface NewOutgoing {
  id: string
  contactId: string
  kind: string
  recipient: string
  payload: object
  idempotencyKey: string | null
  category: string
  templateId: string | null
  templateVersion: number | null
  mediaId: string | null
  leaseSeconds: number
  now: Date
}

/** The conversations of the messages `written`, moved to the newest, and counted where they are new. */
export const followedByThreads = (db: Db, businessId: string) => db`
  thread as (
    insert into chat_conversation (business_id, id, last_message_at, last_message_id)
    select distinct on (conversation_id) ${businessId}, conversation_id, created_at, id
    from written order by conversation_id, created_at desc, id desc
    on conflict (business_id, id) do update
    set last_message_at = excluded.last_message_at, last_message_id = excluded.last_message_id
    where chat_conversation.last_message_at <= excluded.last_message_at
    returning (xmax = 0) as fresh),
  counted as (
    insert into chat_tally (business_id, name, shard, count)
    select ${businessId}, 'conversations', 0, count(*) from thread where fresh having count(*) > 0
    on conflict (business_id, name, shard) do update set count = chat_tally.count + excluded.count)`

/**
 * Messages, durable before anything leaves, already claimed by who writes them: one statement, one commit.
 * Answers which were written; a message whose idempotency key has one already is not.
 */
export const insertOutgoing = (db: Db, businessId: string, messages: readonly NewOutgoing[]): Promise<Set<string>> =>
  db<{ id: string }[]>`
  with written as (
    insert into chat_message (business_id, id, conversation_id, direction, kind, status, recipient, idempotency_key, payload,
      attempt, lease_until, category, template_id, template_version, media_id, created_at, updated_at)
    select ${businessId}, id, "contactId", 'out', kind, 'sending', recipient, "idempotencyKey", payload, 1,
      now() + "leaseSeconds" * interval '1 second', category, "templateId", "templateVersion", "mediaId", now, now
    from jsonb_to_recordset(${db.json(messages as never)}::jsonb) as x (
      id text, "contactId" text, kind text, recipient text, payload jsonb, "idempotencyKey" text, category text,
      "templateId" text, "templateVersion" int, "mediaId" text, "leaseSeconds" int, now timestamptz)
    on conflict (business_id, idempotency_key) where idempotency_key is not null do nothing
    returning id, conversation_id, created_at),
  ${followedByThreads(db, businessId)}
  select id from written`.then(rows => new Set(rows.map(row => row.id)))

/** The message could not be written because its contact was deleted meanwhile. */
export const isContactGone = (error: unknown) =>
  isOrphan(error, 'chat_message_business_id_conversation_id_fkey') ||
  isOrphan(error, 'chat_conversation_business_id_id_fkey')

export const messageById = (db: Db, businessId: string, id: string) =>
  db<MessageRow[]>`
  select ${messageColumns(db)} from chat_message where business_id = ${businessId} and id = ${id}`.then(first)

/** The first id of the last day. Ids begin with the second they were made in, by the world's clock, also in test mode. */
const dayAgo = (db: Db) => db`lpad(to_hex(extract(epoch from now() - interval '24 hours')::int8), 8, '0')`

/** A key counts for a day, like the key of the request. */
export const messageByKey = (db: Db, businessId: string, key: string) =>
  db<MessageRow[]>`
  select ${messageColumns(db)} from chat_message
  where business_id = ${businessId} and idempotency_key = ${key} and id > ${dayAgo(db)}`.then(first)

export const releaseOldKey = (db: Db, businessId: string, key: string) => db`
  update chat_message set idempotency_key = null
  where business_id = ${businessId} and idempotency_key = ${key} and id <= ${dayAgo(db)}`

/** Another try of the same message; false when it was settled in the meantime, so it must not go out again. */
export const claimNextAttempt = (
  db: Db,
  businessId: string,
  id: string,
  { attempt, leaseSeconds }: { attempt: number; leaseSeconds: number },
) =>
  db`
  update chat_message set attempt = ${attempt}, lease_until = now() + ${leaseSeconds} * interval '1 second'
  where business_id = ${businessId} and id = ${id} and status = 'sending' and attempt = ${attempt - 1}
  returning 1`.then(rows => rows.length > 0)

/** Failed for good or for this request; the key is free for a corrected one. */
export const recordFailed = (
  db: Db,
  businessId: string,
  id: string,
  { error, now }: { error: MessageError; now: Date },
) =>
  db<MessageRow[]>`
  update chat_message
  set status = 'failed', error = ${db.json(error as never)}, failed_at = ${now}, updated_at = ${now}, lease_until = null,
      idempotency_key = null
  where business_id = ${businessId} and id = ${id} and status in ('sending', 'queued')
  returning ${messageColumns(db)}`.then(first)

export const recordUnknown = (db: Db, businessId: string, id: string, now: Date) =>
  db<MessageRow[]>`
  update chat_message set status = 'unknown', updated_at = ${now}, lease_until = null
  where business_id = ${businessId} and id = ${id} and status = 'sending'
  returning ${messageColumns(db)}`.then(first)

/** Whoever held these died with the call under way: nobody can say what became of them until their webhook comes. */
export const businessesWithLostCalls = (db: Db) => db<{ businessId: string }[]>`
  select distinct business_id as "businessId" from chat_message where status = 'sending' and lease_until < now()`

export const markLostUnknown = (db: Db, businessId: string, now: Date) => db<MessageRow[]>`
  update chat_message set status = 'unknown', updated_at = ${now}, lease_until = null
  where business_id = ${businessId} and status = 'sending' and lease_until < now()
  returning ${messageColumns(db)}`

export const approvedTemplateNames = (db: Db, businessId: string) =>
  db<{ name: string }[]>`
  select distinct name from chat_template where business_id = ${businessId} and status = 'APPROVED' order by name limit 5`.then(
    rows => rows.map(row => row.name),
  )
