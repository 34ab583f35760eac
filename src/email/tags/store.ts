import { type Db, first } from '../../platform/database.ts'

export interface TagRow {
  number: number
  name: string
}

/** Finds tags by name and makes the missing ones; in the order of names, so that two requests never wait in a circle. */
export async function ensure(db: Db, businessId: string, names: string[], now: Date): Promise<TagRow[]> {
  const known = await byNames(db, businessId, names)
  if (known.length === names.length) return known
  await db`
    insert into email_tag (business_id, name, created_at)
    select ${businessId}, wanted.name, ${now}::timestamptz from unnest(${names}::text[]) as wanted (name)
    where not exists (select 1 from email_tag t where t.business_id = ${businessId} and t.name = wanted.name)
    order by wanted.name on conflict (business_id, name) do nothing`
  return byNames(db, businessId, names)
}

export const byNames = (db: Db, businessId: string, names: string[]) => db<TagRow[]>`
  select number, name from email_tag where business_id = ${businessId} and name = any(${names}::text[])`

export const all = (db: Db, businessId: string) => db<(TagRow & { createdAt: Date })[]>`
  select number, name, created_at as "createdAt" from email_tag where business_id = ${businessId} order by name`

export const remove = (db: Db, businessId: string, name: string) =>
  db<TagRow[]>`
  delete from email_tag where business_id = ${businessId} and name = ${name} returning number, name`.then(first)
