import { type Db, first, only } from '../../platform/database.ts'
import { type ContactRow, contactColumns } from '../contacts/store.ts'
import { type MessageRow, messageColumns } from '../messages/store.ts'

export type BroadcastStatus = 'scheduled' | 'preparing' | 'sending' | 'paused' | 'finished' | 'cancelled'

export interface BroadcastRequest {
  templateName: string
  languageCode: string
  lists: string[]
  tags: string[]
  /** of the template, with fields of the contact still in them */
  parameters: Record<string, unknown>
}

export interface BroadcastRow {
  id: string
  name: string
  templateId: string
  request: BroadcastRequest
  status: BroadcastStatus
  frozenUntil: string
  audience: number
  skipped: number
  /** messages to people who were deleted since, by status */
  forgotten: Record<string, number>
  pauseReason: string
  /** the moment it was made for; null: at once */
  scheduledAt: Date | null
  startedAt: Date | null
  createdAt: Date
  updatedAt: Date
  finishedAt: Date | null
}

const columns = (db: Db) => db`
  id, name, template_id as "templateId", request, status, frozen_until as "frozenUntil", audience, skipped, forgotten,
  pause_reason as "pauseReason", scheduled_at as "scheduledAt", started_at as "startedAt", created_at as "createdAt", updated_at as "updatedAt", finished_at as "finishedAt"`

export const insertBroadcast = (
  db: Db,
  businessId: string,
  broadcast: {
    id: string
    name: string
    templateId: string
    request: BroadcastRequest
    scheduledAt: Date | null
    now: Date
  },
) =>
  db<BroadcastRow[]>`
  insert into chat_broadcast (business_id, id, name, template_id, request, status, scheduled_at, started_at, created_at, updated_at)
  values (${businessId}, ${broadcast.id}, ${broadcast.name}, ${broadcast.templateId},
    ${db.json(broadcast.request as never)}, ${broadcast.scheduledAt ? 'scheduled' : 'preparing'}, ${broadcast.scheduledAt},
    ${broadcast.scheduledAt ? null : broadcast.now}, ${broadcast.now}, ${broadcast.now})
  returning ${columns(db)}`.then(only)

export const broadcastById = (db: Db, businessId: string, id: string) =>
  db<BroadcastRow[]>`
  select ${columns(db)} from chat_broadcast where business_id = ${businessId} and id = ${id}`.then(first)

export const lockBroadcast = (db: Db, businessId: string, id: string) =>
  db<BroadcastRow[]>`
  select ${columns(db)} from chat_broadcast where business_id = ${businessId} and id = ${id} for update`.then(first)

export async function broadcasts(
  db: Db,
  businessId: string,
  { status, offset, limit }: { status: string | undefined; offset: number; limit: number },
) {
  const where = db`business_id = ${businessId} and (${status ?? null}::text is null or status = ${status ?? null})`
  const rows = await db<BroadcastRow[]>`
    select ${columns(db)} from chat_broadcast where ${where} order by created_at desc, id desc offset ${offset} limit ${limit}`
  const { total } = only(
    await db<{ total: number }[]>`select count(*)::int as total from chat_broadcast where ${where}`,
  )
  return { rows, total }
}

export const activeBroadcasts = (db: Db) => db<{ businessId: string; id: string }[]>`
  select business_id as "businessId", id from chat_broadcast where status in ('preparing', 'sending')
  order by business_id, id limit 1000`

/** Those whose moment has come begin, each by the clock of its business. */
export const startDue = (db: Db) => db`
  update chat_broadcast set status = 'preparing', started_at = coalesce(clock_now, now()), updated_at = coalesce(clock_now, now())
  from account_business
  where status = 'scheduled' and account_business.id = business_id and scheduled_at <= coalesce(clock_now, now())`

export const nextStart = (db: Db, businessId: string) =>
  db<{ at: Date }[]>`
  select scheduled_at as at from chat_broadcast where business_id = ${businessId} and status = 'scheduled'
  order by scheduled_at limit 1`.then(rows => first(rows)?.at)

export const startDueOf = (db: Db, businessId: string, now: Date) => db`
  update chat_broadcast set status = 'preparing', started_at = ${now}, updated_at = ${now}
  where business_id = ${businessId} and status = 'scheduled' and scheduled_at <= ${now}`

/** Contacts of the audience after the one that was frozen last; none of them can vanish into another before they have their message. */
export const nextAudience = (
  db: Db,
  businessId: string,
  { lists, tags, after, until, limit }: { lists: string[]; tags: string[]; after: string; until: Date; limit: number },
) => db<ContactRow[]>`
  select ${contactColumns(db)} from chat_contact contact
  where business_id = ${businessId} and id > ${after} and created_at <= ${until} and (list && ${lists} or tags && ${tags})
  order by id limit ${limit} for no key update`

export interface FrozenMessage {
  id: string
  contactId: string
  recipient: string
  payload: object
  status: 'queued' | 'failed'
  error: object | null
}

export const insertFrozen = (
  db: Db,
  businessId: string,
  {
    broadcastId,
    kind,
    template,
    messages,
    now,
  }: {
    broadcastId: string
    kind: string
    template: { id: string; version: number; category: string }
    messages: readonly FrozenMessage[]
    now: Date
  },
) => db`
  insert into chat_message (business_id, id, conversation_id, direction, kind, status, recipient, payload, error, failed_at,
    category, template_id, template_version, broadcast_id, created_at, updated_at)
  select ${businessId}, x.id, x."contactId", 'out', ${kind}, x.status, x.recipient, x.payload, x.error,
    case when x.status = 'failed' then ${now}::timestamptz end,
    ${template.category}, ${template.id}, ${template.version}, ${broadcastId}, ${now}, ${now}
  from jsonb_to_recordset(${db.json(messages as never)}::jsonb) as x (
    id text, "contactId" text, recipient text, payload jsonb, status text, error jsonb)`

