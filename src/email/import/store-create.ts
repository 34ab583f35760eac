import { pipeline } from 'node:stream/promises'
import { type Db, only } from '../../platform/database.ts'
import type { Status } from '../subscribers/schema.ts'
import { copyCell } from '../subscribers/store-grams.ts'
import type { ImportRow } from './rows.ts'

/**
 * The business, hidden from the planner: of one it has no statistics of yet it expects a single row, and would then read all of its people
 * for each one looked up.
 */
export const hidden = (db: Db, businessId: string) => db`(select ${businessId}::text collate "C" as id offset 0)`

/** Who of these addresses (in lower case) is a subscriber. Lateral: the index is asked for each, whatever the planner thinks of their number. */
export const subscribersAmong = (db: Db, businessId: string, addresses: string[]) => db<
  { address: string; id: string }[]
>`
  select a.address, s.id from unnest(${addresses}::text[]) as a (address) cross join ${hidden(db, businessId)} b cross join lateral (
    select id from email_subscriber s
    where s.business_id = b.id and lower(s.email) = a.address and s.delete_after is null limit 1) s`

export const suppressedAmong = (db: Db, businessId: string, addresses: string[]) => db<
  { address: string; type: Status | 'manual' }[]
>`
  select address, type from email_suppression where business_id = ${businessId} and address = any(${addresses}::text[])`

/** Chunks of one business that make many people take turns; two that met the same emails in another order would lock in a circle. */
export const takeTurn = (db: Db, businessId: string) =>
  db`select pg_advisory_xact_lock(hashtextextended(${`email_import ${businessId}`}, 0))`

export const lower = (db: Db, text: string) =>
  db<{ lowered: string }[]>`select lower(${text}::text) as lowered`.then(rows => only(rows).lowered)

export const lowerEach = (db: Db, texts: string[]) =>
  db<{ lowered: string[] }[]>`
  select array(select lower(text) from unnest(${texts}::text[]) with ordinality as t (text, n) order by n) as lowered`.then(
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

export async function copyPeople(
  db: Db,
  fields: readonly OptionalField[],
  lines: AsyncIterable<string>,
): Promise<void> {
  const columns = optional.filter(([field]) => fields.includes(field)).map(([, column]) => db`, ${db(column)}`)
  const writable = await db`
    copy email_subscriber (business_id, id, slot, email, first_name, last_name, lead_score, status, list_numbers, tag_numbers, source,
      created_at, updated_at ${columns.reduce((left, right) => db`${left} ${right}`, db``)}) from stdin`.writable()
  await pipeline(lines, writable)
}

const defaults: Record<OptionalField, string> = {
  mobile: '',
  country: 'Not Specified',
  city: 'Not Specified',
  dateOfBirth: '\\N',
  customFields: '{}',
}

export function copyLine(
  row: ImportRow,
  own: { lead: string; id: string; slot: number; numbers: string; at: string },
  facets: { status: Status; leadScore: number },
  fields: readonly OptionalField[],
): string {
  let line = `${own.lead}${own.id}\t${own.slot}\t${copyCell(row.email)}\t${row.firstName ? copyCell(row.firstName) : ''}\t${row.lastName ? copyCell(row.lastName) : ''}\t${facets.leadScore}\t${facets.status}\t${own.numbers}\t${row.source ? copyCell(row.source) : 'import'}${own.at}`
  for (const field of fields) {
    const value = row[field]
    line += `\t${value === null ? defaults[field] : copyCell(typeof value === 'string' ? value : JSON.stringify(value))}`
  }
  return `${line}\n`
}
