import { blockBits, slotsIn } from './bitmaps.ts'
import { setBytes } from './grams.ts'

/** A set of subscribers: bits by block, only blocks that have anybody. */
export type BlockSets = Map<number, Uint8Array>

/** Lists of places that stand in one text of bytes are parted by what is no place in a block. */
export const listEnd = 0xffff

/** In how many lists a place is; all zero between calls. */
const listed = new Uint8Array(blockBits)

/** Of one block: who is in the bits, if there are any, and in each of the lists. */
export function inEach(dense: Uint8Array | undefined, lists: Uint8Array | undefined): Uint8Array {
  if (!lists) return dense!
  let [count, last] = [1, 0]
  for (let at = 0; at < lists.length; at += 2) {
    const place = (lists[at]! << 8) | lists[at + 1]!
    if (place === listEnd) {
      count++
      last = at + 2
    } else listed[place]!++
  }
  const bits = new Uint8Array(setBytes)
  for (let at = last; at < lists.length; at += 2) {
    const place = (lists[at]! << 8) | lists[at + 1]!
    const bit = 0x80 >> (place & 7)
    if (listed[place] === count && (!dense || dense[place >> 3]! & bit)) bits[place >> 3]! |= bit
  }
  listed.fill(0)
  return bits
}

/** Of one block: who is in the bits or in any of the lists. */
export function inSome(dense: Uint8Array | undefined, lists: Uint8Array | undefined): Uint8Array {
  const bits = dense ?? new Uint8Array(setBytes)
  for (let at = 0; at < (lists?.length ?? 0); at += 2) {
    const place = (lists![at]! << 8) | lists![at + 1]!
    if (place !== listEnd) bits[place >> 3]! |= 0x80 >> (place & 7)
  }
  return bits
}

/** Bits as the database sends them, after four bytes that tell their number; placed so that they can be read by `words`. */
export const sentBits = (bytes: Uint8Array): Uint8Array =>
  bytes.byteOffset % 4 === 0 ? bytes.subarray(4) : new Uint8Array(bytes.subarray(4))

/** Four bytes at a time are three times as quick. */
const words = (bits: Uint8Array) => new Uint32Array(bits.buffer, bits.byteOffset, setBytes / 4)

/** Changes the first: it keeps who is also in the other. */
export function keepOnly(sets: BlockSets, others: BlockSets): void {
  for (const [block, bits] of sets) {
    const other = others.get(block)
    if (!other) {
      sets.delete(block)
      continue
    }
    const [kept, chosen] = [words(bits), words(other)]
    for (let i = 0; i < kept.length; i++) kept[i]! &= chosen[i]!
  }
}

/** Who is in `from` and in `word` goes over into `to`. */
export function moveTo(to: BlockSets, from: BlockSets, word: BlockSets): void {
  for (const [block, bits] of word) {
    if (!from.has(block)) continue
    if (!to.has(block)) to.set(block, new Uint8Array(setBytes))
    const [had, has, chosen] = [words(from.get(block)!), words(to.get(block)!), words(bits)]
    for (let i = 0; i < had.length; i++) {
      has[i]! |= had[i]! & chosen[i]!
      had[i]! &= ~chosen[i]!
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

function count(bits: Uint8Array): number {
  let total = 0
  // Ones are summed in pairs, then in fours, then in bytes, then by one multiplication.
  for (const word of words(bits)) {
    const twos = word - ((word >>> 1) & 0x55555555)
    const fours = (twos & 0x33333333) + ((twos >>> 2) & 0x33333333)
    total += Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return total
}

export function countAll(sets: BlockSets): number {
  let total = 0
  for (const bits of sets.values()) total += count(bits)
  return total
}

export const slotsOfAll = (sets: BlockSets): number[] => [...sets].flatMap(([block, bits]) => slotsIn(block, bits))

/** Slots of the newest blocks, until there are `reach`, and of blocks just as new. */
export function newestOf(
  sets: BlockSets,
  newest: ReadonlyMap<number, Date>,
  reach: number,
): { slots: number[]; others: number } {
  const createdBy = (block: number) => newest.get(block)?.getTime() ?? Number.POSITIVE_INFINITY
  const slots: number[] = []
  let last = Number.POSITIVE_INFINITY
  for (const block of [...sets.keys()].sort((a, b) => createdBy(b) - createdBy(a) || b - a)) {
    const created = createdBy(block)
    if (slots.length >= reach && created < last) return { slots, others: created }
    for (const slot of slotsIn(block, sets.get(block)!)) slots.push(slot)
    last = created
  }
  return { slots, others: Number.NEGATIVE_INFINITY }
}
