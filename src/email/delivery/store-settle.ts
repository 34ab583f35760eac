import { type Db, first, type Tx } from '../../platform/database.ts'
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

export const finalsBetween = (db: Db, businessId: string, range: { from: string; to: string }) => db<FinalRow[]>`
  select ${finals(db)} from email_delivery d
  where d.business_id = ${businessId} and d.id between ${range.from} and ${range.to}`

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
