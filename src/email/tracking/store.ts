import { type Db, first, type Tx } from '../../platform/database.ts'
import { tenant } from '../store-tenant.ts'
import { isSuppressed } from '../suppressions/suppressions.ts'

export interface EventRow {
  id: string
  deliveryId: string
  kind: string
  at: Date
  link: number | null
  isMachine: boolean
  reason: string
  ip: string
  userAgent: string
}

/** Answers the ids that were new: an event that came before changes nothing. */
export const insertEvents = (tx: Tx, businessId: string, rows: readonly EventRow[]) => tx<{ id: string }[]>`
  insert into email_event (business_id, id, delivery_id, kind, at, link, is_machine, reason, ip, user_agent)
  select ${businessId}, id, delivery_id, kind, at, nullif(link, -1), machine <> 0, reason, ip, user_agent
  from unnest(${rows.map(row => row.id)}::text[], ${rows.map(row => row.deliveryId)}::text[],
    ${rows.map(row => row.kind)}::text[], ${rows.map(row => row.at.toISOString())}::timestamptz[],
    ${rows.map(row => row.link ?? -1)}::int[], ${rows.map(row => Number(row.isMachine))}::int[],
    ${rows.map(row => row.reason)}::text[], ${rows.map(row => row.ip)}::text[], ${rows.map(row => row.userAgent)}::text[])
    as one (id, delivery_id, kind, at, link, machine, reason, ip, user_agent)
  on conflict do nothing returning id`

export interface DeliveryFacts {
  deliveryId: string
  subscriberId: string | null
  email: string
  deliveredAt: Date
  /** kept in the outbox: no gateway on the way has looked at it */
  captured: boolean
  /** where the business lives by a test clock */
  clockNow: Date | null
  campaignId: string
  campaignName: string
}

export const deliveryFacts = (db: Db, businessId: string, deliveryIds: readonly string[]) => db<DeliveryFacts[]>`
  select d.id as "deliveryId", d.subscriber_id as "subscriberId", d.email, d.at as "deliveredAt", d.server_id is null as captured,
    (select clock_now from account_business where id = ${businessId}) as "clockNow",
    s.campaign_id as "campaignId", s.campaign_name as "campaignName"
  from email_delivery d
  join email_send s on s.business_id = d.business_id and s.id = left(d.id, 16) || '00000000'
  where d.business_id = ${businessId} and d.id = any(${deliveryIds as string[]}::text[])`

/** Who has these addresses now, and whether they are suppressed; without a subscriber, `id` and `status` are null. */
export const ownersNow = (db: Db, businessId: string, emails: readonly string[]) =>
  db<{ email: string; id: string | null; status: string | null; isSuppressed: boolean }[]>`
    select given.email, s.id, s.status, ${isSuppressed(db, businessId, db`given.email`)} as "isSuppressed"
    from (select distinct email from unnest(${emails as string[]}::text[]) as one (email)) given
    left join email_subscriber s
      on s.business_id = ${tenant(db, businessId)} and lower(s.email) = lower(given.email) and s.delete_after is null`

export interface Counted {
  deliveryId: string
  deliveredAt: Date | null
  openedAt: Date | null
  clickedAt: Date | null
  bouncedAt: Date | null
  complainedAt: Date | null
  unsubscribedAt: Date | null
  lastClickAt: Date | null
  lastClickLink: number | null
}

/** What was counted of these deliveries so far, locked in the order of their ids until the transaction ends. */
export const lockCounted = async (tx: Tx, businessId: string, deliveryIds: readonly string[]) => {
  const ids = [...deliveryIds].sort()
  await tx`
    insert into email_delivery_activity (business_id, delivery_id)
    select ${businessId}, id from unnest(${ids}::text[]) as one (id) on conflict do nothing`
  return tx<Counted[]>`
    select delivery_id as "deliveryId", delivered_at as "deliveredAt", opened_at as "openedAt", clicked_at as "clickedAt",
      bounced_at as "bouncedAt", complained_at as "complainedAt", unsubscribed_at as "unsubscribedAt",
      last_click_at as "lastClickAt", last_click_link as "lastClickLink"
    from email_delivery_activity where business_id = ${businessId} and delivery_id = any(${ids}::text[])
    order by delivery_id for update`
}

export const saveCounted = (tx: Tx, businessId: string, rows: readonly Counted[]) => tx`
  update email_delivery_activity a set delivered_at = r."deliveredAt", opened_at = r."openedAt",
    clicked_at = r."clickedAt", bounced_at = r."bouncedAt", complained_at = r."complainedAt",
    unsubscribed_at = r."unsubscribedAt", last_click_at = r."lastClickAt", last_click_link = r."lastClickLink"
  from jsonb_to_recordset(${tx.json(rows as never)}) as r ("deliveryId" text, "deliveredAt" timestamptz,
    "openedAt" timestamptz, "clickedAt" timestamptz, "bouncedAt" timestamptz, "complainedAt" timestamptz,
    "unsubscribedAt" timestamptz, "lastClickAt" timestamptz, "lastClickLink" int)
  where a.business_id = ${businessId} and a.delivery_id = r."deliveryId"`

export interface SendTally {
  delivered: number
  hardBounces: number
  complaints: number
  unsubscribes: number
  opens: number
  uniqueOpens: number
  machineOpens: number
  clicks: number
  uniqueClicks: number
  machineClicks: number
}

export const addToSend = (tx: Tx, businessId: string, sendId: string, tally: SendTally, now: Date) =>
  tx<{ state: string; sent: number; complaints: number; hardBounces: number; automaticPause: boolean }[]>`
    update email_send set delivered = delivered + ${tally.delivered}, hard_bounces = hard_bounces + ${tally.hardBounces},
      complaints = complaints + ${tally.complaints}, unsubscribes = unsubscribes + ${tally.unsubscribes},
      opens = opens + ${tally.opens}, unique_opens = unique_opens + ${tally.uniqueOpens},
      machine_opens = machine_opens + ${tally.machineOpens}, clicks = clicks + ${tally.clicks},
      unique_clicks = unique_clicks + ${tally.uniqueClicks}, machine_clicks = machine_clicks + ${tally.machineClicks},
      updated_at = greatest(updated_at, ${now})
    where business_id = ${businessId} and id = ${sendId}
    returning state, sent, complaints, hard_bounces as "hardBounces", automatic_pause as "automaticPause"`.then(first)

export const linksOf = (db: Db, businessId: string, sendId: string) =>
  db<{ links: string[] | null }[]>`
    select c.links from email_send s join email_content c on c.business_id = s.business_id and c.id = s.content_id
    where s.business_id = ${businessId} and s.id = ${sendId}`.then(first)

export interface Recipient {
  email: string
  firstName: string | null
  lastName: string | null
  mobile: string | null
  country: string | null
  city: string | null
  dateOfBirth: string | null
  leadScore: number | null
  customFields: Record<string, unknown> | null
  subscriberId: string | null
  listNumbers: number[] | null
}

export const recipientOf = (db: Db, businessId: string, deliveryId: string) =>
  db<Recipient[]>`
    select d.email, s.first_name as "firstName", s.last_name as "lastName", s.mobile, s.country, s.city,
      s.date_of_birth as "dateOfBirth", s.lead_score as "leadScore", s.custom_fields as "customFields",
      s.id as "subscriberId", s.list_numbers as "listNumbers"
    from email_delivery d
    left join email_subscriber s on s.business_id = d.business_id and s.id = d.subscriber_id and s.delete_after is null
    where d.business_id = ${businessId} and d.id = ${deliveryId}`.then(first)
