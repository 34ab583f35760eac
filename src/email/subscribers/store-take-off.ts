import type { Db } from '../../platform/database.ts'
import { lockedRows, logDifference, newAndOld } from './store-changes.ts'

/** A list or a tag by its number. */
export interface Mark {
  kind: 'lists' | 'tags'
  number: number
}

/** Answers from how many of these it was taken. */
export const takeOffSlots = async (db: Db, businessId: string, { kind, number }: Mark, slots: number[], now: Date) => {
  const column = kind === 'lists' ? db`list_numbers` : db`tag_numbers`
  const rows = await db`
    with old as materialized (${lockedRows(db, businessId, db`slot = any(${slots}::int[]) and ${column} @> array[${number}::int]`)}
    ), new as (
      update email_subscriber s set ${column} = array_remove(s.${column}, ${number}::int), updated_at = ${now}
      from old where s.business_id = old.business_id and s.id = old.id returning ${newAndOld(db)}
    ), log as (${logDifference(db, now)})
    select id from new`
  return rows.length
}
