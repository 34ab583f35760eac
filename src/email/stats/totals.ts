import type { Db } from '../../platform/database.ts'
import { leadScoreSettings } from '../lead-score/lead-score.ts'
import * as store from './store.ts'

export type { Totals } from './store.ts'

/** Totals by number, of lists or of tags; 0 is the whole business. */
export async function totalsOf(
  db: Db,
  businessId: string,
  kind: store.Totals['kind'],
  now: Date,
): Promise<Map<number, store.Totals>> {
  const { hotFrom, coldTo } = await leadScoreSettings(db, businessId)
  const rows = await store.totals(db, businessId, [kind], { now, hotFrom, coldTo })
  return new Map(rows.map(row => [row.number, row]))
}
