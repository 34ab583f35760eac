import type { Db, Statement, Tx } from '../platform/database.ts'
import { isoText } from './dates.ts'

/**
 * A column of many rows as one text, a line each: far cheaper than an array, whose elements are escaped one by one. Not
 * for texts of people: an empty one would become null, and a line break two of them. JSON writes that as an escape.
 */
export const columnText = (values: readonly unknown[]): string => values.map(value => textOf(value) ?? '').join('\n')

const textOf = (value: unknown): string | null =>
  value === null || value === undefined
    ? null
    : value instanceof Date
      ? isoText(value)
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)

export type ColumnType = 'text' | 'int8' | 'int' | 'date' | 'timestamptz' | 'boolean' | 'json' | 'jsonb'

const listOf = (index: number, type: ColumnType) => `string_to_array($${index}::text, E'\\n', '')::${type}[]`

/** The same as an array in SQL: `unnest(${column(tx, 'int8', amounts)}, …)`. */
export const column = (db: Db, type: ColumnType, values: readonly unknown[]) =>
  db`string_to_array(${columnText(values)}::text, E'\\n', '')::${db.unsafe(type)}[]`

/** What goes into each column of a table, besides the business. `said` is a text of people. */
export type Columns<Row> = Record<string, [type: ColumnType | 'said', of: (row: Row) => unknown]>

/** The statement that inserts rows of this table; none where there are no rows. */
export function inserter<Row>(table: string, columns: Columns<Row>) {
  const insert = insertReturning(table, columns)
  return (tx: Tx, businessId: string, rows: readonly Row[]): Statement[] =>
    rows.length > 0 ? [insert(tx, businessId, rows)] : []
}

/**
 * A statement that inserts rows of this table: a few by their values, which costs the database least for each, many
 * column by column. `rest` is what follows, such as `on conflict … do nothing returning id`.
 */
export function insertReturning<Row>(table: string, columns: Columns<Row>, rest = '') {
  const each = Object.values(columns)
  const head = `insert into ${table} (business_id, ${Object.keys(columns).join(', ')})`
  const lists = each.map(([type], i) => (type === 'said' ? `$${i + 2}::text[]` : listOf(i + 2, type)))
  const many = `${head} select $1, * from unnest(${lists.join(', ')}) ${rest}`
  const few = [1, 2, 3].map(count => {
    const row = (n: number) =>
      each.map(([type], i) => `$${n * each.length + i + 2}::text${type === 'said' ? '' : `::${type}`}`).join(', ')
    return `${head} values ${Array.from({ length: count }, (_, n) => `($1, ${row(n)})`).join(', ')} ${rest}`
  })
  return (tx: Tx, businessId: string, rows: readonly Row[]) => {
    const values =
      rows.length <= few.length
        ? rows.flatMap(row => each.map(([, of]) => textOf(of(row))))
        : each.map(([type, of]) => (type === 'said' ? rows.map(of) : columnText(rows.map(of))))
    return tx.unsafe<{ id: string }[]>(few[rows.length - 1] ?? many, [businessId, ...values] as never, {
      prepare: true,
    })
  }
}
