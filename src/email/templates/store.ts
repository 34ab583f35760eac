import { type Db, first, only } from '../../platform/database.ts'
import type { BuilderType } from './schema.ts'

export interface TemplateRow {
  _id: string
  name: string
  builderType: BuilderType
  content: string
  htmlContent: string
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id as "_id", name, builder_type as "builderType", content, html_content as "htmlContent", created_at as "createdAt",
  updated_at as "updatedAt"`

export const insert = (
  db: Db,
  businessId: string,
  template: Pick<TemplateRow, '_id' | 'name' | 'builderType' | 'content' | 'htmlContent'> & { campaignId?: string },
  now: Date,
) =>
  db<TemplateRow[]>`
  insert into email_template (business_id, id, name, builder_type, content, html_content, campaign_id, created_at, updated_at)
  values (${businessId}, ${template._id}, ${template.name}, ${template.builderType}, ${template.content}, ${template.htmlContent},
    ${template.campaignId ?? null}, ${now}, ${now})
  returning ${columns(db)}`.then(only)

export const update = (
  db: Db,
  businessId: string,
  template: Pick<TemplateRow, '_id' | 'name' | 'builderType' | 'content' | 'htmlContent'>,
  now: Date,
) =>
  db<TemplateRow[]>`
  update email_template set name = ${template.name}, builder_type = ${template.builderType}, content = ${template.content},
    html_content = ${template.htmlContent}, updated_at = ${now}
  where business_id = ${businessId} and id = ${template._id} returning ${columns(db)}`.then(first)

export const find = (db: Db, businessId: string, id: string) =>
  db<TemplateRow[]>`
  select ${columns(db)} from email_template where business_id = ${businessId} and id = ${id} and campaign_id is null`.then(
    first,
  )

/** One that was made for a campaign, too. */
export const findAny = (db: Db, businessId: string, id: string) =>
  db<(TemplateRow & { campaignId: string | null })[]>`
  select ${columns(db)}, campaign_id as "campaignId" from email_template where business_id = ${businessId} and id = ${id}`.then(
    first,
  )

export const page = (db: Db, businessId: string, { limit, offset }: { limit: number; offset: number }) => db<
  TemplateRow[]
>`
  select ${columns(db)} from email_template where business_id = ${businessId} and campaign_id is null
  order by created_at desc, id desc limit ${limit} offset ${offset}`

export const count = (db: Db, businessId: string) =>
  db<{ count: number }[]>`
  select count(*)::int as count from email_template where business_id = ${businessId} and campaign_id is null`.then(
    rows => only(rows).count,
  )

export const campaignsUsing = (db: Db, businessId: string, id: string) => db<{ name: string }[]>`
  select name from email_campaign where business_id = ${businessId} and template_id = ${id} limit 5`

export const remove = (db: Db, businessId: string, id: string) =>
  db<TemplateRow[]>`
  delete from email_template where business_id = ${businessId} and id = ${id} and campaign_id is null
  returning ${columns(db)}`.then(first)
