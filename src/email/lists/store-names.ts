import { type Db, first } from '../../platform/database.ts'

export type NameKind = 'list' | 'segment'

/** Takes a name in the space that lists and segments share; false when it is taken. Who comes second waits for the first. */
export const takeName = async (db: Db, businessId: string, taken: { name: string; kind: NameKind; objectId: string }) =>
  (
    await db`
    insert into email_name (business_id, name, kind, object_id)
    values (${businessId}, lower(${taken.name}), ${taken.kind}, ${taken.objectId}) on conflict do nothing returning 1`
  ).length > 0

export const freeNames = (db: Db, businessId: string, objectId: string) => db`
  delete from email_name where business_id = ${businessId} and object_id = ${objectId}`

export const ownerOf = async (db: Db, businessId: string, name: string) =>
  (
    await db<{ kind: NameKind; objectId: string }[]>`
    select kind, object_id as "objectId" from email_name where business_id = ${businessId} and name = lower(${name})`
  )[0]

/** Lists and segments by ids or names; unknown ones are missing from the answer. */
export const resolve = (db: Db, businessId: string, idsOrNames: string[]) => db<
  { given: string; kind: NameKind; id: string }[]
>`
  select given, n.kind, n.object_id as id
  from unnest(${idsOrNames}::text[]) given
  join email_name n on n.business_id = ${businessId} and n.name = lower(given)
  union
  select given, 'list', l.id from unnest(${idsOrNames}::text[]) given join email_list l on l.business_id = ${businessId} and l.id = given
  union
  select given, 'segment', g.id from unnest(${idsOrNames}::text[]) given join email_segment g on g.business_id = ${businessId} and g.id = given`

/**
 * Those of these ids that exist, held until the transaction ends: who deletes one of them waits, and then sees what the
 * transaction made of it.
 */
export const hold = async (db: Db, businessId: string, ids: { lists: string[]; segments: string[] }) => [
  ...(await db<{ id: string }[]>`
    select id from email_list where business_id = ${businessId} and id = any(${ids.lists}::text[]) order by id for key share`),
  ...(await db<{ id: string }[]>`
    select id from email_segment where business_id = ${businessId} and id = any(${ids.segments}::text[]) order by id for key share`),
]

/** A scheduled campaign whose audience names this list or segment. */
export const scheduledWith = (db: Db, businessId: string, objectId: string) =>
  db<{ name: string }[]>`
  select name from email_campaign where business_id = ${businessId} and status = 'scheduled'
    and exists (select 1 from jsonb_each(audience) part where part.value @> to_jsonb(${objectId}::text)) limit 1`.then(
    first,
  )

export const freeOtherNames = (db: Db, businessId: string, kept: { name: string; objectId: string }) => db`
  delete from email_name where business_id = ${businessId} and object_id = ${kept.objectId} and name <> lower(${kept.name})`
