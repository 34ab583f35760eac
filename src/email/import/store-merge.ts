import { type Db, only } from '../../platform/database.ts'
import { tenant } from '../store-tenant.ts'
import type { Status } from '../subscribers/schema.ts'
import { type Fragment, logCreated } from '../subscribers/store-changes.ts'
import type { ImportRow } from './rows.ts'

const given = (db: Db, rows: readonly GivenRow[]) => db`
  json_to_recordset(${JSON.stringify(rows.map(told))}::text::json) as r (n int, id text, slot int, email text, "firstName" text, "lastName" text,
    mobile text, country text, city text, "dateOfBirth" date, "leadScore" int, status text, source text, "customFields" jsonb,
    "tagNumbers" int[], "listNumbers" int[])`

interface GivenRow {
  row: ImportRow
  id: string
  slot?: number
  /** where it is not the row's own */
  status?: Status
}

/** Without what is null: the shorter the text, the sooner it is read. */
const told = ({ row, id, slot, status }: GivenRow, n: number) => ({
  n,
  id,
  slot,
  email: row.email,
  firstName: row.firstName ?? undefined,
  lastName: row.lastName ?? undefined,
  mobile: row.mobile ?? undefined,
  country: row.country ?? undefined,
  city: row.city ?? undefined,
  dateOfBirth: row.dateOfBirth ?? undefined,
  leadScore: row.leadScore ?? undefined,
  status: status ?? row.status ?? undefined,
  source: row.source ?? undefined,
  customFields: row.customFields ?? undefined,
  tagNumbers: row.tagNumbers,
  listNumbers: row.listNumbers,
})

/** Adds what is missing, in the order given. */
const withMissing = (db: Db, column: string, added: string) => db`
  case when old.${db(added)} <@ s.${db(column)} then s.${db(column)}
    else s.${db(column)} || array(select x from unnest(old.${db(added)}) x where x <> all(s.${db(column)})) end`

/** A suppressed address keeps its suppression: an import never makes it `subscribed`, nor a complaint milder. */
const keepsStatus = (db: Db, businessId: string, row: Fragment) => db`
  (${row}.status <> s.status) is true and exists (
    select 1 from email_suppression p where p.business_id = ${businessId} and p.address = lower(s.email)
      and (${row}.status = 'subscribed' or p.type = 'complaint' and ${row}.status <> 'complaint'))`

/** Spec silent: a row that changes nothing leaves the subscriber as it is, with its time of update. */
const differs = (db: Db, businessId: string) => db`
  (r."firstName" <> s.first_name or r."lastName" <> s.last_name or r.mobile <> s.mobile or r.country <> s.country or r.city <> s.city
    or (r."dateOfBirth" is not null and r."dateOfBirth" is distinct from s.date_of_birth) or r."leadScore" <> s.lead_score
    or r.source <> s.source or ((r.status <> s.status) is true and not (${keepsStatus(db, businessId, db`r`)}))
    or not (r."tagNumbers" <@ s.tag_numbers) or not (r."listNumbers" <@ s.list_numbers)
    or s.custom_fields || r."customFields" <> s.custom_fields) is true`

/** The subscriber of the row `r`, asked for in the order of ids, which one index has: before the planner knows the table it might take any. */
const subscriber = (db: Db, businessId: string) => db`
  select * from email_subscriber s where s.business_id = ${tenant(db, businessId)} and s.id >= r.id collate "C" and s.id <= r.id collate "C" order by s.id limit 1`

/**
 * Updates those of whom something differs and logs the differences; answers the places of who was deleted a moment ago, and whether anyone
 * was changed. Rows are locked in the order of ids. The update answers old and new together, because a join of the two, whose sizes the planner can't guess, would
 * compare each with each.
 */
