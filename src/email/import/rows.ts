import { setImmediate } from 'node:timers/promises'
import { type CsvRecord, readCsv } from '../../platform/csv.ts'
import { type CustomField, checkCustomFields, isLocalDate } from '../custom-fields/custom-fields.ts'
import { isEmail } from '../subscribers/email-address.ts'
import { maxScore, type Status, statuses } from '../subscribers/schema.ts'

/** What the columns of a file mean; undefined ones are ignored. */
export type Column =
  | 'email'
  | 'firstName'
  | 'lastName'
  | 'mobile'
  | 'country'
  | 'city'
  | 'dateOfBirth'
  | 'leadScore'
  | 'status'
  | 'tags'
  | 'lists'
  | 'source'
  | `customFields.${string}`

/** A row that is fit to be merged. Null leaves what is there. */
export interface ImportRow {
  line: number
  email: string
  /** the email in lower case, as the database lowers it */
  address: string
  firstName: string | null
  lastName: string | null
  mobile: string | null
  country: string | null
  city: string | null
  dateOfBirth: string | null
  leadScore: number | null
  status: Status | null
  source: string | null
  customFields: Record<string, unknown> | null
  tags: readonly string[]
  lists: readonly string[]
  /** of its own tags and lists and of those everyone in the file gets; known once the names are */
  tagNumbers: number[]
  listNumbers: number[]
}

export interface Refusal {
  line: number
  email: string
  reason: string
}

const plainColumns: Record<string, Column> = {
  email: 'email',
  emailaddress: 'email',
  mail: 'email',
  firstname: 'firstName',
  lastname: 'lastName',
  surname: 'lastName',
  mobile: 'mobile',
  phone: 'mobile',
  country: 'country',
  city: 'city',
  dateofbirth: 'dateOfBirth',
  birthday: 'dateOfBirth',
  leadscore: 'leadScore',
  status: 'status',
  tags: 'tags',
  lists: 'lists',
  source: 'source',
}

/** Names are taken in any spelling: "First name", first_name, firstName. A custom field's key needs no prefix. */
export function columnsOf(header: readonly string[], customFields: readonly CustomField[]): (Column | null)[] {
  return header.map(cell => {
    const name = cell.trim().replace(/^\uFEFF/, '')
    const bare = name.replace(/^customFields\./, '')
    const custom =
      customFields.find(field => field.key === bare) ??
      customFields.find(field => squeezed(field.key) === squeezed(bare) || squeezed(field.name) === squeezed(bare))
    if (custom && (bare !== name || !(squeezed(name) in plainColumns))) return `customFields.${custom.key}` as const
    return plainColumns[squeezed(name)] ?? null
  })
}

const squeezed = (name: string) => name.toLowerCase().replaceAll(/[\s_-]/g, '')

const sliceRecords = 100

/** Reads and checks one chunk, in slices, so that requests are served in between. */
export async function readRows(
  text: string,
  file: { columns: readonly (Column | null)[]; separator: string; firstLine: number; skipHeader: boolean },
  customFields: readonly CustomField[],
): Promise<{ rows: ImportRow[]; refusals: Refusal[] }> {
  const rows: ImportRow[] = []
  const refusals: Refusal[] = []
  const reader: Reader = {
    columns: file.columns,
    customFields,
    splitNames: rememberingSplit(),
    isClean: !text.includes('\u0000') && !text.includes('\uFFFD'),
  }
  let records = 0
  for (const record of readCsv(text, file.separator, file.firstLine)) {
    if (records++ === 0 && file.skipHeader) continue
    if (records % sliceRecords === 0) await setImmediate()
    const row = readRow(record, reader)
    if ('reason' in row) refusals.push(row)
    else rows.push(row)
  }
  return { rows, refusals }
}

