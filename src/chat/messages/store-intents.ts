import type { Db } from '../../platform/database.ts'
import { followedByThreads } from './store.ts'

/** A message to a person we know, with what has to hold for it to be written. */
export interface Intent {
  id: string
  number: string
  kind: string
  payload: object
  idempotencyKey: string | null
  category: string
  templateId: string | null
  templateVersion: number | null
  mediaId: string | null
  leaseSeconds: number
  /** needs the person's consent */
  marketing: boolean
  /** the person must have written after this moment; null: at any time or never */
  windowFrom: Date | null
  now: Date
}

export interface Intended {
  id: string
  contactId: string
  /** false: refused by consent or window, or its idempotency key has a message already */
  written: boolean
  optin: boolean
  stoppedAt: Date | null
  lastIncomingAt: Date | null
  freeEntryUntil: Date | null
}

/**
 * Finds the contacts, looks at consent and window, and writes the messages, already claimed by who writes them, with their
 * conversations: one statement and one commit for all, durable before anything leaves. Numbers that are no contact's own are left out.
 *
 * Each look-up is a subquery of one row, so that it goes by its unique index whatever the size the planner expects.
 */
export const writeIntents = (db: Db, businessId: string, intents: readonly Intent[]) => db<Intended[]>`
  with found as materialized (
    select asked.*, contact.id as contact_id, contact.optin, contact.stopped_at, conversation.last_incoming_at,
      conversation.free_entry_until
    from jsonb_to_recordset(${db.json(intents as never)}::jsonb) as asked (
      id text, number text, kind text, payload jsonb, "idempotencyKey" text, category text, "templateId" text,
      "templateVersion" int, "mediaId" text, "leaseSeconds" int, marketing boolean, "windowFrom" timestamptz, now timestamptz)
    cross join lateral (
      select id, optin, stopped_at from chat_contact
      where business_id = ${businessId} and mobile = asked.number and mobile <> '' limit 1) contact
    left join lateral (
      select last_incoming_at, free_entry_until from chat_conversation
      where business_id = ${businessId} and id = contact.id limit 1) conversation on true),
  written as (
    insert into chat_message (business_id, id, conversation_id, direction, kind, status, recipient, idempotency_key, payload,
      attempt, lease_until, category, template_id, template_version, media_id, created_at, updated_at)
    select ${businessId}, id, contact_id, 'out', kind, 'sending', number, "idempotencyKey", payload, 1,
      now() + "leaseSeconds" * interval '1 second', category, "templateId", "templateVersion", "mediaId", now, now
    from found
    where (not marketing or (optin and stopped_at is null))
      and ("windowFrom" is null or coalesce(last_incoming_at > "windowFrom", false) or coalesce(free_entry_until > now, false))
    on conflict (business_id, idempotency_key) where idempotency_key is not null do nothing
    returning id, conversation_id, created_at),
  ${followedByThreads(db, businessId)}
  select found.id, contact_id as "contactId", written.id is not null as written, optin, stopped_at as "stoppedAt",
    last_incoming_at as "lastIncomingAt", free_entry_until as "freeEntryUntil"
  from found left join written on written.id = found.id`

export interface Acceptance {
  id: string
  platformId: string
  answer: object
  now: Date
}

/**
 * The status webhook may have come first: what it said stays. Need not be on disk before the answer: were it lost in a
 * power cut, the message would be unknown until its status comes, and is not sent again.
 */
export const recordAccepted = (db: Db, businessId: string, accepted: readonly Acceptance[]) => db`
  update chat_message
  set status = case when status in ('sending', 'unknown') then 'accepted' else status end, platform_id = x."platformId",
      platform_answer = x.answer, accepted_at = x.now, updated_at = x.now, lease_until = null
  from jsonb_to_recordset(${db.json(accepted as never)}::jsonb) as x (id text, "platformId" text, answer jsonb, now timestamptz),
    (select set_config('synchronous_commit', 'off', true)) relaxed
  where chat_message.business_id = ${businessId} and chat_message.id = any(${accepted.map(one => one.id)})
    and chat_message.id = x.id`
