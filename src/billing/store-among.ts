import type { Db } from '../platform/database.ts'

/**
 * The right side of `id …` for one or several ids. For one it is an equality, of which the planner knows that a primary
 * key answers it with one row; of a list it guesses, and badly where it has no statistics of a business yet.
 */
export const among = (db: Db, ids: readonly string[]) =>
  ids.length === 1 ? db`= ${ids[0]!}` : db`= any(${ids as string[]})`
