import { type Db, first, only } from '../../platform/database.ts'
import type { LeadScoreSettings } from './lead-score.ts'

export interface LeadScoreRow {
  settings: LeadScoreSettings
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`settings, created_at as "createdAt", updated_at as "updatedAt"`

export const find = (db: Db, businessId: string) =>
  db<LeadScoreRow[]>`select ${columns(db)} from email_lead_score where business_id = ${businessId}`.then(first)

export const save = (db: Db, businessId: string, settings: LeadScoreSettings, now: Date) =>
  db<LeadScoreRow[]>`
  insert into email_lead_score (business_id, settings, created_at, updated_at)
  select id, ${db.json(settings as never)}, created_at, ${now} from account_business where id = ${businessId}
  on conflict (business_id) do update set settings = excluded.settings, updated_at = excluded.updated_at
  returning ${columns(db)}`.then(only)

export const findOrBeginning = (db: Db, businessId: string) =>
  db<LeadScoreRow[]>`
  select coalesce(l.settings, '{}') as settings, coalesce(l.created_at, b.created_at) as "createdAt",
    coalesce(l.updated_at, b.created_at) as "updatedAt"
  from account_business b left join email_lead_score l on l.business_id = b.id where b.id = ${businessId}`.then(only)
