import type { Tx } from '../../platform/database.ts'
import * as lists from '../lists/store.ts'
import { ensureTags } from '../tags/tags.ts'
import type { ImportRow, Refusal } from './rows.ts'

export type NamedRow = ImportRow & { tagNumbers: number[]; listNumbers: number[] }

/**
 * Names of tags and lists to numbers, those that everyone in the file gets besides their own included. Tags come into being; a list that
 * does not exist refuses its row. Who has the same names gets the same array of numbers.
 */
export async function resolveNames(
  tx: Tx,
  businessId: string,
  rows: readonly ImportRow[],
  everyone: { tagNumbers: number[]; listNumbers: number[] },
  now: Date,
): Promise<{ rows: NamedRow[]; refusals: Refusal[] }> {
  const tagNames = distinct(rows.map(row => row.tags))
  const tags = new Map((await ensureTags(tx, businessId, tagNames, now)).map((number, i) => [tagNames[i]!, number]))
  const listNames = distinct(rows.map(row => row.lists))
  const found = listNames.length > 0 ? await lists.resolve(tx, businessId, listNames) : []
  const known = new Map(found.map(list => [list.given, list.number]))
  const tagNumbersOf = numbering(tags, everyone.tagNumbers)
  const listNumbersOf = numbering(known, everyone.listNumbers)
  const refusals: Refusal[] = []
  const named: NamedRow[] = []
  for (const row of rows) {
    const listNumbers = listNumbersOf(row.lists)
    if (listNumbers) {
      // Written into the row itself: copying a million rows is time, and nobody else holds them.
      named.push(Object.assign(row, { tagNumbers: tagNumbersOf(row.tags)!, listNumbers }))
      continue
    }
    const missing = row.lists.find(name => !known.has(name))
    refusals.push({ line: row.line, email: row.email, reason: `there is no list named "${missing}"` })
  }
  return { rows: named, refusals }
}

const distinct = (names: readonly (readonly string[])[]) => [...new Set([...new Set(names)].flat())]

/** Undefined for names of which one is unknown. */
function numbering(numbers: ReadonlyMap<string, number>, everyone: readonly number[]) {
  const known = new Map<readonly string[], number[] | undefined>()
  return (names: readonly string[]): number[] | undefined => {
    if (known.has(names)) return known.get(names)
    const own = names.map(name => numbers.get(name))
    const all = own.includes(undefined) ? undefined : [...new Set([...everyone, ...(own as number[])])]
    known.set(names, all)
    return all
  }
}
