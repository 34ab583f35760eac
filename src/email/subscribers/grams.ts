import { blockBits } from './bitmaps.ts'

/**
 * Searching by substring with sets. A gram is a run of one to three characters within a field; its set is exactly who has
 * it, so terms of up to three characters are answered by one set. A longer term is in everyone who has all its grams in
 * the right places, which sets can't tell: those in all the sets are looked at again, except who is in the set of a word that
 * contains the term. Words have sets where many of a block have them, so what is looked at again is never many.
 */
export const gramLength = 3
export const wordFromSlots = 12
export const minWordLength = 4
export const maxWordLength = 80
export const setBytes = blockBits / 8
export const maxListed = setBytes / 2 - 1

/** Fields of a text are parted by this; no gram and no word goes across it. */
export const fieldEnd = '\u001f'

/** Runs of one to three characters, each once. */
export function gramsOf(text: string): Set<string> {
  const grams = new Set<string>()
  for (const field of text.split(fieldEnd)) {
    const characters = /[\ud800-\udfff]/.test(field) ? [...field] : field
    for (let i = 0; i < characters.length; i++)
      for (let length = 1; length <= gramLength && i + length <= characters.length; length++)
        grams.add(
          typeof characters === 'string' ? field.slice(i, i + length) : characters.slice(i, i + length).join(''),
        )
  }
  return grams
}

/** Runs of letters, runs of digits, and the domain of the email with its @. */
export function wordsOf(text: string): Set<string> {
  const words = new Set<string>()
  for (const word of text.match(/[a-z\u0080-\uffff]{4,}|[0-9]{4,}/g) ?? [])
    if (word.length <= maxWordLength) words.add(word)
  const domain = domainIn(text)
  if (domain) words.add(text.slice(domain.start, domain.end))
  return words
}

/** Where the domain of the email is, with its @. */
export function domainIn(text: string): { start: number; end: number } | undefined {
  const [start, end] = [text.indexOf('@'), text.indexOf(fieldEnd)]
  return start >= 0 && end - start > gramLength && end - start <= maxWordLength ? { start, end } : undefined
}

/** Which sets tell of a term: one where a gram is the whole term, else some that everyone who matches must be in. */
export function gramsOfTerm(term: string, most = 12): string[] {
  const characters = [...term]
  if (characters.length <= gramLength) return [term]
  const last = characters.length - gramLength
  const places = Math.min(most, last + 1)
  const grams = Array.from({ length: places }, (_, i) => {
    const start = Math.round((i * last) / Math.max(1, places - 1))
    return characters.slice(start, start + gramLength).join('')
  })
  return [...new Set(grams)]
}

/** Places within a block, as stored: up to 511 in order as two bytes each, more as bits. */
export function encodeSlots(places: readonly number[]): Buffer {
  if (places.length <= maxListed) {
    const bytes = Buffer.allocUnsafe(places.length * 2)
    for (let i = 0; i < places.length; i++) bytes.writeUInt16BE(places[i]!, i * 2)
    return bytes
  }
  const bytes = Buffer.alloc(setBytes)
  for (const place of places) bytes[place >> 3]! |= 0x80 >> (place & 7)
  return bytes
}

export const isBits = (stored: Uint8Array) => stored.length === setBytes

/** As bits, whichever way they are stored. */
export function bitsOf(stored: Uint8Array): Uint8Array {
  if (isBits(stored)) return stored
  const bits = new Uint8Array(setBytes)
  for (let i = 0; i < stored.length; i += 2) {
    const place = (stored[i]! << 8) | stored[i + 1]!
    bits[place >> 3]! |= 0x80 >> (place & 7)
  }
  return bits
}

export interface TextChange {
  place: number
  before: string | undefined
  after: string | undefined
}

/** Who comes into and leaves which set of a block. Words only get a set of their own when many of the changes bring them. */
export function gramChanges(changes: readonly TextChange[]): {
  grams: Map<string, { add: number[]; remove: number[] }>
  words: Map<string, { add: number[]; remove: number[] }>
} {
  const [grams, words] = [new Map(), new Map()] as Map<string, { add: number[]; remove: number[] }>[]
  const note = (of: (text: string) => Set<string>, into: typeof grams, { place, before, after }: TextChange) => {
    const [had, has] = [of(before ?? ''), of(after ?? '')]
    for (const gram of has) if (!had.has(gram)) entry(into!, gram).add.push(place)
    for (const gram of had) if (!has.has(gram)) entry(into!, gram).remove.push(place)
  }
  for (const change of changes) {
    note(gramsOf, grams, change)
    note(wordsOf, words, change)
  }
  return { grams: grams!, words: words! }
}

function entry(map: Map<string, { add: number[]; remove: number[] }>, key: string) {
  let found = map.get(key)
  if (!found) {
    found = { add: [], remove: [] }
    map.set(key, found)
  }
  return found
}

/** A set after a change of it; undefined when nobody is left. */
export function changedSet(
  stored: Uint8Array | undefined,
  { add, remove }: { add: number[]; remove: number[] },
): Buffer | undefined {
  const bits = stored ? new Uint8Array(bitsOf(stored)) : new Uint8Array(setBytes)
  for (const place of remove) bits[place >> 3]! &= ~(0x80 >> (place & 7))
  for (const place of add) bits[place >> 3]! |= 0x80 >> (place & 7)
  const places = placesOf(bits)
  return places.length > 0 ? encodeSlots(places) : undefined
}

export function placesOf(bits: Uint8Array): number[] {
  const places: number[] = []
  for (let i = 0; i < bits.length; i++)
    for (let byte = bits[i]!; byte !== 0; ) {
      const lead = Math.clz32(byte) - 24
      places.push(i * 8 + lead)
      byte &= ~(0x80 >> lead)
    }
  return places
}

export const isCommonWord = (places: readonly number[]) => places.length >= wordFromSlots
