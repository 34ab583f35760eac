import { type Db, first } from '../../platform/database.ts'
import type { Template } from './template.ts'

type TemplateRow = Omit<Template, 'buttons'>

const columns = (db: Db) => db`
  id, platform_id as "platformId", name, language, category, status, parameter_format as "parameterFormat", components,
  quality, rejected_reason as "rejectedReason", version, created_at as "createdAt", updated_at as "updatedAt"`

const withButtons = (row: TemplateRow): Template => ({
  ...row,
  buttons: row.components.find(component => component.type === 'BUTTONS')?.buttons ?? [],
})
const firstTemplate = (rows: readonly TemplateRow[]) => {
  const row = first(rows)
  return row && withButtons(row)
}

export const templatesNamed = (db: Db, businessId: string, name: string) =>
  db<TemplateRow[]>`
  select ${columns(db)} from chat_template where business_id = ${businessId} and name = ${name}
  order by created_at, id`.then(rows => rows.map(withButtons))

export const templateById = (db: Db, businessId: string, id: string) =>
  db<TemplateRow[]>`
  select ${columns(db)} from chat_template where business_id = ${businessId} and id = ${id}`.then(firstTemplate)

export interface TemplateFilter {
  status?: string
  category?: string
  language?: string
  name?: string
}

export async function listTemplates(
  db: Db,
  businessId: string,
  filter: TemplateFilter,
  page: { offset: number; limit: number },
) {
  const { status = null, category = null, language = null, name = null } = filter
  const where = db`
    business_id = ${businessId} and (${status}::text is null or status = ${status})
    and (${category}::text is null or category = ${category}) and (${language}::text is null or language = ${language})
    and (${name}::text is null or strpos(name, ${name}) > 0)`
  const templates = await db<TemplateRow[]>`
    select ${columns(db)} from chat_template where ${where} order by created_at desc, id desc
    offset ${page.offset} limit ${page.limit}`
  const [counted] = await db<{ total: number }[]>`select count(*)::int as total from chat_template where ${where}`
  return { templates: templates.map(withButtons), total: counted?.total ?? 0 }
}

export type NewTemplate = Omit<Template, 'version' | 'createdAt' | 'updatedAt' | 'buttons'> & { now: Date }

export const insertTemplate = (db: Db, businessId: string, template: NewTemplate) =>
  db<TemplateRow[]>`
  insert into chat_template (business_id, id, platform_id, name, language, category, status, parameter_format, components,
    quality, rejected_reason, created_at, updated_at)
  values (${businessId}, ${template.id}, ${template.platformId}, ${template.name}, ${template.language}, ${template.category},
    ${template.status}, ${template.parameterFormat}, ${db.json(template.components as never)}, ${template.quality},
    ${template.rejectedReason}, ${template.now}, ${template.now})
  on conflict (business_id, name, language) do nothing
  returning ${columns(db)}`.then(firstTemplate)

/** As the platform has it; the version grows only when the definition changed. */
export const upsertTemplate = (db: Db, businessId: string, template: NewTemplate) => db`
  insert into chat_template (business_id, id, platform_id, name, language, category, status, parameter_format, components,
    quality, rejected_reason, created_at, updated_at)
  values (${businessId}, ${template.id}, ${template.platformId}, ${template.name}, ${template.language}, ${template.category},
    ${template.status}, ${template.parameterFormat}, ${db.json(template.components as never)}, ${template.quality},
    ${template.rejectedReason}, ${template.now}, ${template.now})
  on conflict (business_id, name, language) do update
  set platform_id = excluded.platform_id, category = excluded.category, status = excluded.status,
      parameter_format = excluded.parameter_format, components = excluded.components, quality = excluded.quality,
      rejected_reason = excluded.rejected_reason, updated_at = excluded.updated_at,
      version = chat_template.version + (chat_template.components <> excluded.components)::int`

/** Templates that the platform no longer has. */
export const markDeletedExcept = (db: Db, businessId: string, platformIds: string[], now: Date) => db`
  update chat_template set status = 'DELETED', updated_at = ${now}
  where business_id = ${businessId} and status <> 'DELETED' and not platform_id = any(${platformIds})`

export const setTemplateState = (
  db: Db,
  businessId: string,
  change: {
    name: string
    language: string
    status?: string
    category?: string
    quality?: string
    reason?: string
    now: Date
  },
) =>
  db<TemplateRow[]>`
  update chat_template
  set status = coalesce(${change.status ?? null}, status), category = coalesce(${change.category ?? null}, category),
      quality = coalesce(${change.quality ?? null}, quality),
      rejected_reason = coalesce(${change.reason ?? null}, rejected_reason), updated_at = ${change.now}
  where business_id = ${businessId} and name = ${change.name} and language = ${change.language}
  returning ${columns(db)}`.then(firstTemplate)
