import { type Db, first, type Tx } from '../../platform/database.ts'
import { mailedAfter, mailedEntry } from '../subscribers/store-mailed.ts'
import type { FinalRow } from './store-work.ts'

const finals = (
  db: Db,
) => db`d.id as "deliveryId", d.subscriber_id as "subscriberId", d.email, d.state, d.class, d.code,
  d.reply, d.server_id as "serverId", d.retried, d.at`

/** Locks a block that is still ours and not counted yet; answers how many people are in it. */
export const lockBlock = (tx: Tx, businessId: string, claim: { sendId: string; first: number; workerId: string }) =>
  tx<{ people: number }[]>`
    select cardinality(emails) as people from email_block
    where business_id = ${businessId} and send_id = ${claim.sendId} and first = ${claim.first} and not done
      and claimed_by = ${claim.workerId}
    for update`.then(first)

export interface ResultCount {
  state: FinalRow['state']
  class: string
  serverId: string | null
  /** with those that came to their end after being deferred; those are counted one by one, not with their block */
  all: number
  first: number
}

export const countBetween = (db: Db, businessId: string, range: { from: string; to: string }) => db<ResultCount[]>`
  select state, class, server_id as "serverId", count(*)::int as all, count(*) filter (where not retried)::int as first
  from email_delivery where business_id = ${businessId} and id between ${range.from} and ${range.to}
  group by state, class, server_id`

export const bouncesBetween = (db: Db, businessId: string, range: { from: string; to: string }) => db<FinalRow[]>`
  select ${finals(db)} from email_delivery d
  where d.business_id = ${businessId} and d.id between ${range.from} and ${range.to} and d.state = 'bounced' and not d.retried`

/**
 * Tells the subscribers of a block that they were mailed: what recordActivities does for sent and delivered, but from
 * the log itself and in a few bytes, because nothing else happens to people so often. Nobody of a block can have been
 * erased since: erasure comes days after deletion.
 */
export const addSentBetween = (
  tx: Tx,
  businessId: string,
  range: { from: string; to: string },
  serversThatTellDelivery: string[],
) => {
  const delivered = tx`coalesce(d.server_id <> all(${serversThatTellDelivery}::text[]), true)`
  return tx`
    insert into email_subscriber_activity as a (business_id, subscriber_id, total_sent, total_delivered, mailed)
    select ${businessId}, d.subscriber_id, 1, ${delivered}::int,
      ${mailedEntry(tx, { id: tx`d.id`, at: tx`d.at`, delivered })}
    from email_delivery d
    where d.business_id = ${businessId} and d.id between ${range.from} and ${range.to}
      and d.state = 'sent' and not d.retried and d.subscriber_id is not null
    order by d.subscriber_id
    on conflict (business_id, subscriber_id) do update set total_sent = a.total_sent + 1,
      total_delivered = a.total_delivered + excluded.total_delivered,
      mailed = ${mailedAfter(tx, tx`excluded.mailed`, tx`a.mailed`)}`
}

export const deferredBetween = (db: Db, businessId: string, range: { from: string; to: string }) =>
  db<{ count: number }[]>`
    select count(*)::int as count from email_deferral f
    where f.business_id = ${businessId} and f.delivery_id between ${range.from} and ${range.to}
      and not exists (select from email_delivery d where d.business_id = f.business_id and d.id = f.delivery_id)`.then(
    rows => rows[0]?.count ?? 0,
  )

export const finishBlock = (tx: Tx, businessId: string, block: { sendId: string; first: number }) => tx`
  update email_block set done = true, claimed_by = null, claimed_until = null
  where business_id = ${businessId} and send_id = ${block.sendId} and first = ${block.first}`

/** Ends deferrals that have their result; who deletes the row counts it, so it is counted once. */
export const endDeferrals = (tx: Tx, businessId: string, deliveryIds: string[]) => tx<FinalRow[]>`
  with ended as (
    delete from email_deferral f using email_delivery d
    where f.business_id = ${businessId} and f.delivery_id = any(${deliveryIds}::text[])
      and d.business_id = f.business_id and d.id = f.delivery_id
    returning f.delivery_id
  )
  select ${finals(tx)} from email_delivery d join ended on ended.delivery_id = d.id
  where d.business_id = ${businessId} and d.retried`

export interface Tally {
  sent: number
  delivered: number
  bounced: number
  suppressed: number
  failed: number
  unknown: number
  cancelled: number
  hardBounces: number
}

export interface SendProgress {
  state: string
  queued: number
  done: number
  sent: number
  hardBounces: number
  complaints: number
  automaticPause: boolean
  isComplete: boolean
  campaignId: string
  campaignName: string
}

export const addTally = (tx: Tx, businessId: string, sendId: string, tally: Tally, now: Date) =>
  tx<SendProgress[]>`
    update email_send set
      sent = sent + ${tally.sent}, delivered = delivered + ${tally.delivered}, bounced = bounced + ${tally.bounced},
      suppressed = suppressed + ${tally.suppressed}, failed = failed + ${tally.failed}, unknown = unknown + ${tally.unknown},
      cancelled = cancelled + ${tally.cancelled}, hard_bounces = hard_bounces + ${tally.hardBounces}, updated_at = ${now},
      completed_at = case when ${sumOf(tally)} + sent + bounced + suppressed + failed + unknown + cancelled >= queued
        then coalesce(completed_at, ${now}::timestamptz) end,
      state = case when ${sumOf(tally)} + sent + bounced + suppressed + failed + unknown + cancelled >= queued
        and state <> 'cancelled' then 'complete' else state end
    where business_id = ${businessId} and id = ${sendId}
    returning state, queued, sent + bounced + suppressed + failed + unknown + cancelled as done, sent,
      hard_bounces as "hardBounces", complaints, automatic_pause as "automaticPause", completed_at is not null as "isComplete",
      campaign_id as "campaignId", campaign_name as "campaignName"`.then(first)

const sumOf = (tally: Tally) =>
  tally.sent + tally.bounced + tally.suppressed + tally.failed + tally.unknown + tally.cancelled

export const pauseSend = (db: Db, businessId: string, sendId: string, reason: string, now: Date) => db`
  update email_send set state = 'paused', pause_reason = ${reason}, updated_at = ${now}
  where business_id = ${businessId} and id = ${sendId} and state = 'sending'`