export function linesIn(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

interface Reader {
  columns: readonly (Column | null)[]
  customFields: readonly CustomField[]
  splitNames(cell: string): readonly string[]
  /** the whole chunk is text */
  isClean: boolean
}

/** Names stand between semicolons or bars; one that contains them stands in quotes, as an export writes it. */
const oneName = /\s*"(?:[^"]|"")*"\s*(?=[;|]|$)|[^;|]+/g
const nameIn = (text: string) => {
  const name = text.trim()
  const isQuoted = name.length > 1 && name.startsWith('"') && name.endsWith('"')
  return isQuoted ? name.slice(1, -1).replaceAll('""', '"').trim() : name
}
export const nameInCell = (name: string) => (/[;|]|^"/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)

const maxRemembered = 5_000

/** The same few sets of names come again and again; who has the same gets the same array, which later work counts on. */
function rememberingSplit(): Reader['splitNames'] {
  const known = new Map<string, readonly string[]>()
  return cell => {
    let names = known.get(cell)
    if (!names) {
      names = [...new Set((cell.match(oneName) ?? []).map(nameIn).filter(name => name !== ''))]
      if (known.size < maxRemembered) known.set(cell, names)
    }
    return names
  }
}

/** The later row wins field by field; tags and lists add up. */
export function joinRows(earlier: ImportRow, later: ImportRow): ImportRow {
  const given = Object.fromEntries(Object.entries(later).filter(([, value]) => value !== null))
  const customFields = (earlier.customFields || later.customFields) && {
    ...earlier.customFields,
    ...later.customFields,
  }
  return {
    ...earlier,
    ...given,
    customFields,
    tags: [...earlier.tags, ...later.tags],
    lists: [...earlier.lists, ...later.lists],
  }
}

function readRow(record: CsvRecord, reader: Reader): ImportRow | Refusal {
  const row: ImportRow = {
    line: record.line,
    email: '',
    address: '',
    firstName: null,
    lastName: null,
    mobile: null,
    country: null,
    city: null,
    dateOfBirth: null,
    leadScore: null,
    status: null,
    source: null,
    customFields: null,
    tags: noNames,
    lists: noNames,
    tagNumbers: noNumbers,
    listNumbers: noNumbers,
  }
  let fault: string | undefined
  const { columns } = reader
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]
    const cell = cellText(record.cells[i])
    if (!column || cell === '') continue
    fault ??= setCell(row, column, cell, reader)
  }
  if (!isEmail(row.email)) fault = row.email === '' ? 'email is missing' : 'email is not a valid address'
  return fault ? { line: record.line, email: row.email.slice(0, 254), reason: fault } : row
}

const noNames: readonly string[] = []
const noNumbers: number[] = []

/** Exports lead what looks like a formula with an apostrophe; here it comes off again. */
function cellText(cell: string | undefined): string {
  const text = (cell ?? '').trim()
  return text.charCodeAt(0) === 0x27 && /^'[=+\-@\t\r]/.test(text) ? text.slice(1) : text
}

const maxLengths: Partial<Record<Column, number>> = {
  firstName: 200,
  lastName: 200,
  mobile: 50,
  country: 100,
  city: 100,
  source: 100,
}

/** Answers what is wrong with the cell, if anything. */
function setCell(row: ImportRow, column: Column, cell: string, reader: Reader): string | undefined {
  if (!reader.isClean && (cell.includes('\u0000') || cell.includes('\uFFFD')))
    return `${column} contains characters that are not text (is the file UTF-8?)`
  switch (column) {
    case 'email':
      row.email = cell
      return undefined
    case 'leadScore':
      row.leadScore = Number(cell)
      return Number.isInteger(row.leadScore) && Math.abs(row.leadScore) <= maxScore
        ? undefined
        : 'leadScore is not an integer'
    case 'status':
      // Ours, not the file's: a text that is the same object for all is compared and looked up at once.
      row.status = statuses.find(status => status === cell || status === cell.toLowerCase()) ?? null
      return row.status ? undefined : `status is not one of ${statuses.join(', ')}`
    case 'dateOfBirth':
      row.dateOfBirth = cell
      return isLocalDate(cell) ? undefined : 'dateOfBirth is not a date such as 1990-01-31'
    case 'tags':
    case 'lists':
      row[column] = reader.splitNames(cell)
      return row[column].every(name => name.length <= 100)
        ? undefined
        : `${column} has a name longer than 100 characters`
    case 'firstName':
    case 'lastName':
    case 'mobile':
    case 'country':
    case 'city':
    case 'source': {
      const most = maxLengths[column]!
      row[column] = cell
      return cell.length <= most ? undefined : `${column} is longer than ${most} characters`
    }
    default:
      return setCustomField(row, column.slice('customFields.'.length), cell, reader.customFields)
  }
}

function setCustomField(
  row: ImportRow,
  key: string,
  cell: string,
  customFields: readonly CustomField[],
): string | undefined {
  const field = customFields.find(one => one.key === key)
  const value =
    field?.type === 'number' ? Number(cell) : field?.type === 'boolean' ? booleans[cell.toLowerCase()] : cell
  row.customFields = { ...row.customFields, [key]: value }
  try {
    checkCustomFields({ [key]: value }, customFields)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const booleans: Record<string, boolean> = { true: true, yes: true, '1': true, false: false, no: false, '0': false }
