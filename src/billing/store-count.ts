import type { Db } from '../platform/database.ts'
import type { PageRequest } from '../platform/page.ts'
import { countLimit } from './envelope.ts'

/** How many rows a list has, as far as lists are counted: `countRows(db, page, db`select from … where …`)`. */
export const countRows = async (db: Db, page: PageRequest, rows: ReturnType<Db>): Promise<number> => {
  const counted = await db<{ total: number }[]>`
    select count(*)::int as total from (${rows} limit ${countLimit(page)}) as counted`
  return counted[0]?.total ?? 0
}
