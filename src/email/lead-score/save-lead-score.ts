import type { Database } from '../../platform/database.ts'
import { unprocessable } from '../../platform/problem.ts'
import { recountLeads } from '../subscribers/fold.ts'
import { type LeadScoreSettings, leadScoreSettings } from './lead-score.ts'
import * as store from './store.ts'

/** Scores that people have stay; hot and cold are counted anew, because kept totals know the old thresholds. */
export function saveLeadScore(
  db: Database,
  businessId: string,
  given: Partial<LeadScoreSettings>,
  now: Date,
): Promise<void> {
  return db.begin(async tx => {
    const known = await leadScoreSettings(tx, businessId)
    const settings = {
      ...known,
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    }
    if (settings.coldTo >= settings.hotFrom)
      throw unprocessable(
        'thresholds_overlap',
        'coldTo must be below hotFrom, or a lead would be hot and cold at once.',
      )
    await recountLeads(tx, businessId, settings, now)
    await store.save(tx, businessId, settings, now)
  })
}
