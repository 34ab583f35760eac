import { blockBits } from './bitmaps.ts'
import { BlockWords } from './block-words.ts'
import { encodeSlots, fieldEnd, gramLength, gramsOf, isCommonWord, maxListed, setBytes, wordsOf } from './grams.ts'

export interface GramSet {
  gram: string
  slots: Buffer
}

const ascii = 128
const end = fieldEnd.charCodeAt(0)
const isAscii = (text: string) => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= ascii) return false
  return true
}

/**
 * All sets of a block whose people come at once, from their texts in the order of their places. Grams of ASCII are numbers: they are
 * noted one after the other and counted, and once all are known each goes straight to its place in the bytes of its set.
 */
export class BlockGrams {
  /** of each gram, while they come: how many have it, and the last of them. Then: where in the bytes the next one goes. */
  readonly #state = new Int32Array(ascii ** gramLength)
  #codes: number[] = []
  /** the grams of everyone, person after person, and up to where they are whose */
  #entries = new Int32Array(1 << 20)
  #used = 0
  readonly #places = new Uint16Array(blockBits)
  readonly #ends = new Int32Array(blockBits)
  #people = 0
  #others = new Map<string, number[]>()
  readonly #words = new BlockWords()

  add(place: number, text: string): void {
    if (this.#used + text.length * gramLength > this.#entries.length) this.#grow(text.length * gramLength)
    if (isAscii(text)) {
      this.#addAscii(place, text)
      this.#words.addAscii(place, text)
    } else {
      for (const gram of gramsOf(text)) this.#addGram(place, gram)
      this.#words.add(place, text, wordsOf(text))
    }
    this.#places[this.#people] = place
    this.#ends[this.#people++] = this.#used
  }

  /** The sets, and of them the words. Begins anew. */
  take(): { sets: GramSet[]; words: string[] } {
    const sets = this.#takeAscii()
    for (const [gram, places] of this.#others) sets.push({ gram, slots: encodeSlots(places) })
    const words: string[] = []
    for (const [word, places] of this.#words.take())
      if (isCommonWord(places)) {
        words.push(word)
        sets.push({ gram: word, slots: encodeSlots(places) })
      }
    this.#others.clear()
    return { sets, words }
  }

  /** The sets are parts of one buffer: there are thousands, most of them small. */
  #takeAscii(): GramSet[] {
    const state = this.#state
    // In order, so that the database finds its way in the index once for many.
    const codes = Int32Array.from(this.#codes).sort()
    const sizeOf = (count: number) => (count <= maxListed ? count * 2 : setBytes)
    let size = 0
    for (const code of codes) size += sizeOf(state[code]! >>> 16)
    const bytes = Buffer.alloc(size)
    const sets: GramSet[] = []
    let from = 0
    for (const code of codes) {
      const count = state[code]! >>> 16
      const slots = bytes.subarray(from, from + sizeOf(count))
      sets.push({ gram: gramOfCode(code), slots })
      state[code] = count <= maxListed ? from : ~from
      from += slots.length
    }
    this.#fill(bytes)
    for (const code of codes) state[code] = 0
    this.#codes = []
    this.#used = 0
    this.#people = 0
    return sets
  }

  #fill(bytes: Buffer): void {
    const [state, entries] = [this.#state, this.#entries]
    for (let person = 0, entry = 0; person < this.#people; person++) {
      const place = this.#places[person]!
      for (const last = this.#ends[person]!; entry < last; entry++) {
        const at = state[entries[entry]!]!
        if (at >= 0) {
          bytes[at] = place >> 8
          bytes[at + 1] = place
          state[entries[entry]!] = at + 2
        } else bytes[~at + (place >> 3)]! |= 0x80 >> (place & 7)
      }
    }
  }

  #addAscii(place: number, text: string): void {
    let [two, three] = [0, 0]
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

  /** Places come in order, so one who is in the set already is its last. */
  #mark(place: number, code: number): void {
    const known = this.#state[code]!
    if (known === 0) this.#codes.push(code)
    else if ((known & 0xffff) === place + 1) return
    this.#state[code] = (((known >>> 16) + 1) << 16) | (place + 1)
    this.#entries[this.#used++] = code
  }

  #grow(least: number): void {
    const entries = new Int32Array(this.#entries.length * 2 + least)
    entries.set(this.#entries)
    this.#entries = entries
  }
}

function gramOfCode(code: number): string {
  let gram = ''
  for (let rest = code; rest > 0; rest = Math.floor(rest / ascii)) gram = String.fromCharCode(rest % ascii) + gram
  return gram
}
