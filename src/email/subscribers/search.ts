import type { Db } from '../../platform/database.ts'
import { type BlockSets, countAll, keepOnly, moveTo, removeSlots, slotsOfAll } from './block-sets.ts'
import type { Filter } from './filter.ts'
import { fieldEnd, gramLength, gramsOfTerm } from './grams.ts'
import type { Bounds } from './sets.ts'
import * as store from './store-grams.ts'
import { blocksOfRule } from './store-sets.ts'

/** Who matches for sure, and who must be looked at: everyone who matches is in one of them. */
export interface Found {
  sure: BlockSets
  doubtful: number[]
}

const wordsAtOnce = 4

/**
 * Finds by the kept sets. To look at `few` rows costs as much as to read the sets of some words, and the sets of other filters
 * as much as four times as many. Must run in one snapshot.
 */
export async function findBySets(
  db: Db,
  businessId: string,
  filter: Filter & { search: string },
  bounds: Bounds,
  few: number,
): Promise<Found> {
  if (filter.search.includes(fieldEnd)) return { sure: new Map(), doubtful: [] }
  const longTerm = [...filter.search].length > gramLength
  const alone = bounds.exact && bounds.upper === true
  const { term, changed, words } = await store.termFacts(db, businessId, filter.search, { alone, longTerm })
  const candidates = await store.inAll(db, businessId, gramsOfTerm(term))
  removeSlots(candidates, changed)
  const sure: BlockSets = new Map()
  const narrowed = !alone && countAll(candidates) > 4 * few
  if (narrowed) keepOnly(candidates, await blocksOfRule(db, businessId, bounds.upper))
  if (alone || (narrowed && bounds.exact)) {
    // Lowering can change the length of what lies outside ASCII, so the term is measured as it is compared.
    if ([...term].length <= gramLength) return { sure: candidates, doubtful: changed }
    // The shortest word is the most common; longer ones are only asked for when it leaves too many in doubt.
    words.sort((a, b) => a.length - b.length)
    for (let from = 0; from < words.length && countAll(candidates) > few; from += wordsAtOnce)
      moveTo(sure, candidates, await store.inAny(db, businessId, words.slice(from, from + wordsAtOnce)))
  }
  return { sure, doubtful: changed.concat(slotsOfAll(candidates)) }
}
