import type { PendingQuery, Row } from 'postgres'
import type { Db } from '../../platform/database.ts'
import { tenant } from '../store-tenant.ts'

export type Fragment = PendingQuery<Row[]>

/** What searches look at, of a row: email and names in lower case, parted by a character that no term may contain. */
export const searchText = (db: Db, row: Fragment) =>
  db`lower(${row}.email) || chr(31) || lower(${row}.first_name) || chr(31) || lower(${row}.last_name)`

/**
 * Every statement that changes what is counted about subscribers has this form: `old` locks the rows and reads them as
 * they are, `new` updates them, and the difference goes to the log in the same statement. So no write can forget it.
 */
export const lockedRows = (db: Db, businessId: string, where: Fragment, which = db`order by id`) => db`
  select business_id, id, slot, email, first_name, last_name, status, lead_score, list_numbers, tag_numbers, engaged_at
  from email_subscriber where business_id = ${tenant(db, businessId)} and delete_after is null and ${where} ${which} for update`

/**
 * What the CTE `new` returns: the row as it is now, and as it was. To join the two afterwards would compare each with each, since the
 * planner can't tell how many they are.
 */
export const newAndOld = (db: Db) => db`
  s.*, old.email as old_email, old.first_name as old_first_name, old.last_name as old_last_name, old.status as old_status,
  old.lead_score as old_score, old.list_numbers as old_lists, old.tag_numbers as old_tags, old.engaged_at as old_engaged`

/** Logs what differs, from the CTE `new`. */
export const logDifference = (db: Db, now: Date) => db`
  insert into email_change (business_id, slot, at, old_status, old_score, old_lists, old_tags, old_engaged,
    new_status, new_score, new_lists, new_tags, new_engaged, text_changed, old_text)
  select business_id, slot, ${now}::timestamptz, old_status, old_score, old_lists, old_tags, old_engaged,
    status, lead_score, list_numbers, tag_numbers, engaged_at,
    (old_email, old_first_name, old_last_name) is distinct from (email, first_name, last_name),
    case when (old_email, old_first_name, old_last_name) is distinct from (email, first_name, last_name)
      then lower(old_email) || chr(31) || lower(old_first_name) || chr(31) || lower(old_last_name) end
  from new
  where (old_email, old_first_name, old_last_name, old_status, old_score, old_lists, old_tags, old_engaged)
    is distinct from (email, first_name, last_name, status, lead_score, list_numbers, tag_numbers, engaged_at)`

/** Logs subscribers that came into being, from the CTE `made`. */
export const logCreated = (db: Db, now: Date) => db`
  insert into email_change (business_id, slot, at, new_status, new_score, new_lists, new_tags, new_engaged, text_changed)
  select business_id, slot, ${now}::timestamptz, status, lead_score, list_numbers, tag_numbers, engaged_at, true from made`
