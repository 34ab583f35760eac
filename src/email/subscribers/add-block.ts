import { setImmediate } from 'node:timers/promises'
import type { CopyRows } from '../../platform/copy-rows.ts'
import { type Db, sendAlong, type Tx } from '../../platform/database.ts'
import { type LeadScoreSettings, leadScoreSettings } from '../lead-score/lead-score.ts'
import { blockBits } from './bitmaps.ts'
import type { BlockGrams } from './block-grams.ts'
import { type FreshFacets, freshCounts, freshSets } from './fresh-block.ts'
import * as store from './store-fold.ts'
import * as gramStore from './store-grams.ts'

/**
 * Many who come at once have a block of slots for themselves, so their sets are written whole and their totals added in the
 * transaction that makes them, without a detour through the log. Folding must wait a moment for it, other writers need not.
 * All that can be is made before, while nobody waits.
 */
export interface Block {
  number: number
  people: readonly FreshFacets[]
  sets: { key: string; bits: Buffer }[]
  grams: CopyRows
  words: string[]
  rules: LeadRules
  counts: store.CountRow[]
}

type LeadRules = Pick<LeadScoreSettings, 'hotFrom' | 'coldTo'>

export async function makeBlock(
  db: Db,
  businessId: string,
  { firstSlot, people, grams }: { firstSlot: number; people: readonly FreshFacets[]; grams: BlockGrams },
  now: Date,
): Promise<Block> {
  const number = firstSlot / blockBits
  const rules = await leadScoreSettings(db, businessId)
  // In steps, so that requests are served in between: each is some milliseconds.
  const { sets: gramSets, words } = grams.take()
  await setImmediate()
  const rows = gramStore.gramRows(businessId, number, gramSets)
  await setImmediate()
  const sets = freshSets(people)
  await setImmediate()
  return { number, people, sets, grams: rows, words, rules, counts: freshCounts(people, rules, now) }
}

export async function addBlock(tx: Tx, businessId: string, block: Block, now: Date): Promise<void> {
  await gramStore.copyGrams(tx, block.grams)
  await sendAlong(tx, store.addBlock(tx, businessId, block.number, block.sets, now))
  await store.lockFold(tx, businessId, now, true)
  const rules = await leadScoreSettings(tx, businessId)
  const counts = areSame(rules, block.rules) ? block.counts : freshCounts(block.people, rules, now)
  await sendAlong(tx, store.addCounts(tx, businessId, counts))
  if (block.words.length > 0) await sendAlong(tx, gramStore.addWords(tx, businessId, block.words))
}

const areSame = (one: LeadRules, other: LeadRules) => one.hotFrom === other.hotFrom && one.coldTo === other.coldTo
