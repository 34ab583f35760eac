import type { Db } from '../../platform/database.ts'
import { tenant } from '../store-tenant.ts'
import type { Effect } from './activity.ts'
import { maxActivity, maxCampaigns } from './activity.ts'
import { maxScore, type Status } from './schema.ts'
import { lockedRows, logDifference, newAndOld } from './store-changes.ts'
import { type MailedEntry, mailedOf } from './store-mailed.ts'

/** History is bounded; the newest are kept. Rows are taken in the order of their ids, as in every batch. */
export const addActivity = (db: Db, businessId: string, effects: Effect[]) => db`
  insert into email_subscriber_activity as a (business_id, subscriber_id, total_sent, total_delivered, total_opens,
    total_unique_opens, total_clicks, total_unique_click, last_open_at, last_click_at, activity, campaigns)
  select ${businessId}, e.id, e.sent, e.delivered, e.opens, e."uniqueOpens", e.clicks, e."uniqueClick", e."lastOpenAt", e."lastClickAt",
    e.activity, e.campaigns
  from jsonb_to_recordset(${db.json(effects as never)}) as e (id text, sent int, delivered int, opens int, "uniqueOpens" int,
    clicks int, "uniqueClick" int, "lastOpenAt" timestamptz, "lastClickAt" timestamptz, activity jsonb, campaigns jsonb)
  where exists (select 1 from email_subscriber s where s.business_id = ${tenant(db, businessId)} and s.id = e.id)
  order by e.id collate "C"
  on conflict (business_id, subscriber_id) do update set
    total_sent = a.total_sent + excluded.total_sent,
    total_delivered = a.total_delivered + excluded.total_delivered,
    total_opens = a.total_opens + excluded.total_opens,
    total_unique_opens = a.total_unique_opens + excluded.total_unique_opens,
    total_clicks = a.total_clicks + excluded.total_clicks,
    total_unique_click = a.total_unique_click + excluded.total_unique_click,
    last_open_at = greatest(a.last_open_at, excluded.last_open_at),
    last_click_at = greatest(a.last_click_at, excluded.last_click_at),
    activity = case when jsonb_array_length(a.activity) + jsonb_array_length(excluded.activity) <= ${maxActivity}
      then excluded.activity || a.activity
      else (select jsonb_agg(item order by place) from (
        select item, place from jsonb_array_elements(excluded.activity || a.activity) with ordinality as x (item, place)
        order by place limit ${maxActivity}) newest) end,
    campaigns = case when excluded.campaigns = '[]'::jsonb then a.campaigns
      else (select jsonb_agg(item order by place) from (
        select item, place from jsonb_array_elements(excluded.campaigns || a.campaigns) with ordinality as x (item, place)
        where place <= jsonb_array_length(excluded.campaigns)
          or not excluded.campaigns @> jsonb_build_array(jsonb_build_object('campaignId', item -> 'campaignId'))
        order by place limit ${maxCampaigns}) newest) end`

export interface Recent {
  id: string
  activity: Effect['activity']
  mailed: MailedEntry[]
  /** deliveries that were accepted and came back all the same */
  cameBack: string[]
}

/** What these subscribers got and did of late, newest first. */
export const recentOf = (db: Db, businessId: string, ids: string[]) => db<Recent[]>`
  select one.*, array(
      select d.delivery_id from jsonb_array_elements(one.mailed) entry
      join email_delivery_activity d on d.business_id = ${businessId} and d.delivery_id = entry ->> 0
      where d.bounced_at is not null) as "cameBack"
  from (
    select a.subscriber_id as id, a.activity, ${mailedOf(db)} as mailed from email_subscriber_activity a
    where a.business_id = ${businessId} and a.subscriber_id = any(${ids}::text[])
  ) one`

export interface ChangedStatus {
  id: string
  email: string
  status: Status
}

/** Answers whose status changed. Nobody goes from a grave status to a milder one by mail. */
export const applyEffects = (db: Db, businessId: string, effects: Effect[], now: Date) => db<ChangedStatus[]>`
  with effect as materialized (
    select id, score, "engagedAt", status from jsonb_to_recordset(${db.json(effects as never)})
      as e (id text collate "C", score int, "engagedAt" timestamptz, status text)
  ), old as materialized (${lockedRows(db, businessId, db`id in (select id from effect)`)}
  ), new as (
    update email_subscriber s set
      lead_score = greatest(${-maxScore}::bigint, least(${maxScore}::bigint, s.lead_score::bigint + effect.score))::int,
      engaged_at = greatest(s.engaged_at, effect."engagedAt"),
      status = case when array_position(${grave}, effect.status) > array_position(${grave}, s.status) then effect.status else s.status end,
      updated_at = greatest(s.updated_at, ${now})
    from old join effect on effect.id = old.id
    where s.business_id = old.business_id and s.id = old.id
    returning ${newAndOld(db)}
  ), log as (${logDifference(db, now)})
  select id, email, status from new where status <> old_status`

const grave: string[] = ['subscribed', 'unsubscribed', 'bounced', 'complaint']
