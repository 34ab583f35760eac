import type { PendingQuery, Row } from 'postgres'
import type { Db } from '../../platform/database.ts'

export type Fragment = PendingQuery<Row[]>

/** What searches look at, of a row: email and names in lower case, parted by a character that no term may contain. */
export const searchText = (db: Db, row: Fragment) =>
  db`lower(${row}.email) || chr(31) || lower(${row}.first_name) || chr(31) || lower(${row}.last_name)`

/**
 * Every statement that changes what is counted about subscribers has this form: `old` locks the rows and reads them as
 * they are, `new` updates them, and the difference goes to the log in the same statement. So no write can forget it.
 */
export const lockedRows = (db: Db, businessId: string, where: Fragment) => db`
  select business_id, id, slot, email, first_name, last_name, status, lead_score, list_numbers, tag_numbers, engaged_at
  from email_subscriber where business_id = ${businessId} and delete_after is null and ${where} order by id for update`

/** Logs what differs between the CTEs `old` and `new`. */
export const logDifference = (db: Db, now: Date) => db`
  insert into email_change (business_id, slot, at, old_status, old_score, old_lists, old_tags, old_engaged,
    new_status, new_score, new_lists, new_tags, new_engaged, text_changed, old_text)
  select old.business_id, old.slot, ${now}::timestamptz, old.status, old.lead_score, old.list_numbers, old.tag_numbers, old.engaged_at,
    new.status, new.lead_score, new.list_numbers, new.tag_numbers, new.engaged_at,
    (old.email, old.first_name, old.last_name) is distinct from (new.email, new.first_name, new.last_name),
    case when (old.email, old.first_name, old.last_name) is distinct from (new.email, new.first_name, new.last_name)
      then ${searchText(db, db`old`)} end
  from old join new on new.id = old.id
  where (old.email, old.first_name, old.last_name, old.status, old.lead_score, old.list_numbers, old.tag_numbers, old.engaged_at)
    is distinct from (new.email, new.first_name, new.last_name, new.status, new.lead_score, new.list_numbers, new.tag_numbers, new.engaged_at)`

/** Logs subscribers that came into being, from the CTE `made`. */
export const logCreated = (db: Db, now: Date) => db`
  insert into email_change (business_id, slot, at, new_status, new_score, new_lists, new_tags, new_engaged, text_changed)
  select business_id, slot, ${now}::timestamptz, status, lead_score, list_numbers, tag_numbers, engaged_at, true from made`
