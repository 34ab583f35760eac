import { type Db, first, only } from '../../platform/database.ts'
import type { Audience } from '../subscribers/audience.ts'
import type { BuilderType } from '../templates/schema.ts'
import type { CampaignStatus, CampaignType } from './schema.ts'

export interface CampaignRow {
  id: string
  name: string
  campaignType: CampaignType
  subject: string
  senderName: string
  preheaderText: string
  status: CampaignStatus
  templateId: string
  scheduledAt: Date | null
  audience: Audience | null
  deliveryServerId: string | null
  senderEmail: string
}

export interface WholeCampaign extends CampaignRow {
  template: { _id: string; name: string; builderType: BuilderType; htmlContent: string }
  createdAt: Date
  updatedAt: Date
}

const whole = (db: Db) => db`
  select c.id, c.name, c.campaign_type as "campaignType", c.subject, c.sender_name as "senderName",
    c.preheader_text as "preheaderText", c.status, c.template_id as "templateId", c.scheduled_at as "scheduledAt", c.audience,
    c.delivery_server_id as "deliveryServerId", c.sender_email as "senderEmail", c.created_at as "createdAt", c.updated_at as "updatedAt",
    json_build_object('_id', t.id, 'name', t.name, 'builderType', t.builder_type, 'htmlContent', t.html_content) as template
  from email_campaign c join email_template t on t.business_id = c.business_id and t.id = c.template_id`

export const find = (db: Db, businessId: string, id: string) =>
  db<WholeCampaign[]>`${whole(db)} where c.business_id = ${businessId} and c.id = ${id}`.then(first)

export const lock = (db: Db, businessId: string, id: string) =>
  db<WholeCampaign[]>`${whole(db)} where c.business_id = ${businessId} and c.id = ${id} for update of c`.then(first)

/** Undefined: the name is taken. */
export const insert = (db: Db, businessId: string, row: CampaignRow, now: Date) =>
  db<{ id: string }[]>`
  insert into email_campaign (business_id, id, name, campaign_type, subject, sender_name, preheader_text, status, template_id,
    scheduled_at, audience, delivery_server_id, sender_email, created_at, updated_at)
  values (${businessId}, ${row.id}, ${row.name}, ${row.campaignType}, ${row.subject}, ${row.senderName}, ${row.preheaderText},
    ${row.status}, ${row.templateId}, ${row.scheduledAt}, ${row.audience && db.json(row.audience as never)}, ${row.deliveryServerId},
    ${row.senderEmail}, ${now}, ${now})
  on conflict do nothing returning id`.then(first)

export const update = (db: Db, businessId: string, row: CampaignRow, now: Date) => db`
  update email_campaign set name = ${row.name}, subject = ${row.subject}, sender_name = ${row.senderName},
    preheader_text = ${row.preheaderText}, status = ${row.status}, template_id = ${row.templateId}, scheduled_at = ${row.scheduledAt},
    audience = ${row.audience && db.json(row.audience as never)}, delivery_server_id = ${row.deliveryServerId},
    sender_email = ${row.senderEmail}, updated_at = ${now}
  where business_id = ${businessId} and id = ${row.id}`

export const remove = (db: Db, businessId: string, id: string) => db`
  delete from email_campaign where business_id = ${businessId} and id = ${id}`

const ofType = (db: Db, type: CampaignType | undefined) => (type ? db`and c.campaign_type = ${type}` : db``)

export const page = (
  db: Db,
  businessId: string,
  filter: { type: CampaignType | undefined; limit: number; offset: number },
) => db<WholeCampaign[]>`
  ${whole(db)} where c.business_id = ${businessId} ${ofType(db, filter.type)}
  order by c.created_at desc, c.id desc limit ${filter.limit} offset ${filter.offset}`

export const count = (db: Db, businessId: string, type: CampaignType | undefined) =>
  db<{ count: number }[]>`
  select count(*)::int as count from email_campaign c where c.business_id = ${businessId} ${ofType(db, type)}`.then(
    rows => only(rows).count,
  )

export const nextScheduled = async (db: Db, businessId: string) =>
  (
    await db<{ at: Date }[]>`
    select scheduled_at as at from email_campaign where business_id = ${businessId} and status = 'scheduled'
    order by scheduled_at limit 1`
  )[0]?.at

export const dueCampaigns = (db: Db, businessId: string, now: Date) => db<{ id: string }[]>`
  select id from email_campaign where business_id = ${businessId} and status = 'scheduled' and scheduled_at <= ${now}
  order by scheduled_at, id`

/** Of all businesses; those with a clock of their own are moved by it. */
export const businessesWithDueCampaigns = (db: Db, now: Date) => db<{ id: string }[]>`
  select distinct c.business_id as id from email_campaign c join account_business b on b.id = c.business_id
  where c.status = 'scheduled' and c.scheduled_at <= ${now} and b.clock_now is null`

export const business = (db: Db, id: string) =>
  db<{ id: string; userId: string; name: string; timeZone: string; currency: string; testMode: boolean }[]>`
  select id, user_id as "userId", name, time_zone as "timeZone", currency, test_mode as "testMode"
  from account_business where id = ${id}`.then(first)
