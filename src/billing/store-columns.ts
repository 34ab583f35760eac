import type { Db } from '../platform/database.ts'
import { isoText } from './dates.ts'

/**
 * A column of many rows as one text, a line each: far cheaper than an array, whose elements are escaped one by one. Not
 * for texts of people: an empty one would become null, and a line break two of them. JSON writes that as an escape.
 */
export const columnText = (values: readonly unknown[]): string => values.map(textOf).join('\n')

const textOf = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : value instanceof Date
      ? isoText(value)
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)

export type ColumnType = 'text' | 'int8' | 'int' | 'date' | 'timestamptz' | 'boolean' | 'json'

/** The same as an array in SQL: `unnest(${column(tx, 'int8', amounts)}, …)`. */
export const column = (db: Db, type: ColumnType, values: readonly unknown[]) =>
  db`string_to_array(${columnText(values)}::text, E'\\n', '')::${db.unsafe(type)}[]`