/** Locked in the order of ids like everywhere, so that a change of many contacts at the same time can't wait in a circle. */
export const nameBroadcastOnContacts = (db: Db, businessId: string, broadcastId: string, ids: string[]) => db`
  with locked as materialized (
    select id as locked_id from chat_contact where business_id = ${businessId} and id = any(${ids})
    order by id for no key update)
  update chat_contact set broadcast_ids = broadcast_ids || ${broadcastId}::text
  from locked where business_id = ${businessId} and id = locked_id`

export const advanceFreeze = (
  db: Db,
  businessId: string,
  id: string,
  {
    until,
    audience,
    skipped,
    done,
    now,
  }: { until: string; audience: number; skipped: number; done: boolean; now: Date },
) => db`
  update chat_broadcast
  set frozen_until = ${until}, audience = audience + ${audience}, skipped = skipped + ${skipped},
      status = case when ${done} then 'sending' else status end, updated_at = ${now}
  where business_id = ${businessId} and id = ${id}`

export const setStatus = (
  db: Db,
  businessId: string,
  id: string,
  { from, to, reason, now }: { from: BroadcastStatus[]; to: BroadcastStatus; reason: string; now: Date },
) =>
  db<BroadcastRow[]>`
  update chat_broadcast
  set status = ${to}, pause_reason = ${reason}, updated_at = ${now},
      started_at = case when ${to} = 'preparing' then coalesce(started_at, ${now}::timestamptz) else started_at end,
      finished_at = case when ${to} in ('finished', 'cancelled') then ${now}::timestamptz end
  where business_id = ${businessId} and id = ${id} and status = any(${from})
  returning ${columns(db)}`.then(first)

export const cancelQueued = (db: Db, businessId: string, broadcastId: string, now: Date) => db`
  update chat_message set status = 'cancelled', updated_at = ${now}
  where business_id = ${businessId} and broadcast_id = ${broadcastId} and status = 'queued'`

/**
 * Takes what is due, durably, before anything leaves; a paused broadcast gives nothing. Those to take are chosen once, apart
 * from the update: a subquery with a limit may be asked again for every row, and skipping what it locked it takes further ones.
 */
export const claimQueued = (
  db: Db,
  businessId: string,
  broadcastId: string,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
) => db<MessageRow[]>`
  with due as materialized (
    select id as due_id from chat_message
    where business_id = ${businessId} and broadcast_id = ${broadcastId} and status = 'queued'
      and (not_before is null or not_before <= now())
      and exists (select 1 from chat_broadcast
                  where business_id = ${businessId} and id = ${broadcastId} and status = 'sending' for share)
    order by id limit ${limit} for update skip locked)
  update chat_message set status = 'sending', attempt = attempt + 1, lease_until = now() + ${leaseSeconds} * interval '1 second'
  from due where business_id = ${businessId} and id = due_id
  returning ${messageColumns(db)}`

export const contactsOf = (db: Db, businessId: string, ids: string[]) => db<ContactRow[]>`
  select ${contactColumns(db)} from chat_contact contact where business_id = ${businessId} and id = any(${ids})`

/** Conversations come to the top when their message goes out. Answers how many are new. */
export const touchConversations = (db: Db, businessId: string, messages: readonly MessageRow[], now: Date) =>
  db<{ fresh: boolean }[]>`
  insert into chat_conversation (business_id, id, last_message_at, last_message_id)
  select ${businessId}, x.contact_id, ${now}, x.message_id
  from unnest(${messages.map(message => message.conversationId)}::text[], ${messages.map(message => message.id)}::text[])
    as x (contact_id, message_id) order by x.contact_id
  on conflict (business_id, id) do update
  set last_message_at = greatest(chat_conversation.last_message_at, excluded.last_message_at),
      last_message_id = excluded.last_message_id
  returning (xmax = 0) as fresh`.then(rows => rows.filter(row => row.fresh).length)

/** Back to the queue, or cancelled with its broadcast. What was never called does not count as an attempt. */
export const requeue = (
  db: Db,
  businessId: string,
  id: string,
  { delayMs, called }: { delayMs: number; called: boolean },
) => db`
  update chat_message message
  set status = case when exists (
        select 1 from chat_broadcast
        where business_id = ${businessId} and id = message.broadcast_id and status = 'cancelled')
      then 'cancelled' else 'queued' end,
      attempt = attempt - ${called ? 0 : 1}, lease_until = null,
      not_before = now() + ${delayMs} * interval '1 millisecond'
  where business_id = ${businessId} and id = ${id} and status = 'sending'`

export const hasOpenMessages = (db: Db, businessId: string, broadcastId: string) =>
  db`
  select 1 from chat_message
  where business_id = ${businessId} and broadcast_id = ${broadcastId} and status in ('queued', 'sending') limit 1`.then(
    rows => rows.length > 0,
  )

export const countByStatus = (db: Db, businessId: string, broadcastIds: string[]) => db<
  { broadcastId: string; status: string; count: number }[]
>`
  select broadcast_id as "broadcastId", status, count(*)::int as count from chat_message
  where business_id = ${businessId} and broadcast_id = any(${broadcastIds}) group by broadcast_id, status`
