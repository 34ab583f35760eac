import { domainIn, maxWordLength, minWordLength, wordFromSlots } from './grams.ts'

const buckets = 1 << 16
const cells = 4
const prime = 0x01000193

/** What an ASCII character is to words: 1 a letter, 2 a digit. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) =>
  code >= 97 && code <= 122 ? 1 : code >= 48 && code <= 57 ? 2 : 0,
)

/**
 * The words of a block. Most are rare, and rare ones are of no use: where each stands is noted in numbers, and only those whose
 * hash came often enough are ever made into texts.
 */
export class BlockWords {
  readonly #counts = new Uint16Array(buckets)
  /** hash, person, start and end of each */
  #noted = new Int32Array(1 << 18)
  #used = 0
  #people: { place: number; text: string }[] = []

  add(place: number, text: string, words: Iterable<string>): void {
    this.#people.push({ place, text })
    for (const word of words) {
      const start = text.indexOf(word)
      this.#note(hashOf(text, start, start + word.length), start, start + word.length)
    }
  }

  /** Finds what `wordsOf` finds. */
  addAscii(place: number, text: string): void {
    this.#people.push({ place, text })
    let [kind, start, hash] = [0, 0, 0]
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      const next = kinds[code]!
      if (next !== kind) {
        if (kind !== 0 && i - start >= minWordLength && i - start <= maxWordLength) this.#note(hash, start, i)
        kind = next
        start = i
        hash = 0
      }
      hash = Math.imul(hash ^ code, prime)
    }
    const length = text.length - start
    if (kind !== 0 && length >= minWordLength && length <= maxWordLength) this.#note(hash, start, text.length)
    const domain = domainIn(text)
    if (domain) this.#note(hashOf(text, domain.start, domain.end), domain.start, domain.end)
  }

  /** Who has which word, of words that may be common. Begins anew. */
  take(): Map<string, number[]> {
    const found = new Map<string, number[]>()
    for (let i = 0; i < this.#used; i += cells) {
      if (this.#counts[this.#noted[i]! & (buckets - 1)]! < wordFromSlots) continue
      const { place, text } = this.#people[this.#noted[i + 1]!]!
      const word = text.slice(this.#noted[i + 2], this.#noted[i + 3])
      const places = found.get(word)
      if (!places) found.set(word, [place])
      else if (places.at(-1) !== place) places.push(place)
    }
    this.#counts.fill(0)
    this.#used = 0
    this.#people = []
    return found
  }

  #note(hash: number, start: number, end: number): void {
    if (this.#used === this.#noted.length) {
      const noted = new Int32Array(this.#noted.length * 2)
      noted.set(this.#noted)
      this.#noted = noted
    }
    this.#counts[hash & (buckets - 1)]!++
    this.#noted[this.#used++] = hash
    this.#noted[this.#used++] = this.#people.length - 1
    this.#noted[this.#used++] = start
    this.#noted[this.#used++] = end
  }
}

function hashOf(text: string, start: number, end: number): number {
  let hash = 0
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), prime)
  return hash
}