export const update = (db: Db, businessId: string, rows: readonly { row: ImportRow; id: string }[], now: Date) =>
  db<{ gone: number[]; changed: boolean }[]>`
  with given as materialized (select * from ${given(db, rows)}
  ), found as materialized (
    select r.n, ${differs(db, businessId)} as differs from given r
    cross join lateral (${subscriber(db, businessId)}) s where s.delete_after is null
  ), old as materialized (
    select r.*, s.business_id, s.slot as place, s.email as had_email, s.first_name, s.last_name, s.status as old_status, s.lead_score as old_score,
      s.list_numbers as old_lists, s.tag_numbers as old_tags, s.engaged_at as old_engaged
    from (select * from given where n in (select n from found where differs) order by id collate "C") r
    cross join lateral (${subscriber(db, businessId)} for update) s where s.delete_after is null
  ), new as (
    update email_subscriber s set
      first_name = coalesce(old."firstName", s.first_name), last_name = coalesce(old."lastName", s.last_name),
      mobile = coalesce(old.mobile, s.mobile), country = coalesce(old.country, s.country), city = coalesce(old.city, s.city),
      date_of_birth = coalesce(old."dateOfBirth", s.date_of_birth), lead_score = coalesce(old."leadScore", s.lead_score),
      source = coalesce(old.source, s.source),
      status = case when ${keepsStatus(db, businessId, db`old`)} then s.status else coalesce(old.status, s.status) end,
      custom_fields = case when old."customFields" is null then s.custom_fields else s.custom_fields || old."customFields" end,
      tag_numbers = ${withMissing(db, 'tag_numbers', 'tagNumbers')}, list_numbers = ${withMissing(db, 'list_numbers', 'listNumbers')},
      updated_at = ${now}
    from old where s.business_id = old.business_id and s.id = old.id collate "C"
    returning old.n, old.business_id, old.place, old.old_status, old.old_score, old.old_lists, old.old_tags, old.old_engaged,
      s.status, s.lead_score, s.list_numbers, s.tag_numbers, s.engaged_at,
      (old.first_name, old.last_name) is distinct from (s.first_name, s.last_name) as text_changed,
      lower(old.had_email) || chr(31) || lower(old.first_name) || chr(31) || lower(old.last_name) as old_text
  ), log as (
    insert into email_change (business_id, slot, at, old_status, old_score, old_lists, old_tags, old_engaged,
      new_status, new_score, new_lists, new_tags, new_engaged, text_changed, old_text)
    select business_id, place, ${now}::timestamptz, old_status, old_score, old_lists, old_tags, old_engaged,
      status, lead_score, list_numbers, tag_numbers, engaged_at, text_changed, case when text_changed then old_text end
    from new
    where text_changed or (old_status, old_score, old_lists, old_tags) is distinct from (status, lead_score, list_numbers, tag_numbers)
  )
  select exists (select from new) as changed, array(
    select n from given where n not in (select n from found where not differs) and n not in (select n from new)) as gone`.then(
    only,
  )

/** Makes who is missing; answers their slots, without those whose email someone else took a moment ago. */
export const insert = (
  db: Db,
  businessId: string,
  rows: readonly { row: ImportRow; id: string; slot: number; status: Status }[],
  now: Date,
) => db<{ slot: number }[]>`
  with made as (
    insert into email_subscriber (business_id, id, slot, email, first_name, last_name, mobile, country, city, date_of_birth, lead_score,
      status, source, custom_fields, tag_numbers, list_numbers, created_at, updated_at)
    select ${businessId}, r.id, r.slot, r.email, coalesce(r."firstName", ''), coalesce(r."lastName", ''), coalesce(r.mobile, ''),
      coalesce(r.country, 'Not Specified'), coalesce(r.city, 'Not Specified'), r."dateOfBirth", coalesce(r."leadScore", 0), r.status,
      coalesce(r.source, 'import'), coalesce(r."customFields", '{}'), r."tagNumbers", r."listNumbers", ${now}, ${now}
    from ${given(db, rows)}
    on conflict (business_id, lower(email)) where delete_after is null do nothing
    returning *
  ), log as (${logCreated(db, now)})
  select slot from made`
