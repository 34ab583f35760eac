import type { Db } from '../../platform/database.ts'
import type { FieldDefinition } from '../custom-fields/custom-fields.ts'
import type { RuleContext } from '../segments/store-rules.ts'
import type { Filter } from '../subscribers/filter.ts'
import type { Fragment } from '../subscribers/store-changes.ts'
import { rowCondition } from '../subscribers/store-filter.ts'

export const leadingColumns = [
  'email',
  'firstName',
  'lastName',
  'mobile',
  'country',
  'city',
  'dateOfBirth',
  'leadScore',
  'status',
]
export const trailingColumns = (customFields: readonly FieldDefinition[]) => [
  'source',
  ...customFields.map(field => `customFields.${field.key}`),
  'createdAt',
  'updatedAt',
]

export interface ExportRow {
  id: string
  createdAt: Date
  leading: string
  tags: string
  lists: string
  trailing: string
}

/** The database writes the cells, so that a row costs the program next to nothing. */
export function exportPage(
  db: Db,
  context: RuleContext,
  filter: Filter,
  after: { id: string; createdAt: Date } | undefined,
  limit: number,
): Promise<ExportRow[]> {
  const custom = context.customFields.map(field => db`email_csv(coalesce(s.custom_fields ->> ${field.key}, ''))`)
  const time = (column: Fragment) => db`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const trailing = [db`email_csv(s.source)`, ...custom, time(db`s.created_at`), time(db`s.updated_at`)]
  return db<ExportRow[]>`
    select s.id, s.created_at as "createdAt",
      email_csv(s.email) || ',' || email_csv(s.first_name) || ',' || email_csv(s.last_name) || ',' || email_csv(s.mobile) || ',' ||
        email_csv(s.country) || ',' || email_csv(s.city) || ',' || coalesce(s.date_of_birth::text, '') || ',' || s.lead_score || ',' ||
        s.status as leading,
      s.tag_numbers::text as tags, s.list_numbers::text as lists,
      ${trailing.reduce((left, right) => db`${left} || ',' || ${right}`)} as trailing
    from email_subscriber s where ${rowCondition(db, context, filter)}
      ${after ? db`and (s.created_at, s.id) < (${after.createdAt}, ${after.id})` : db``}
    order by s.created_at desc, s.id desc limit ${limit}`
}

export const tagNames = async (db: Db, businessId: string) =>
  new Map(
    (
      await db<{ number: number; name: string }[]>`select number, name from email_tag where business_id = ${businessId}`
    ).map(row => [row.number, row.name]),
  )

export const listNames = async (db: Db, businessId: string) =>
  new Map(
    (
      await db<
        { number: number; name: string }[]
      >`select number, name from email_list where business_id = ${businessId}`
    ).map(row => [row.number, row.name]),
  )
