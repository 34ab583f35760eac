import { readCsv, separatorOf } from '../../platform/csv.ts'
import { badRequest } from '../../platform/problem.ts'

type Column = 'mobile' | 'name' | 'tags' | 'list' | 'optin' | 'incomingBlocked' | { attribute: string }

export interface Header {
  separator: string
  /** null: a column we have no place for */
  columns: (Column | null)[]
  ignoredColumns: string[]
}

const names: Record<string, Column> = {
  mobile: 'mobile',
  phone: 'mobile',
  number: 'mobile',
  name: 'name',
  tags: 'tags',
  list: 'list',
  lists: 'list',
  optin: 'optin',
  incomingblocked: 'incomingBlocked',
}

/** The first line names the columns; a custom field by its name, alone or after `attributes.` */
export function readHeader(firstChunk: string, attributes: readonly string[]): Header {
  const separator = separatorOf(firstChunk.split('\n', 1)[0] ?? '')
  const [header] = readCsv(firstChunk, separator, 1)
  const cells = (header?.cells ?? []).map(cell => cell.trim())
  const fields = new Map(attributes.map(name => [name.toLowerCase(), name]))
  const columns = cells.map((cell): Column | null => {
    const key = cell.toLowerCase()
    const known = names[key.replaceAll(/[\s_-]/g, '')]
    const attribute = fields.get(key.replace(/^attributes\./, ''))
    return known ?? (attribute === undefined ? null : { attribute })
  })
  if (!columns.includes('mobile'))
    throw badRequest('csv_invalid', 'The first line must name the columns, and one of them must be mobile.', [
      { field: 'body', message: 'must have a column named mobile' },
    ])
  return { separator, columns, ignoredColumns: cells.filter((_, i) => columns[i] === null).slice(0, 100) }
}

export interface ImportRow {
  line: number
  /** as in POST /contacts, checked there */
  contact: Record<string, unknown>
}

/** Empty cells say nothing of the contact, so they change nothing. */
export function* readRows(text: string, header: Header, firstLine: number): Generator<ImportRow> {
  for (const { line, cells } of readCsv(text, header.separator, firstLine)) {
    const contact: Record<string, unknown> = { mobile: '' }
    const attributes: { name: string; value: string }[] = []
    for (const [i, column] of header.columns.entries()) {
      const value = cells[i]?.trim() ?? ''
      if (value === '' || column === null) continue
      if (typeof column === 'object') attributes.push({ name: column.attribute, value })
      else if (column === 'tags' || column === 'list') contact[column] = splitNames(value)
      else if (column === 'optin' || column === 'incomingBlocked') contact[column] = readFlag(value)
      else contact[column] = value
    }
    if (attributes.length > 0) contact.attributes = attributes
    yield { line, contact }
  }
}

const splitNames = (cell: string) =>
  cell
    .split(/[,;|]/)
    .map(name => name.trim())
    .filter(name => name !== '')

/** What is neither stays as it is, and is refused like any other wrong value. */
const readFlag = (cell: string) => (/^(true|yes|1)$/i.test(cell) ? true : /^(false|no|0)$/i.test(cell) ? false : cell)
