import { type Db, first, type Tx } from '../../platform/database.ts'
import { linesOf } from '../store-lines.ts'
import { tenant } from '../store-tenant.ts'
import type { Lane } from './lanes.ts'

/** A business that may have something to send, with the version that tells whether more came since. */
export const dueBusinesses = (db: Db) => db<{ businessId: string; version: bigint }[]>`
  select business_id as "businessId", version from email_due`

/** Forgets a business that has nothing left. New work raises the version, and then this does nothing. */
export const forgetBusiness = (db: Db, businessId: string, version: bigint) => db`
  delete from email_due where business_id = ${businessId} and version = ${version}
    and not exists (select from email_send where business_id = ${businessId} and completed_at is null)`

export interface ClaimedBlock {
  sendId: string
  /** place of its first person in the audience */
  first: number
  people: number
}

/** Takes the next free block, oldest send first. A claim that ran out is free: its holder is dead. */
export const claimBlock = (db: Db, businessId: string, claim: { lane: Lane; workerId: string; leaseMs: number }) =>
  db<ClaimedBlock[]>`
    with free as (
      select s.id, b.first from email_send s, lateral (
        select first from email_block
        where business_id = ${businessId} and send_id = s.id and not done
          and (claimed_until is null or claimed_until < now())
        order by first limit 1 for update skip locked) b
      where s.business_id = ${businessId} and s.lane = ${claim.lane} and s.completed_at is null
        and s.state in ('sending', 'cancelled')
      order by s.id limit 1
    )
    update email_block b
    set claimed_by = ${claim.workerId}, claimed_until = now() + ${claim.leaseMs} * interval '1 millisecond'
    from free where b.business_id = ${businessId} and b.send_id = free.id and b.first = free.first
    returning b.send_id as "sendId", b.first, cardinality(b.emails) as people`.then(first)

export interface ClaimedDeferral {
  deliveryId: string
  email: string
  subscriberId: string | null
  attempts: number
  expiresAt: Date
}

export const claimDeferrals = (
  db: Db,
  businessId: string,
  claim: { lane: Lane; workerId: string; leaseMs: number; limit: number; now: Date },
) => db<ClaimedDeferral[]>`
  with due as (
    select d.delivery_id from email_deferral d
    join email_send s on s.business_id = d.business_id and s.id = left(d.delivery_id, 16) || '00000000'
    where d.business_id = ${businessId} and d.lane = ${claim.lane}
      and (d.next_at <= ${claim.now} or s.state = 'cancelled') and s.state in ('sending', 'cancelled')
      and (d.claimed_until is null or d.claimed_until < now())
    order by d.next_at limit ${claim.limit} for update of d skip locked
  )
  update email_deferral d
  set claimed_by = ${claim.workerId}, claimed_until = now() + ${claim.leaseMs} * interval '1 millisecond'
  from due where d.business_id = ${businessId} and d.delivery_id = due.delivery_id
  returning d.delivery_id as "deliveryId", d.email, d.subscriber_id as "subscriberId", d.attempts,
    d.expires_at as "expiresAt"`

/** Keeps claims alive; answers the state of their sends, so that a pause is seen within a beat. */
export const extendBlocks = (
  db: Db,
  businessId: string,
  claim: { workerId: string; leaseMs: number; sendIds: string[]; firsts: number[] },
) => db<{ sendId: string; first: number; state: string }[]>`
  update email_block b set claimed_until = now() + ${claim.leaseMs} * interval '1 millisecond'
  from unnest(${claim.sendIds}::text[], ${claim.firsts}::int[]) as mine (send_id, first)
  join email_send s on s.business_id = ${businessId} and s.id = mine.send_id
  where b.business_id = ${businessId} and b.send_id = mine.send_id and b.first = mine.first
    and b.claimed_by = ${claim.workerId} and not b.done
  returning b.send_id as "sendId", b.first, s.state`

export const extendDeferrals = (
  db: Db,
  businessId: string,
  claim: { workerId: string; leaseMs: number; deliveryIds: string[] },
) => db<{ deliveryId: string; state: string }[]>`
  update email_deferral d set claimed_until = now() + ${claim.leaseMs} * interval '1 millisecond'
  from email_send s
  where d.business_id = ${businessId} and d.delivery_id = any(${claim.deliveryIds}::text[])
    and d.claimed_by = ${claim.workerId}
    and s.business_id = ${businessId} and s.id = left(d.delivery_id, 16) || '00000000'
  returning d.delivery_id as "deliveryId", s.state`

