import { type Db, first, only } from '../../platform/database.ts'

export interface ListRow {
  id: string
  number: number
  name: string
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`id, number, name, created_at as "createdAt", updated_at as "updatedAt"`

export const insert = (db: Db, businessId: string, list: { id: string; name: string }, now: Date) =>
  db<ListRow[]>`
  insert into email_list (business_id, id, name, created_at, updated_at)
  values (${businessId}, ${list.id}, ${list.name}, ${now}, ${now}) returning ${columns(db)}`.then(only)

export const rename = (db: Db, businessId: string, list: { id: string; name: string }, now: Date) =>
  db<ListRow[]>`
  update email_list set name = ${list.name}, updated_at = ${now} where business_id = ${businessId} and id = ${list.id}
  returning ${columns(db)}`.then(first)

export const remove = (db: Db, businessId: string, id: string) =>
  db<ListRow[]>`
  delete from email_list where business_id = ${businessId} and id = ${id} returning ${columns(db)}`.then(first)

export const isBeingImported = (db: Db, businessId: string, number: number) =>
  db`
  select 1 from email_import where business_id = ${businessId} and status in ('uploading', 'queued', 'running')
    and settings -> 'listNumbers' @> ${number}::text::jsonb limit 1`.then(rows => rows.length > 0)

export const find = (db: Db, businessId: string, id: string) =>
  db<ListRow[]>`select ${columns(db)} from email_list where business_id = ${businessId} and id = ${id}`.then(first)

/** Before its names: who deletes it takes them in this order too. */
export const lock = (db: Db, businessId: string, id: string) =>
  db<ListRow[]>`
  select ${columns(db)} from email_list where business_id = ${businessId} and id = ${id} for no key update`.then(first)

export const findByName = (db: Db, businessId: string, name: string) =>
  db<ListRow[]>`
  select ${columns(db)} from email_list where business_id = ${businessId} and id = (
    select object_id from email_name where business_id = ${businessId} and name = lower(${name}) and kind = 'list')`.then(
    first,
  )

export const byIds = (db: Db, businessId: string, ids: string[]) => db<ListRow[]>`
  select ${columns(db)} from email_list where business_id = ${businessId} and id = any(${ids}::text[]) order by number`

export const byNumbers = (db: Db, businessId: string, numbers: number[]) => db<ListRow[]>`
  select ${columns(db)} from email_list where business_id = ${businessId} and number = any(${numbers}::int[]) order by number`

export const all = (db: Db, businessId: string) => db<ListRow[]>`
  select ${columns(db)} from email_list where business_id = ${businessId} order by created_at desc, id desc`

export const page = (db: Db, businessId: string, { limit, offset }: { limit: number; offset: number }) => db<ListRow[]>`
  select ${columns(db)} from email_list where business_id = ${businessId} order by created_at desc, id desc
  limit ${limit} offset ${offset}`

export const count = (db: Db, businessId: string) =>
  db<{ count: number }[]>`select count(*)::int as count from email_list where business_id = ${businessId}`.then(
    rows => only(rows).count,
  )

/** Lists by ids or names, with what they were given as. */
export const resolve = (db: Db, businessId: string, idsOrNames: string[]) => db<{ given: string; number: number }[]>`
  select given, l.number from unnest(${idsOrNames}::text[]) given
  join email_list l on l.business_id = ${businessId} and (l.id = given or l.id = (
    select n.object_id from email_name n where n.business_id = ${businessId} and n.name = lower(given) and n.kind = 'list'))`
