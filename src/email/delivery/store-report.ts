import { type Db, first, only, type Tx } from '../../platform/database.ts'

export interface SendReport {
  sendId: string
  state: string
  pauseReason: string
  subject: string
  total: number
  queued: number
  sent: number
  delivered: number
  bounced: number
  suppressed: number
  failed: number
  unknown: number
  cancelled: number
  hardBounces: number
  complaints: number
  unsubscribes: number
  opens: number
  uniqueOpens: number
  machineOpens: number
  clicks: number
  uniqueClicks: number
  machineClicks: number
  createdAt: Date
  completedAt: Date | null
}

export const sendsOf = (db: Db, businessId: string, campaignId: string, limit: number) => db<SendReport[]>`
  select id as "sendId", state, pause_reason as "pauseReason", subject, total, queued, sent, delivered, bounced, suppressed, failed,
    unknown, cancelled, complaints, unsubscribes, opens, clicks,
    hard_bounces as "hardBounces", unique_opens as "uniqueOpens", machine_opens as "machineOpens",
    unique_clicks as "uniqueClicks", machine_clicks as "machineClicks", created_at as "createdAt", completed_at as "completedAt"
  from email_send where business_id = ${businessId} and campaign_id = ${campaignId} order by id desc limit ${limit}`

/** Summed in the database: an API campaign may have been sent a million times. */
export const totalsOf = (db: Db, businessId: string, campaignId: string) =>
  db<Omit<SendReport, 'sendId' | 'state' | 'pauseReason' | 'subject' | 'createdAt' | 'completedAt'>[]>`
    select coalesce(sum(total), 0)::int as total, coalesce(sum(queued), 0)::int as queued, coalesce(sum(sent), 0)::int as sent,
      coalesce(sum(delivered), 0)::int as delivered, coalesce(sum(bounced), 0)::int as bounced,
      coalesce(sum(suppressed), 0)::int as suppressed, coalesce(sum(failed), 0)::int as failed,
      coalesce(sum(unknown), 0)::int as unknown, coalesce(sum(cancelled), 0)::int as cancelled,
      coalesce(sum(hard_bounces), 0)::int as "hardBounces", coalesce(sum(complaints), 0)::int as complaints,
      coalesce(sum(unsubscribes), 0)::int as unsubscribes, coalesce(sum(opens), 0)::int as opens,
      coalesce(sum(unique_opens), 0)::int as "uniqueOpens", coalesce(sum(machine_opens), 0)::int as "machineOpens",
      coalesce(sum(clicks), 0)::int as clicks, coalesce(sum(unique_clicks), 0)::int as "uniqueClicks",
      coalesce(sum(machine_clicks), 0)::int as "machineClicks"
    from email_send where business_id = ${businessId} and campaign_id = ${campaignId}`.then(only)

export interface LinkReport {
  url: string
  clicks: number
  humanClicks: number
  people: number
}

export const linksOf = (db: Db, businessId: string, campaignId: string) => db<LinkReport[]>`
  select c.links ->> e.link as url, count(*)::int as clicks, count(*) filter (where not e.is_machine)::int as "humanClicks",
    count(distinct e.delivery_id) filter (where not e.is_machine)::int as people
  from email_send s
  join email_content c on c.business_id = s.business_id and c.id = s.content_id
  join email_event e on e.business_id = s.business_id and e.delivery_id between s.id and left(s.id, 16) || 'ffffffff'
  where s.business_id = ${businessId} and s.campaign_id = ${campaignId} and e.kind = 'click' and s.clicks > 0
  group by 1 order by 2 desc, 1 limit 1000`

export const campaignExists = (db: Db, businessId: string, campaignId: string) =>
  db<{ name: string }[]>`
    select name from email_campaign where business_id = ${businessId} and id = ${campaignId}`.then(first)

/** Answers the sends that changed. */
export const changeState = (
  tx: Tx,
  businessId: string,
  change: { campaignId: string; from: string[]; to: string; reason: string; now: Date },
) => tx<{ id: string }[]>`
  update email_send set state = ${change.to}, pause_reason = ${change.reason}, updated_at = ${change.now},
    automatic_pause = automatic_pause and not (state = 'paused' and ${change.to} = 'sending')
  where business_id = ${businessId} and campaign_id = ${change.campaignId} and state = any(${change.from})
    and completed_at is null
  returning id`

export const newestSend = (db: Db, businessId: string, campaignId: string) =>
  db<{ id: string }[]>`
    select id from email_send where business_id = ${businessId} and campaign_id = ${campaignId}
    order by id desc limit 1`.then(first)

export const sendOf = (db: Db, businessId: string, send: { campaignId: string; sendId: string }) =>
  db<{ id: string }[]>`
    select id from email_send
    where business_id = ${businessId} and campaign_id = ${send.campaignId} and id = ${send.sendId}`.then(first)

