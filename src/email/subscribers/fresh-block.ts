import { blockBytes, everyoneKey, listKey, scoreBase, scoreKey, statusKey, tagKey } from './bitmaps.ts'
import type { Facets } from './facets.ts'
import { type CountRow, emptyTally, type Tally } from './store-fold.ts'

/**
 * A block of slots whose people all come at once: its sets and what they add to the totals. Nobody of them has opened or clicked
 * anything yet. Who has the same lists or tags shares the array of numbers, so the array stands for all they have in common.
 */
export type FreshFacets = Omit<Facets, 'engagedAt'>

/** In the order of places. */
export function freshSets(people: readonly FreshFacets[]): { key: string; bits: Buffer }[] {
  const sets = new Map<string, Buffer>()
  const setOf = (key: string): Buffer => sets.get(key) ?? sets.set(key, Buffer.alloc(blockBytes)).get(key)!
  const statuses = remembering((status: string) => [setOf(statusKey(status))])
  const lists = remembering((numbers: readonly number[]) => numbers.map(number => setOf(listKey(number))))
  const tags = remembering((numbers: readonly number[]) => numbers.map(number => setOf(tagKey(number))))
  const scores = remembering((score: number) => bitsOf(score + scoreBase).map(bit => setOf(scoreKey(bit))))
  const everyone = setOf(everyoneKey)
  for (let place = 0; place < people.length; place++) {
    const { status, leadScore, listNumbers, tagNumbers } = people[place]!
    const [byte, bit] = [place >> 3, 0x80 >> (place & 7)]
    everyone[byte]! |= bit
    for (const set of statuses(status)) set[byte]! |= bit
    for (const set of lists(listNumbers)) set[byte]! |= bit
    for (const set of tags(tagNumbers)) set[byte]! |= bit
    for (const set of scores(leadScore)) set[byte]! |= bit
  }
  return [...sets].map(([key, bits]) => ({ key, bits }))
}

function bitsOf(value: number): number[] {
  const bits: number[] = []
  for (let rest = value >>> 0, bit = 0; rest !== 0; rest >>>= 1, bit++) if (rest & 1) bits.push(bit)
  return bits
}

function remembering<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>()
  return key => known.get(key) ?? known.set(key, make(key)).get(key)!
}

const fields = ['total', 'subscribed', 'unsubscribed', 'bounced', 'complaint', 'scoreSum', 'hot', 'cold'] as const

export function freshCounts(
  people: readonly FreshFacets[],
  { hotFrom, coldTo }: { hotFrom: number; coldTo: number },
  at: Date,
): CountRow[] {
  const [scores, lists, tags] = [new Map<number, Tally>(), new Map<number[], Tally>(), new Map<number[], Tally>()]
  for (const { status, leadScore, listNumbers, tagNumbers } of people) {
    const [hot, cold] = [leadScore >= hotFrom ? 1 : 0, leadScore <= coldTo ? 1 : 0]
    const count = (tally: Tally) => {
      tally.total++
      tally[status]++
      tally.scoreSum += leadScore
      tally.hot += hot
      tally.cold += cold
    }
    count(tallyIn(scores, leadScore))
    count(tallyIn(lists, listNumbers))
    count(tallyIn(tags, tagNumbers))
  }
  const rows = (kind: CountRow['kind'], tallies: Map<number, Tally>) =>
    [...tallies].map(([number, tally]) => ({ kind, number, ...tally, updatedAt: at }))
  const all = summed([...scores.values()].map(tally => [[0], tally]))
  return [...rows('all', all), ...rows('score', scores), ...rows('list', summed(lists)), ...rows('tag', summed(tags))]
}

function tallyIn<Key>(tallies: Map<Key, Tally>, key: Key): Tally {
  let tally = tallies.get(key)
  if (!tally) {
    tally = emptyTally()
    tallies.set(key, tally)
  }
  return tally
}

/** To one tally a number. */
function summed(shares: Iterable<[number[], Tally]>): Map<number, Tally> {
  const sums = new Map<number, Tally>()
  for (const [numbers, share] of shares)
    for (const number of numbers) for (const field of fields) tallyIn(sums, number)[field] += share[field]
  return sums
}
