import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BlockGrams } from './block-grams.ts'
import {
  bitsOf,
  changedSet,
  fieldEnd,
  gramChanges,
  gramsOf,
  gramsOfTerm,
  isCommonWord,
  placesOf,
  wordsOf,
} from './grams.ts'

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', 'ع', '😀', '.', '1', ' '), maxLength: 12 })
const text = fc
  .tuple(letters, letters, letters)
  .map(([email, first, last]) => `${email}@x.example${fieldEnd}${first}${fieldEnd}${last}`)

/** Who is in which set, by looking at every text. */
function truth(texts: readonly string[], partsOf = gramsOf): Map<string, number[]> {
  const sets = new Map<string, number[]>()
  for (const [place, one] of texts.entries())
    for (const gram of partsOf(one)) sets.set(gram, [...(sets.get(gram) ?? []), place])
  return sets
}

test('the sets of a block are who has each gram, and who has each common word', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 60 }), texts => {
      const grams = new BlockGrams()
      for (let again = 0; again < 2; again++) {
        for (const [place, one] of texts.entries()) grams.add(place, one)
        const { sets, words } = grams.take()
        const found = new Map(sets.map(({ gram, slots }) => [gram, placesOf(bitsOf(slots))]))
        const common = [...truth(texts, wordsOf)].filter(([, places]) => isCommonWord(places))
        expect(new Map(words.map(word => [word, found.get(word)]))).toEqual(new Map(common))
        for (const word of words) found.delete(word)
        expect(found).toEqual(truth(texts))
      }
    }),
  )
})

test('changes of texts leave the sets that the new texts make', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.option(text), fc.option(text)), { maxLength: 20 }), pairs => {
      const [before, after] = [0, 1].map(side => pairs.map(pair => pair[side] ?? '')) as [string[], string[]]
      const sets = new Map(
        [...truth(before)].map(([gram, places]) => [gram, changedSet(undefined, { add: places, remove: [] })]),
      )
      const changes = pairs.map(([old, now], place) => ({ place, before: old ?? undefined, after: now ?? undefined }))
      for (const [gram, change] of gramChanges(changes).grams) sets.set(gram, changedSet(sets.get(gram), change))
      const left = [...sets].flatMap(([gram, slots]) => (slots ? [[gram, placesOf(bitsOf(slots))] as const] : []))
      expect(new Map(left)).toEqual(truth(after))
    }),
  )
})

test('everyone who has a term is in all the sets that are asked for it', () => {
  fc.assert(
    fc.property(text, fc.nat(30), fc.nat(20), (one, start, length) => {
      const term = [...one].slice(start, start + length + 1).join('')
      fc.pre(term !== '' && !term.includes(fieldEnd))
      const grams = gramsOf(one)
      expect(gramsOfTerm(term).filter(gram => !grams.has(gram))).toEqual([])
    }),
  )
})

test('a set keeps its members when it grows out of the list into bits and shrinks back', () => {
  const many = Array.from({ length: 600 }, (_, i) => i * 13)
  const grown = changedSet(undefined, { add: many, remove: [] })!
  expect(grown.length).toBe(1024)
  expect(placesOf(bitsOf(grown))).toEqual(many)
  const shrunk = changedSet(grown, { add: [], remove: many.slice(100) })!
  expect(shrunk.length).toBe(200)
  expect(placesOf(bitsOf(shrunk))).toEqual(many.slice(0, 100))
  expect(changedSet(shrunk, { add: [], remove: many })).toBeUndefined()
})