export const releaseBlock = (
  db: Db,
  businessId: string,
  claim: { workerId: string; sendId: string; first: number },
) => db`
  update email_block set claimed_by = null, claimed_until = null
  where business_id = ${businessId} and send_id = ${claim.sendId} and first = ${claim.first}
    and claimed_by = ${claim.workerId} and not done`

export const releaseDeferrals = (db: Db, businessId: string, claim: { workerId: string; deliveryIds: string[] }) => db`
  update email_deferral set claimed_by = null, claimed_until = null
  where business_id = ${businessId} and delivery_id = any(${claim.deliveryIds}::text[])
    and claimed_by = ${claim.workerId}`

export interface Person {
  deliveryId: string
  email: string
  subscriberId: string | null
  firstName: string | null
  lastName: string | null
  mobile: string | null
  country: string | null
  city: string | null
  dateOfBirth: string | null
  leadScore: number | null
  customFields: Record<string, unknown> | null
  suppression: string | null
  status: string | null
  deleted: boolean
}

/** What a template may say about the people `one`, and whether they may still be mailed. */
const personColumns = (db: Db) => db`
  one.email, s.id as "subscriberId", s.first_name as "firstName", s.last_name as "lastName",
  s.mobile, s.country, s.city, s.date_of_birth as "dateOfBirth", s.lead_score as "leadScore",
  s.custom_fields as "customFields", x.type as suppression, s.status,
  one.subscriber_id <> '' and (s.id is null or s.delete_after is not null) as deleted`
const personTables = (db: Db, businessId: string) => db`
  left join email_subscriber s on s.business_id = ${tenant(db, businessId)} and s.id = one.subscriber_id
  left join email_suppression x on x.business_id = ${tenant(db, businessId)} and x.address = lower(one.email)`

/**
 * Those of a block who have neither a result nor a deferral, which is everybody unless it was claimed before. What is
 * gone is read as a range, not person by person.
 */
export const peopleOfBlock = (db: Db, businessId: string, block: ClaimedBlock & { from: string; to: string }) => db<
  Person[]
>`
  with gone as materialized (
    select id from email_delivery where business_id = ${businessId} and id between ${block.from} and ${block.to}
    union all
    select delivery_id from email_deferral where business_id = ${businessId} and delivery_id between ${block.from} and ${block.to}
  )
  select left(${block.sendId}, 16) || lpad(to_hex(${block.first}::int + one.number - 1), 8, '0') as "deliveryId", ${personColumns(db)}
  from email_block b
  cross join lateral unnest(b.emails, b.subscriber_ids) with ordinality as one (email, subscriber_id, number)
  ${personTables(db, businessId)}
  where b.business_id = ${businessId} and b.send_id = ${block.sendId} and b.first = ${block.first}
    and (not exists (select from gone)
      or left(${block.sendId}, 16) || lpad(to_hex(${block.first}::int + one.number - 1), 8, '0') not in (select id from gone))`

/** Those of the deferrals who have no result yet. */
export const peopleDeferred = (db: Db, businessId: string, deferrals: readonly ClaimedDeferral[]) => db<Person[]>`
  select one.id as "deliveryId", ${personColumns(db)}
  from unnest(${deferrals.map(one => one.deliveryId)}::text[], ${deferrals.map(one => one.email)}::text[],
    ${deferrals.map(one => one.subscriberId ?? '')}::text[]) as one (id, email, subscriber_id)
  ${personTables(db, businessId)}
  where not exists (select from email_delivery d where d.business_id = ${businessId} and d.id = one.id)
  order by one.id`

export interface SendRow {
  id: string
  campaignId: string
  campaignName: string
  contentId: string
  lane: Lane
  subject: string
  fromName: string
  senderEmail: string
  deliveryServerId: string | null
  state: string
}

export const sendById = (db: Db, businessId: string, sendId: string) =>
  db<SendRow[]>`
    select id, campaign_id as "campaignId", campaign_name as "campaignName", content_id as "contentId", lane, subject,
      from_name as "fromName", sender_email as "senderEmail", delivery_server_id as "deliveryServerId", state
    from email_send where business_id = ${businessId} and id = ${sendId}`.then(first)

export const attachmentsOf = (db: Db, businessId: string, sendId: string) => db<
  { filename: string; contentType: string; content: Buffer }[]
>`
  select filename, content_type as "contentType", content from email_send_attachment
  where business_id = ${businessId} and send_id = ${sendId} order by position`

export interface ContentRow {
  builderType: string
  source: string
  preheader: string
  footer: boolean
  links: string[] | null
}

