import { CopyRows } from '../../platform/copy-rows.ts'
import { type Db, only } from '../../platform/database.ts'
import type { Status } from '../subscribers/schema.ts'
import type { ImportRow } from './rows.ts'

/**
 * Addresses have no line ends; as one text they are sent and read sooner than as an array. Selected, so that the planner does not see
 * them: it would look for each among all it knows of the table, which takes longer than to find them.
 */
const listed = (db: Db, addresses: readonly string[]) =>
  db`(select string_to_array(${addresses.join('\n')}, chr(10)))::text[]`

/**
 * Who of these addresses is a subscriber. Asked for in the order of one index, and without sorting (see planByIndex): of a table that it
 * does not know, or that is empty while others fill it, the planner might take any index, and read all of it.
 */
export const subscribersAmong = (db: Db, businessId: string, addresses: readonly string[]) => db<
  { address: string; id: string }[]
>`
  select lower(email) as address, id from email_subscriber
  where business_id = ${businessId} and lower(email) = any(${listed(db, addresses)}) and delete_after is null order by lower(email)`

export const suppressedAmong = (db: Db, businessId: string, addresses: readonly string[]) => db<
  { address: string; type: Status | 'manual' }[]
>`
  select address, type from email_suppression where business_id = ${businessId} and address = any(${listed(db, addresses)}) order by address`

/** Chunks of one business that make many people take turns; two that met the same emails in another order would lock in a circle. */
export const takeTurn = (db: Db, businessId: string) =>
  db`select pg_advisory_xact_lock(hashtextextended(${`email_import ${businessId}`}, 0))`

/** Not in every language: where Turkish is spoken, I is not lowered to i. */
export const lowersAsciiPlainly = (db: Db) =>
  db<{ plainly: boolean }[]>`
  select lower('ABCDEFGHIJKLMNOPQRSTUVWXYZ') = 'abcdefghijklmnopqrstuvwxyz' as plainly`.then(rows => only(rows).plainly)

export const lowerEach = (db: Db, texts: readonly string[]) =>
  db<{ lowered: string[] }[]>`
  select array(select lower(text) from unnest(${texts as string[]}::text[]) with ordinality as t (text, n) order by n) as lowered`.then(
    rows => only(rows).lowered,
  )

/** Columns that a file may leave out; then the defaults of the table stand, and nothing is sent for them. */
const optional = [
  ['mobile', 'mobile'],
  ['country', 'country'],
  ['city', 'city'],
  ['dateOfBirth', 'date_of_birth'],
  ['customFields', 'custom_fields'],
] as const
export type OptionalField = (typeof optional)[number][0]

export const fieldsGiven = (rows: readonly ImportRow[]): OptionalField[] =>
  optional.map(([field]) => field).filter(field => rows.some(row => row[field] !== null))

const always = 13

export const copyPeople = (db: Db, fields: readonly OptionalField[], rows: CopyRows) => {
  const columns = optional.filter(([field]) => fields.includes(field)).map(([, column]) => db`, ${db(column)}`)
  return rows.sendTo(db`
    copy email_subscriber (business_id, created_at, updated_at, id, slot, email, first_name, last_name, lead_score, status, list_numbers,
      tag_numbers, source ${columns.reduce((left, right) => db`${left} ${right}`, db``)}) from stdin (format binary)`)
}

/** Makes the rows of people for COPY, one after the other. */
export function peopleRows(businessId: string, fields: readonly OptionalField[], size: number, now: Date) {
  const rows = new CopyRows(always + fields.length, size * 250)
  const shared = new CopyRows(0)
  shared.text(businessId)
  shared.moment(now)
  shared.moment(now)
  const add = (row: ImportRow, own: { id: string; slot: number; status: Status }) => {
    rows.begin()
    rows.cells(shared)
    rows.text(own.id)
    rows.int(own.slot)
    rows.text(row.email)
    rows.text(row.firstName ?? '')
    rows.text(row.lastName ?? '')
    rows.int(row.leadScore ?? 0)
    rows.text(own.status)
    rows.ints(row.listNumbers)
    rows.ints(row.tagNumbers)
    rows.text(row.source ?? 'import')
    for (const field of fields) addOptional(rows, row, field)
  }
  return { rows, add }
}

function addOptional(rows: CopyRows, row: ImportRow, field: OptionalField): void {
  switch (field) {
    case 'dateOfBirth':
      if (row.dateOfBirth === null) rows.null()
      else rows.date(row.dateOfBirth)
      return
    case 'customFields':
      rows.jsonb(row.customFields ?? {})
      return
    case 'mobile':
      rows.text(row.mobile ?? '')
      return
    default:
      rows.text(row[field] ?? 'Not Specified')
  }
}