/** Who did not get it in this send, nor in a later one of the same campaign. */
export const failedPeople = (
  db: Db,
  businessId: string,
  failed: { campaignId: string; sendId: string; states: string[] },
) => db`
  select max(coalesce(d.subscriber_id, '')) as subscriber_id, min(d.email) as email
  from email_send s
  join email_delivery d on d.business_id = s.business_id and d.id between s.id and left(s.id, 16) || 'ffffffff'
  where s.business_id = ${businessId} and s.campaign_id = ${failed.campaignId} and s.id >= ${failed.sendId}
  group by lower(d.email)
  having bool_or(d.state = any(${failed.states}) and d.class not in ('hard'))
    and not bool_or(d.state = 'sent')`

export interface DeliveryReport {
  _id: string
  sendId: string
  campaignId: string
  email: string
  subscriberId: string | null
  status: 'queued' | 'deferred' | 'sent' | 'bounced' | 'suppressed' | 'failed' | 'unknown' | 'cancelled'
  class: string
  code: number
  reply: string
  deliveryServerId: string | null
  at: Date | null
  nextTryAt: Date | null
  openedAt: Date | null
  clickedAt: Date | null
}

export interface DeliveryFilter {
  campaignId?: string
  sendId?: string
  status?: string
  email?: string
  deliveryId?: string
}

/** People with a result, people who are to be tried again, and people still waiting, as one. */
const all = (db: Db, businessId: string, filter: DeliveryFilter) => db`
  with send as (
    select id, campaign_id from email_send where business_id = ${businessId}
      ${filter.sendId ? db`and id = ${filter.sendId}` : db``} ${filter.campaignId ? db`and campaign_id = ${filter.campaignId}` : db``}
  ), one as (
    select d.id, send.id as send_id, send.campaign_id, d.email, d.subscriber_id, d.state, d.class, d.code, d.reply,
      d.server_id, d.at, null::timestamptz as next_at
    from send join email_delivery d on d.business_id = ${businessId} and d.id between send.id and left(send.id, 16) || 'ffffffff'
    union all
    select f.delivery_id, send.id, send.campaign_id, f.email, f.subscriber_id, 'deferred', f.class, f.code, f.reply, null, null, f.next_at
    from send join email_deferral f on f.business_id = ${businessId} and f.delivery_id between send.id and left(send.id, 16) || 'ffffffff'
    where not exists (select from email_delivery d where d.business_id = ${businessId} and d.id = f.delivery_id)
    union all
    select left(send.id, 16) || lpad(to_hex(b.first + p.place - 1), 8, '0'), send.id, send.campaign_id, p.email,
      nullif(p.subscriber_id, ''), 'queued', '', 0, '', null, null, null
    from send join email_block b on b.business_id = ${businessId} and b.send_id = send.id and not b.done,
      unnest(b.emails, b.subscriber_ids) with ordinality as p (email, subscriber_id, place)
    where not exists (select from email_delivery d where d.business_id = ${businessId}
        and d.id = left(send.id, 16) || lpad(to_hex(b.first + p.place - 1), 8, '0'))
      and not exists (select from email_deferral f where f.business_id = ${businessId}
        and f.delivery_id = left(send.id, 16) || lpad(to_hex(b.first + p.place - 1), 8, '0'))
  )`
const matching = (db: Db, filter: DeliveryFilter) => db`
  where true ${filter.deliveryId ? db`and one.id = ${filter.deliveryId}` : db``} ${filter.status ? db`and one.state = ${filter.status}` : db``}
    ${filter.email ? db`and lower(one.email) = lower(${filter.email})` : db``}`

export const deliveries = (
  db: Db,
  businessId: string,
  filter: DeliveryFilter,
  page: { limit: number; offset: number },
) => db<DeliveryReport[]>`
  ${all(db, businessId, filter)}
  select one.id as _id, one.send_id as "sendId", one.campaign_id as "campaignId", one.email, one.subscriber_id as "subscriberId",
    one.state as status, one.class, one.code, one.reply, one.server_id as "deliveryServerId", one.at, one.next_at as "nextTryAt",
    a.opened_at as "openedAt", a.clicked_at as "clickedAt"
  from one left join email_delivery_activity a on a.business_id = ${businessId} and a.delivery_id = one.id
  ${matching(db, filter)} order by one.id limit ${page.limit} offset ${page.offset}`

export const deliveryById = (db: Db, businessId: string, one: { sendId: string; deliveryId: string }) =>
  deliveries(db, businessId, one, { limit: 1, offset: 0 }).then(first)

export const countDeliveries = (db: Db, businessId: string, filter: DeliveryFilter) =>
  db<{ count: number }[]>`
    ${all(db, businessId, filter)} select count(*)::int as count from one ${matching(db, filter)}`.then(
    rows => only(rows).count,
  )

export const attemptsOf = (db: Db, businessId: string, deliveryId: string) => db<
  { attempt: number; at: Date; class: string; code: number; reply: string }[]
>`
  select attempt, at, class, code, reply from email_attempt
  where business_id = ${businessId} and delivery_id = ${deliveryId} order by attempt`

export const eventsOf = (db: Db, businessId: string, deliveryId: string) => db<
  { kind: string; at: Date; link: number | null; isMachine: boolean; reason: string }[]
>`
  select kind, at, link, is_machine as "isMachine", reason from email_event
  where business_id = ${businessId} and delivery_id = ${deliveryId} order by at, id limit 1000`
