import type { Tx } from '../../platform/database.ts'
import { leadScoreSettings } from '../lead-score/lead-score.ts'
import { blockBits, FreshBlock } from './bitmaps.ts'
import type { Facets } from './facets.ts'
import { Counts } from './fold.ts'
import type { BlockGrams } from './grams.ts'
import * as store from './store-fold.ts'
import * as gramStore from './store-grams.ts'

/**
 * Many who come at once have a block of slots for themselves, so their sets are written whole and their totals added in the
 * transaction that makes them, without a detour through the log. Folding must wait a moment for it, other writers need not.
 */
export async function addBlock(
  tx: Tx,
  businessId: string,
  people: { firstSlot: number; facets: readonly Facets[]; grams: BlockGrams },
  now: Date,
): Promise<void> {
  const block = people.firstSlot / blockBits
  const { sets, words } = people.grams.take()
  await gramStore.addBlock(tx, businessId, block, sets)
  const fresh = new FreshBlock()
  for (const [place, facets] of people.facets.entries()) fresh.add(place, facets)
  await store.addBlock(tx, businessId, block, fresh.rows(), now)
  const { engagedAsOf } = (await store.lockFold(tx, businessId, now, true))!
  const { hotFrom, coldTo } = await leadScoreSettings(tx, businessId)
  const counts = new Counts({ hotFrom, coldTo, engagedAsOf })
  for (const after of people.facets) counts.add({ before: undefined, after, at: now })
  await store.addCounts(tx, businessId, counts.rows())
  if (words.length > 0) await gramStore.addWords(tx, businessId, words)
}
