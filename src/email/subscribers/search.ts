import type { Db } from '../../platform/database.ts'
import type { RuleContext } from '../segments/store-rules.ts'
import { blockBits } from './bitmaps.ts'
import type { Filter } from './filter.ts'
import { bitsOf, fieldEnd, gramLength, gramsOfTerm, placesOf } from './grams.ts'
import type { Bounds } from './sets.ts'
import { countAmongSlots } from './store-filter.ts'
import * as store from './store-grams.ts'
import { blocksOfRule } from './store-sets.ts'

/** Who matches for sure, and who must be looked at: everyone who matches is in one of them. */
export interface Found {
  sure: Map<number, Uint8Array>
  doubtful: number[]
}

/** Finds by the kept sets, other filters included as far as sets know them. Must run in one snapshot. */
export async function findBySets(
  db: Db,
  businessId: string,
  filter: Filter & { search: string },
  bounds: Bounds,
): Promise<Found> {
  if (filter.search.includes(fieldEnd)) return { sure: new Map(), doubtful: [] }
  const longTerm = [...filter.search].length > gramLength
  const alone = bounds.exact && bounds.upper === true
  const { term, changed, words } = await store.termFacts(db, businessId, filter.search, { alone, longTerm })
  // Lowering can change the length of what lies outside ASCII, so the term is measured again.
  const isLong = [...term].length > gramLength
  const grams = gramsOfTerm(term)
  const [sets, others] = await Promise.all([
    store.setsOfGrams(db, businessId, [...grams, ...words]),
    alone ? undefined : blocksOfRule(db, businessId, bounds.upper),
  ])
  const blocks = Map.groupBy(sets, set => set.block)
  const found: Found = { sure: new Map(), doubtful: changed }
  const changedPlaces = Map.groupBy(changed, slot => Math.floor(slot / blockBits))
  for (const [block, own] of blocks) {
    const matching = others ? others.get(block) : undefined
    if (others && !matching) continue
    const candidates = intersection(own, grams, matching)
    if (!candidates) continue
    for (const slot of changedPlaces.get(block) ?? []) clear(candidates, slot % blockBits)
    const known = !isLong ? candidates : unionWithin(candidates, own, words)
    const doubtful = bounds.exact ? (isLong ? without(candidates, known) : undefined) : candidates
    if (bounds.exact) found.sure.set(block, known)
    if (doubtful) for (const place of placesOf(doubtful)) found.doubtful.push(block * blockBits + place)
  }
  return found
}

export async function totalBySearch(
  db: Db,
  context: RuleContext,
  filter: Filter & { search: string },
  found: Found,
): Promise<number> {
  let total = found.doubtful.length > 0 ? await countAmongSlots(db, context, filter, found.doubtful) : 0
  for (const bits of found.sure.values()) total += count(bits)
  return total
}

export const slotsFound = ({ sure, doubtful }: Found): number[] => {
  const slots = [...doubtful]
  for (const [block, bits] of sure) for (const place of placesOf(bits)) slots.push(block * blockBits + place)
  return slots
}

type BlockSet = { gram: string; slots: Buffer }

/** Undefined when some gram has no set in the block: nobody there has the term. */
function intersection(sets: readonly BlockSet[], grams: readonly string[], within: Uint8Array | undefined) {
  const own = sets.filter(set => grams.includes(set.gram))
  if (own.length < grams.length) return undefined
  const result = Uint8Array.from(within ?? bitsOf(own[0]!.slots))
  for (const { slots } of own) {
    const bits = bitsOf(slots)
    for (let i = 0; i < result.length; i++) result[i]! &= bits[i]!
  }
  return result
}

function unionWithin(candidates: Uint8Array, sets: readonly BlockSet[], words: readonly string[]): Uint8Array {
  const result = new Uint8Array(candidates.length)
  for (const { gram, slots } of sets) {
    if (!words.includes(gram)) continue
    const bits = bitsOf(slots)
    for (let i = 0; i < result.length; i++) result[i]! |= bits[i]! & candidates[i]!
  }
  return result
}

const without = (left: Uint8Array, right: Uint8Array) => left.map((byte, i) => byte & ~right[i]!)

function clear(bits: Uint8Array, place: number): void {
  bits[place >> 3]! &= ~(0x80 >> (place & 7))
}

const ones = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

function count(bits: Uint8Array): number {
  let total = 0
  for (let i = 0; i < bits.length; i++) total += ones[bits[i]!]!
  return total
}
