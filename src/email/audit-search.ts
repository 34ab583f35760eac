import { createHash } from 'node:crypto'
import type { Db } from '../platform/database.ts'
import * as store from './store-audit.ts'
import { blockBits } from './subscribers/bitmaps.ts'
import { BlockGrams } from './subscribers/block-grams.ts'
import { bitsOf, encodeSlots, placesOf } from './subscribers/grams.ts'

/**
 * Compares the sets that searches use with those the texts make. Sets are kept by gram and made by block, so each side is
 * summed up to one number a block; slots that are known to lag are left out of both.
 */
export async function auditSearch(db: Db, businessId: string): Promise<string[]> {
  const faults: string[] = []
  const lagging = new Set(await store.unindexedSlots(db, businessId))
  const kept = new Map<number, bigint>()
  for await (const rows of store.gramSets(db, businessId))
    for (const { gram, block, slots } of rows) {
      const places = placesOf(bitsOf(slots)).filter(place => !lagging.has(block * blockBits + place))
      add(kept, block, gram, encodeSlots(places))
    }
  const made = new Map<number, bigint>()
  const words = Map.groupBy(await store.wordSets(db, businessId), set => set.block)
  const grams = new BlockGrams()
  const blocks = Math.floor((await store.lastSlot(db, businessId)) / blockBits) + 1
  for (let block = 0; block < blocks; block++) {
    const start = block * blockBits
    const texts = (await store.texts(db, businessId, start, start + blockBits)).filter(({ slot }) => !lagging.has(slot))
    for (const { slot, text } of texts) grams.add(slot - start, text)
    for (const { gram, slots } of grams.take().sets) if ([...gram].length <= 3) add(made, block, gram, slots)
    const byPlace = new Map(texts.map(({ slot, text }) => [slot - start, text]))
    for (const { gram, slots } of words.get(block) ?? [])
      for (const place of placesOf(bitsOf(slots)))
        if (!lagging.has(start + place) && !byPlace.get(place)?.includes(gram))
          faults.push(`email: the word "${gram}" has slot ${start + place}, whose text does not contain it`)
  }
  for (const block of new Set([...kept.keys(), ...made.keys()]))
    if ((kept.get(block) ?? 0n) !== (made.get(block) ?? 0n))
      faults.push(`email: the sets for searching block ${block} are not what its texts make`)
  return faults
}

function add(sums: Map<number, bigint>, block: number, gram: string, slots: Buffer): void {
  if (slots.length === 0) return
  const digest = createHash('md5').update(gram).update('/').update(slots).digest()
  sums.set(block, (sums.get(block) ?? 0n) + digest.readBigUInt64BE())
}
