import { blockBits } from './bitmaps.ts'

/**
 * Searching by substring with sets. A gram is a run of one to three characters within a field; its set is exactly who has
 * it, so terms of up to three characters are answered by one set. A longer term is in everyone who has all its grams in
 * the right places, which sets can't tell: those in all the sets are looked at again, except who is in the set of a word that
 * contains the term. Words have sets where many of a block have them, so what is looked at again is never many.
 */
export const gramLength = 3
const wordFromSlots = 12
const maxWordLength = 80
export const setBytes = blockBits / 8
const maxListed = setBytes / 2 - 1

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
  const at = text.indexOf('@')
  const end = text.indexOf(fieldEnd)
  if (at >= 0 && at < end && end - at > gramLength && end - at <= maxWordLength) words.add(text.slice(at, end))
  return words
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

export interface GramSet {
  gram: string
  slots: Buffer
}

const ascii = 128
const isAscii = (text: string) => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= ascii) return false
  return true
}

/**
 * All sets of a block whose people come at once, from their texts in the order of their places. Grams of ASCII are numbers, and
 * the members of each are chained through two plain arrays: a text costs about a microsecond, where a map of texts to arrays would cost ten.
 */
export class BlockGrams {
  readonly #heads = new Int32Array(ascii ** gramLength)
  #next = new Int32Array(1 << 19)
  #places = new Uint16Array(1 << 19)
  #used = 0
  #codes: number[] = []
  #others = new Map<string, number[]>()
  #words = new Map<string, number[]>()

  add(place: number, text: string): void {
    if (this.#used + text.length * gramLength >= this.#next.length) this.#grow()
    if (isAscii(text)) this.#addAscii(place, text)
    else for (const gram of gramsOf(text)) this.#addGram(place, gram)
    for (const word of wordsOf(text)) {
      const places = this.#words.get(word)
      if (places) places.push(place)
      else this.#words.set(word, [place])
    }
  }

  /** The sets, and of them the words. Begins anew. */
  take(): { sets: GramSet[]; words: string[] } {
    const sets: GramSet[] = []
    for (const code of this.#codes) {
      sets.push({ gram: gramOfCode(code), slots: this.#slotsOf(code) })
      this.#heads[code] = 0
    }
    for (const [gram, places] of this.#others) sets.push({ gram, slots: encodeSlots(places) })
    const words: string[] = []
    for (const [word, places] of this.#words)
      if (places.length >= wordFromSlots) {
        words.push(word)
        sets.push({ gram: word, slots: encodeSlots(places) })
      }
    this.#used = 0
    this.#codes = []
    this.#others.clear()
    this.#words.clear()
    return { sets, words }
  }

  /** The chain runs from the last place to the first. */
  #slotsOf(code: number): Buffer {
    const [next, places] = [this.#next, this.#places]
    let count = 0
    for (let entry = this.#heads[code]!; entry !== 0; entry = next[entry]!) count++
    const listed = count <= maxListed
    const bytes = listed ? Buffer.allocUnsafe(count * 2) : Buffer.alloc(setBytes)
    for (let entry = this.#heads[code]!, at = count * 2; entry !== 0; entry = next[entry]!) {
      const place = places[entry]!
      if (listed) {
        bytes[--at] = place & 0xff
        bytes[--at] = place >> 8
      } else bytes[place >> 3]! |= 0x80 >> (place & 7)
    }
    return bytes
  }

  #addAscii(place: number, text: string): void {
    let [two, three] = [0, 0]
    const end = fieldEnd.charCodeAt(0)
    for (let i = 0; i < text.length; i++) {
      const one = text.charCodeAt(i)
      if (one === end) {
        two = 0
        three = 0
        continue
      }
      this.#mark(place, one)
      if (two !== 0) this.#mark(place, two * ascii + one)
      if (three !== 0) this.#mark(place, three * ascii + one)
      three = two === 0 ? 0 : two * ascii + one
      two = one
    }
  }

  #addGram(place: number, gram: string): void {
    if (isAscii(gram)) {
      let code = 0
      for (let i = 0; i < gram.length; i++) code = code * ascii + gram.charCodeAt(i)
      this.#mark(place, code)
      return
    }
    const places = this.#others.get(gram)
    if (places) places.push(place)
    else this.#others.set(gram, [place])
  }

  /** Places come in order, so one who is in the set already is at its head. */
  #mark(place: number, code: number): void {
    const head = this.#heads[code]!
    if (head === 0) this.#codes.push(code)
    else if (this.#places[head] === place) return
    const entry = ++this.#used
    this.#next[entry] = head
    this.#places[entry] = place
    this.#heads[code] = entry
  }

  #grow(): void {
    const [next, places] = [new Int32Array(this.#next.length * 2), new Uint16Array(this.#places.length * 2)]
    next.set(this.#next)
    places.set(this.#places)
    this.#next = next
    this.#places = places
  }
}

function gramOfCode(code: number): string {
  let gram = ''
  for (let rest = code; rest > 0; rest = Math.floor(rest / ascii)) gram = String.fromCharCode(rest % ascii) + gram
  return gram
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
