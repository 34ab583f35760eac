import type { Db, Fragment } from '../platform/database.ts'

/**
 * The right side of `id …` for one or several ids. For one it is an equality, of which the planner knows that a primary
 * key answers it with one row; of a list it guesses, and badly where it has no statistics of a business yet.
 */
export const among = (db: Db, ids: readonly string[]) =>
  ids.length === 1 ? db`= ${ids[0]!}` : db`= any(${ids as string[]})`

/** An id, or where the database finds it: so that a row and what it names are read in one trip. */
export type Id = string | Fragment
