import { isDeepStrictEqual } from 'node:util'
import type { Db } from '../../platform/database.ts'
import * as lists from '../lists/store.ts'
import { ensureTags } from '../tags/tags.ts'
import type { ImportRow, Refusal } from './rows.ts'

/** Names of tags and lists in some rows, with their numbers. */
export interface Names {
  tags: Map<string, number>
  lists: Map<string, number | undefined>
}

/** Tags come into being; a list that does not exist has no number. */
export async function resolveNames(
  db: Db,
  businessId: string,
  names: { tags: Iterable<string>; lists: Iterable<string> },
  now: Date,
): Promise<Names> {
  const [tags, listed] = [[...names.tags], [...names.lists]]
  const [numbers, found] = await Promise.all([
    ensureTags(db, businessId, tags, now),
    listed.length > 0 ? lists.resolve(db, businessId, listed) : [],
  ])
  const byName = new Map(found.map(list => [list.given, list.number]))
  return {
    tags: new Map(tags.map((name, i) => [name, numbers[i]!])),
    lists: new Map(listed.map(name => [name, byName.get(name)])),
  }
}

/** False when one of them was deleted, renamed or made anew meanwhile. */
export const stillNamed = async (db: Db, businessId: string, names: Names, now: Date): Promise<boolean> =>
  isDeepStrictEqual(
    await resolveNames(db, businessId, { tags: names.tags.keys(), lists: names.lists.keys() }, now),
    names,
  )

export const namesIn = (rows: readonly ImportRow[]) => ({
  tags: distinct(rows.map(row => row.tags)),
  lists: distinct(rows.map(row => row.lists)),
})

const distinct = (names: readonly (readonly string[])[]) => new Set([...new Set(names)].flat())

/**
 * Gives rows their numbers, those that everyone in the file gets included. A list that does not exist refuses its row. Who has the same
 * names gets the same array of numbers.
 */
export function numberRows(
  rows: readonly ImportRow[],
  names: Names,
  everyone: { tagNumbers: number[]; listNumbers: number[] },
): { rows: ImportRow[]; refusals: Refusal[] } {
  const tagNumbersOf = numbering(names.tags, everyone.tagNumbers)
  const listNumbersOf = numbering(names.lists, everyone.listNumbers)
  const refusals: Refusal[] = []
  const numbered: ImportRow[] = []
  for (const row of rows) {
    const listNumbers = listNumbersOf(row.lists)
    if (listNumbers) {
      row.listNumbers = listNumbers
      row.tagNumbers = tagNumbersOf(row.tags)!
      numbered.push(row)
      continue
    }
    const missing = row.lists.find(name => names.lists.get(name) === undefined)
    refusals.push({ line: row.line, email: row.email, reason: `there is no list named "${missing}"` })
  }
  return { rows: numbered, refusals }
}

/** Undefined for names of which one is unknown. */
function numbering(numbers: ReadonlyMap<string, number | undefined>, everyone: readonly number[]) {
  const known = new Map<readonly string[], number[] | undefined>()
  return (names: readonly string[]): number[] | undefined => {
    if (known.has(names)) return known.get(names)
    const own = names.map(name => numbers.get(name))
    const all = own.includes(undefined) ? undefined : [...new Set([...everyone, ...(own as number[])])]
    known.set(names, all)
    return all
  }
}
