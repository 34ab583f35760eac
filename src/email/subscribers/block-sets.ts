import { blockBits } from './bitmaps.ts'
import { bitsOf, placesOf } from './grams.ts'

/** A set of subscribers: bits by block, only blocks that have anybody. */
export type BlockSets = Map<number, Uint8Array>

/** Of one block: who is in all of these, each stored as a list or as bits. May change the bits of the first. */
export function intersection(stored: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = stored
  const bits = bitsOf(first!)
  for (const other of others) and(bits, bitsOf(other))
  return bits
}

/** Of one block: who is in any of them. */
export function union(stored: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = stored
  const bits = bitsOf(first!)
  for (const other of others.map(bitsOf)) for (let i = 0; i < bits.length; i++) bits[i]! |= other[i]!
  return bits
}

function and(bits: Uint8Array, other: Uint8Array): void {
  for (let i = 0; i < bits.length; i++) bits[i]! &= other[i]!
}

/** Changes the first: it keeps who is also in the other. */
export function keepOnly(sets: BlockSets, others: BlockSets): void {
  for (const [block, bits] of sets) {
    const other = others.get(block)
    if (other) and(bits, other)
    else sets.delete(block)
  }
}

/** Who is in `from` and in `word` goes over into `to`. */
export function moveTo(to: BlockSets, from: BlockSets, word: BlockSets): void {
  for (const [block, chosen] of word) {
    const bits = from.get(block)
    if (!bits) continue
    let known = to.get(block)
    if (!known) {
      known = new Uint8Array(bits.length)
      to.set(block, known)
    }
    for (let i = 0; i < bits.length; i++) {
      known[i]! |= bits[i]! & chosen[i]!
      bits[i]! &= ~chosen[i]!
    }
  }
}

export function removeSlots(sets: BlockSets, slots: readonly number[]): void {
  for (const slot of slots) {
    const bits = sets.get(Math.floor(slot / blockBits))
    const place = slot % blockBits
    if (bits) bits[place >> 3]! &= ~(0x80 >> (place & 7))
  }
}

const ones = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

export function countAll(sets: BlockSets): number {
  let total = 0
  for (const bits of sets.values()) for (let i = 0; i < bits.length; i++) total += ones[bits[i]!]!
  return total
}

export function slotsOfAll(sets: BlockSets): number[] {
  const slots: number[] = []
  for (const [block, bits] of sets) for (const place of placesOf(bits)) slots.push(block * blockBits + place)
  return slots
}