export const contentById = (db: Db, businessId: string, contentId: string) =>
  db<ContentRow[]>`
    select builder_type as "builderType", source, preheader, footer, links from email_content
    where business_id = ${businessId} and id = ${contentId}`.then(first)

export const keepLinks = (db: Db, businessId: string, contentId: string, links: string[]) => db`
  update email_content set links = ${db.json(links)}
  where business_id = ${businessId} and id = ${contentId} and links is null`

export const businessTime = (db: Db, businessId: string) =>
  db<{ name: string; now: Date | null }[]>`
    select name, case when test_mode then clock_now end as now from account_business where id = ${businessId}`.then(
    first,
  )

export interface FinalRow {
  deliveryId: string
  subscriberId: string | null
  email: string
  state: 'sent' | 'bounced' | 'suppressed' | 'failed' | 'unknown' | 'cancelled'
  class: string
  code: number
  reply: string
  serverId: string | null
  retried: boolean
  at: Date
}

/** What results that came together mostly share. */
export type SharedResult = Pick<FinalRow, 'state' | 'class' | 'code' | 'serverId' | 'retried' | 'at'>

/**
 * The log. Columns travel as lines of one text, which costs both sides a fraction of an array; neither ids nor addresses
 * nor replies hold a line end. A delivery that has a result already fails the statement.
 */
export const insertFinals = (db: Db, businessId: string, shared: SharedResult, rows: readonly FinalRow[]) =>
  db`${finalsFrom(db, businessId, shared, rows)}`

/** A second result for the same delivery changes nothing: exactly one final state each. Costs a third more. */
export const insertMissingFinals = (db: Db, businessId: string, shared: SharedResult, rows: readonly FinalRow[]) =>
  db`${finalsFrom(db, businessId, shared, rows)} on conflict do nothing`

const finalsFrom = (db: Db, businessId: string, shared: SharedResult, rows: readonly FinalRow[]) => db`
  insert into email_delivery (business_id, id, subscriber_id, email, state, class, code, reply, server_id, retried, at)
  select ${businessId}, id, nullif(subscriber_id, ''), email, ${shared.state}, ${shared.class}, ${shared.code}::int2,
    coalesce(reply, ''), ${shared.serverId}, ${shared.retried}, ${shared.at}
  from unnest(string_to_array(${linesOf(rows, row => row.deliveryId)}, chr(10)),
    string_to_array(${linesOf(rows, row => row.subscriberId ?? '')}, chr(10)),
    string_to_array(${linesOf(rows, row => row.email)}, chr(10)),
    string_to_array(${linesOf(rows, row => row.reply)}, chr(10))) as one (id, subscriber_id, email, reply)`

export interface DeferredRow {
  deliveryId: string
  subscriberId: string | null
  email: string
  lane: Lane
  attempts: number
  nextAt: Date
  expiresAt: Date
  class: string
  code: number
  reply: string
  serverId: string | null
  at: Date
  /** false: put off without a try, for the sake of pace */
  tried: boolean
}

export const upsertDeferral = async (tx: Tx, businessId: string, row: DeferredRow) => {
  await tx`
    insert into email_deferral (business_id, delivery_id, subscriber_id, email, lane, attempts, next_at, expires_at,
      class, code, reply)
    select ${businessId}, ${row.deliveryId}, ${row.subscriberId}, ${row.email}, ${row.lane}, ${row.attempts},
      ${row.nextAt}, ${row.expiresAt}, ${row.class}, ${row.code}, ${row.reply}
    where not exists (select from email_delivery where business_id = ${businessId} and id = ${row.deliveryId})
    on conflict (business_id, delivery_id) do update set attempts = excluded.attempts, next_at = excluded.next_at,
      class = excluded.class, code = excluded.code, reply = excluded.reply, claimed_by = null, claimed_until = null`
  if (row.tried)
    await tx`
      insert into email_attempt (business_id, delivery_id, attempt, at, class, code, reply, server_id)
      values (${businessId}, ${row.deliveryId}, ${row.attempts}, ${row.at}, ${row.class}, ${row.code}, ${row.reply},
        ${row.serverId}) on conflict do nothing`
}

export interface OutboxRow {
  deliveryId: string
  envelopeFrom: string
  email: string
  subject: string
  message: Buffer
  at: Date
}

export const insertOutbox = (db: Db, businessId: string, rows: readonly OutboxRow[]) => db`
  insert into email_outbox ${db(
    rows.map(row => ({
      business_id: businessId,
      delivery_id: row.deliveryId,
      envelope_from: row.envelopeFrom,
      email: row.email,
      subject: row.subject,
      message: row.message,
      at: row.at,
    })),
  )} on conflict do nothing`
