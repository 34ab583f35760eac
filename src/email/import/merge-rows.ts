import { nested, type Tx } from '../../platform/database.ts'
import { newIds } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { takeSlots } from '../subscribers/slots.ts'
import { suppressAddresses } from '../suppressions/suppressions.ts'
import { addNewcomers } from './newcomers.ts'
import { type Known, type Plan, type Stranger, sortOut } from './plan.ts'
import type { ImportRow } from './rows.ts'
import * as store from './store-merge.ts'

/**
 * Those who exist are updated, the others made. Whoever is made or deleted by others meanwhile is looked at again. Tells whether
 * something was logged that is to be folded.
 */
export async function mergeRows(
  platform: Platform,
  tx: Tx,
  businessId: string,
  { now, rows, newcomers, ...plan }: Plan,
): Promise<{ created: number; updated: number; logged: boolean }> {
  let { known, strangers } = plan
  let [created, updated, logged] = [0, 0, false]
  if (newcomers) {
    await addNewcomers(tx, businessId, newcomers)
    created = strangers.length
    strangers = []
  }
  while (known.length + strangers.length > 0) {
    const missed = await createFew(platform, tx, businessId, strangers, now)
    const { gone, changed } = await updateAll(tx, businessId, known, now)
    created += strangers.length - missed.length
    updated += known.length - gone.length
    logged ||= strangers.length > 0 || changed
    const left = [...missed, ...gone]
    if (left.length === 0) break
    ;({ known, strangers } = await sortOut(nested(tx), businessId, left))
  }
  const suppressions = rows.flatMap(({ email, status }) =>
    status && status !== 'subscribed' ? [{ email, type: status, reason: `Imported as ${status}` }] : [],
  )
  await suppressAddresses(tx, businessId, suppressions, now)
  return { created, updated, logged }
}

/** Answers those whose email someone else took a moment ago. */
async function createFew(
  platform: Platform,
  tx: Tx,
  businessId: string,
  strangers: readonly Stranger[],
  now: Date,
): Promise<ImportRow[]> {
  if (strangers.length === 0) return []
  const firstSlot = await takeSlots(platform, businessId, strangers.length)
  const ids = newIds(strangers.length)
  const given = strangers.map(({ row, status }, i) => ({ row, status, id: ids[i]!, slot: firstSlot + i }))
  const made = new Set((await store.insert(tx, businessId, given, now)).map(row => row.slot))
  return strangers.flatMap(({ row }, i) => (made.has(firstSlot + i) ? [] : [row]))
}

/** Tells those who were deleted a moment ago, and whether anyone else was changed. */
async function updateAll(
  tx: Tx,
  businessId: string,
  known: readonly Known[],
  now: Date,
): Promise<{ gone: ImportRow[]; changed: boolean }> {
  if (known.length === 0) return { gone: [], changed: false }
  const { gone, changed } = await store.update(tx, businessId, known, now)
  return { gone: gone.map(n => known[n]!.row), changed }
}
