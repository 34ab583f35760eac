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

/** So many are looked at as quickly as other sets are read to make them fewer. */
const fewSlots = 2_000
const wordsAtOnce = 4

/** Finds by the kept sets, other filters included where that spares looks. Must run in one snapshot. */
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
  const grams = gramsOfTerm(term)
  const sets = await store.setsOfGrams(db, businessId, grams)
  const candidates = candidatesOf(sets, grams, changed)
  const found: Found = { sure: new Map(), doubtful: [...changed] }
  if (countAll(candidates) <= fewSlots) return { ...found, doubtful: found.doubtful.concat(slotsOfAll(candidates)) }
  if (!alone) keepOnly(candidates, await blocksOfRule(db, businessId, bounds.upper))
  if (!bounds.exact) return { ...found, doubtful: found.doubtful.concat(slotsOfAll(candidates)) }
  // Lowering can change the length of what lies outside ASCII, so the term is measured as it is compared.
  if ([...term].length <= gramLength) return { ...found, sure: candidates }
  // The shortest word is the most common; longer ones are only asked for when it leaves too many in doubt.
  words.sort((a, b) => a.length - b.length)
  for (let from = 0; from < words.length && countAll(candidates) > fewSlots; from += wordsAtOnce)
    for (const { block, slots } of await store.setsOfGrams(db, businessId, words.slice(from, from + wordsAtOnce)))
      moveToSure(found.sure, candidates.get(block), block, bitsOf(slots))
  return { ...found, doubtful: found.doubtful.concat(slotsOfAll(candidates)) }
}

export async function totalBySearch(
  db: Db,
  context: RuleContext,
  filter: Filter & { search: string },
  found: Found,
): Promise<number> {
  const looked = found.doubtful.length > 0 ? await countAmongSlots(db, context, filter, found.doubtful) : 0
  return looked + countAll(found.sure)
}

export const slotsFound = ({ sure, doubtful }: Found): number[] => doubtful.concat(slotsOfAll(sure))

type Sets = Map<number, Uint8Array>

/** Who is in all the sets and not changed since; only blocks that have anybody. */
function candidatesOf(
  sets: readonly (BlockSet & { block: number })[],
  grams: readonly string[],
  changed: readonly number[],
): Sets {
  const candidates: Sets = new Map()
  for (const [block, own] of Map.groupBy(sets, set => set.block)) {
    const bits = intersection(own, grams)
    if (bits) candidates.set(block, bits)
  }
  for (const slot of changed) {
    const bits = candidates.get(Math.floor(slot / blockBits))
    if (bits) clear(bits, slot % blockBits)
  }
  return candidates
}

function keepOnly(candidates: Sets, others: Sets): void {
  for (const [block, bits] of candidates) {
    const other = others.get(block)
    if (other) for (let i = 0; i < bits.length; i++) bits[i]! &= other[i]!
    else candidates.delete(block)
  }
}

/** Candidates who have a word that contains the term have the term. */
function moveToSure(sure: Sets, candidates: Uint8Array | undefined, block: number, word: Uint8Array): void {
  if (!candidates) return
  let known = sure.get(block)
  if (!known) {
    known = new Uint8Array(candidates.length)
    sure.set(block, known)
  }
  for (let i = 0; i < candidates.length; i++) {
    known[i]! |= candidates[i]! & word[i]!
    candidates[i]! &= ~word[i]!
  }
}

function countAll(sets: Sets): number {
  let total = 0
  for (const bits of sets.values()) total += count(bits)
  return total
}

function slotsOfAll(sets: Sets): number[] {
  const slots: number[] = []
  for (const [block, bits] of sets) for (const place of placesOf(bits)) slots.push(block * blockBits + place)
  return slots
}

type BlockSet = { gram: string; slots: Buffer }

/** Undefined when some gram has no set in the block: nobody there has the term. */
function intersection(sets: readonly BlockSet[], grams: readonly string[]): Uint8Array | undefined {
  if (sets.length < grams.length) return undefined
  const result = new Uint8Array(bitsOf(sets[0]!.slots))
  for (const { slots } of sets.slice(1)) {
    const bits = bitsOf(slots)
    for (let i = 0; i < result.length; i++) result[i]! &= bits[i]!
  }
  return result
}

function clear(bits: Uint8Array, place: number): void {
  bits[place >> 3]! &= ~(0x80 >> (place & 7))
}

const ones = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

function count(bits: Uint8Array): number {
  let total = 0
  for (let i = 0; i < bits.length; i++) total += ones[bits[i]!]!
  return total
}
