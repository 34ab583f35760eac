import { type Db, first } from '../../platform/database.ts'
import type { CustomField } from './custom-fields.ts'

const columns = (db: Db) => db`id as "_id", name, key, type, created_at as "createdAt", updated_at as "updatedAt"`

export const all = (db: Db, businessId: string) => db<CustomField[]>`
  select ${columns(db)} from email_custom_field where business_id = ${businessId} order by id`

export const find = (db: Db, businessId: string, id: string) =>
  db<
    CustomField[]
  >`select ${columns(db)} from email_custom_field where business_id = ${businessId} and id = ${id}`.then(first)

export const insert = (db: Db, businessId: string, fields: CustomField[]) => db<CustomField[]>`
  insert into email_custom_field (business_id, id, name, key, type, created_at, updated_at)
  select ${businessId}, f."_id", f.name, f.key, f.type, f."createdAt", f."updatedAt"
  from jsonb_to_recordset(${db.json(fields as never)})
    as f ("_id" text, name text, key text, type text, "createdAt" timestamptz, "updatedAt" timestamptz)
  on conflict (business_id, key) do nothing returning ${columns(db)}`

export const rename = (db: Db, businessId: string, field: { id: string; name: string }, now: Date) =>
  db<CustomField[]>`
  update email_custom_field set name = ${field.name}, updated_at = ${now}
  where business_id = ${businessId} and id = ${field.id} returning ${columns(db)}`.then(first)

export const remove = (db: Db, businessId: string, id: string) =>
  db<CustomField[]>`
  delete from email_custom_field where business_id = ${businessId} and id = ${id} returning ${columns(db)}`.then(first)
