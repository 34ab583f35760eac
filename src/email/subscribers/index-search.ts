import type { Database, Tx } from '../../platform/database.ts'
import { blockBits } from './bitmaps.ts'
import { changedSet, gramChanges, isCommonWord, type TextChange } from './grams.ts'
import { waitForFold } from './store-fold.ts'
import * as store from './store-grams.ts'

/**
 * The sets that searches use follow changes of text in batches: a text touches dozens of sets, and many texts together
 * hardly more. Until then the few texts on the list are looked at one by one, so searches are exact at every moment, and a
 * business of two hundred people needs no sets at all.
 */
const indexFrom = 250
const batch = blockBits / 2

export async function indexWhenMany(db: Database, businessId: string): Promise<void> {
  while (await store.hasTodo(db, businessId, indexFrom)) if ((await indexSearch(db, businessId, batch)) === 0) return
}

/** Brings up to so many texts into the sets; answers how many. */
export const indexSearch = (db: Database, businessId: string, limit: number): Promise<number> =>
  db.begin(async tx => {
    await waitForFold(tx, businessId)
    const texts = await store.takeTodo(tx, businessId, limit)
    const byBlock = Map.groupBy(texts, text => Math.floor(text.slot / blockBits))
    for (const [block, own] of byBlock) {
      const changes = own.map(({ slot, indexed, current }) => ({
        place: slot % blockBits,
        before: indexed ?? undefined,
        after: current ?? undefined,
      }))
      await changeBlock(tx, businessId, block, changes)
    }
    return texts.length
  })

async function changeBlock(tx: Tx, businessId: string, block: number, changes: TextChange[]): Promise<void> {
  const { grams, words } = gramChanges(changes)
  const keys = [...grams.keys(), ...words.keys()]
  const known = new Map(
    (
      await store.setsOf(
        tx,
        businessId,
        keys,
        keys.map(() => block),
      )
    ).map(set => [set.gram, set.slots]),
  )
  const sets: Parameters<typeof store.putSets>[2][number][] = []
  for (const [gram, change] of grams) sets.push({ gram, block, slots: changedSet(known.get(gram), change) })
  const newWords: string[] = []
  for (const [word, change] of words) {
    const stored = known.get(word)
    if (!stored && !isCommonWord(change.add)) continue
    if (!stored) newWords.push(word)
    sets.push({ gram: word, block, slots: changedSet(stored, change) })
  }
  await store.putSets(tx, businessId, sets)
  if (newWords.length > 0) await store.addWords(tx, businessId, newWords)
}
