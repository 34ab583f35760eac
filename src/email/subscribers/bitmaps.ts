import type { Facets } from './facets.ts'

/** Sets of subscribers, as bits by slot. A block holds the slots that share their higher bits. */
export const blockBits = 8_192
const blockBytes = blockBits / 8

/** Scores are kept as the bits of score + 2³¹, one set a bit, so that any range is a few operations on sets. */
export const scoreBits = 32
export const scoreBase = 2 ** 31

export const statusKey = (status: string) => `s${status}`
export const listKey = (number: number) => `l${number}`
export const tagKey = (number: number) => `t${number}`
export const scoreKey = (bit: number) => `b${bit}`
export const everyoneKey = 'a'

/** The sets a subscriber is in. */
export function keysOf(facets: Facets | undefined): string[] {
  if (!facets) return []
  const keys = [everyoneKey, statusKey(facets.status)]
  for (const number of facets.listNumbers) keys.push(listKey(number))
  for (const number of facets.tagNumbers) keys.push(tagKey(number))
  const score = facets.leadScore + scoreBase
  for (let bit = 0; bit < scoreBits; bit++) if (Math.floor(score / 2 ** bit) % 2 === 1) keys.push(scoreKey(bit))
  return keys
}

export interface MaskRow {
  key: string
  block: number
  set: string
  clear: string
}

/** Collects bits to set and to clear, a pair of masks for each block touched. */
export class BlockMasks {
  readonly #masks = new Map<string, { key: string; block: number; set: Buffer; clear: Buffer }>()

  change(slot: number, before: readonly string[], after: readonly string[]): void {
    for (const key of after) if (!before.includes(key)) mark(this.#mask(key, slot).set, slot)
    for (const key of before) if (!after.includes(key)) mark(this.#mask(key, slot).clear, slot)
  }

  /** As hexadecimal bit texts, in the order in which blocks are locked. */
  rows(): MaskRow[] {
    return [...this.#masks.values()].map(({ key, block, set, clear }) => ({
      key,
      block,
      set: `x${set.toString('hex')}`,
      clear: `x${clear.toString('hex')}`,
    }))
  }

  #mask(key: string, slot: number) {
    const block = Math.floor(slot / blockBits)
    const name = `${key}/${block}`
    let mask = this.#masks.get(name)
    if (!mask) {
      mask = { key, block, set: Buffer.alloc(blockBytes), clear: Buffer.alloc(blockBytes) }
      this.#masks.set(name, mask)
    }
    return mask
  }
}

/** The sets of a block that nobody was in before. */
export class FreshBlock {
  readonly #sets = new Map<string, Buffer>()
  readonly #numbered = new Map<readonly number[], Buffer[]>()

  add(place: number, facets: Facets): void {
    mark(this.#set(everyoneKey), place)
    mark(this.#set(statusKey(facets.status)), place)
    for (const set of this.#setsOf(facets.listNumbers, listKey)) mark(set, place)
    for (const set of this.#setsOf(facets.tagNumbers, tagKey)) mark(set, place)
    for (let bits = (facets.leadScore + scoreBase) >>> 0, bit = 0; bits !== 0; bits >>>= 1, bit++)
      if (bits & 1) mark(this.#set(scoreKey(bit)), place)
  }

  rows(): { key: string; bits: string }[] {
    return [...this.#sets].map(([key, bits]) => ({ key, bits: `x${bits.toString('hex')}` }))
  }

  /** People who come together share their arrays of numbers, so the array itself is a key. */
  #setsOf(numbers: readonly number[], keyOf: (number: number) => string): Buffer[] {
    let sets = this.#numbered.get(numbers)
    if (!sets) {
      sets = numbers.map(number => this.#set(keyOf(number)))
      this.#numbered.set(numbers, sets)
    }
    return sets
  }

  #set(key: string): Buffer {
    let set = this.#sets.get(key)
    if (!set) {
      set = Buffer.alloc(blockBytes)
      this.#sets.set(key, set)
    }
    return set
  }
}

function mark(bytes: Buffer, slot: number): void {
  const place = slot % blockBits
  bytes[place >> 3]! |= 0x80 >> (place & 7)
}

/** The slots of a block, from the bytes of its bits. */
export function slotsIn(block: number, bytes: Uint8Array): number[] {
  const slots: number[] = []
  for (let i = 0; i < bytes.length; i++) {
    let byte = bytes[i]!
    while (byte !== 0) {
      const lead = Math.clz32(byte) - 24
      slots.push(block * blockBits + i * 8 + lead)
      byte &= ~(0x80 >> lead)
    }
  }
  return slots
}
