import type { Static } from 'typebox'
import type { Db } from '../../platform/database.ts'
import type { Context } from '../context.ts'
import { readFlag } from '../fields.ts'
import type { SettingsFields, SettingsSchema } from './schema.ts'
import * as store from './store.ts'

/** Where a business may choose how it is billed; who chose nothing has what most want. */
const usual: store.Settings = { restartOnChange: false, endTrialOnChange: false, missedPeriods: 'bill_all' }

export const settingsOf = async (db: Db, businessId: string): Promise<store.Settings> =>
  (await store.findSettings(db, businessId)) ?? usual

/** What is omitted stays. It counts from the next act on; what was billed stays as it is. */
export function changeSettings(
  { db, business, now }: Context,
  given: Static<typeof SettingsFields>,
): Promise<store.Settings> {
  return db.begin(async tx => {
    const before = await settingsOf(tx, business.id)
    const flag = (value: boolean | 'true' | 'false' | undefined, kept: boolean) =>
      value === undefined ? kept : readFlag(value)
    const after: store.Settings = {
      restartOnChange: flag(given.restart_on_change, before.restartOnChange),
      endTrialOnChange: flag(given.end_trial_on_change, before.endTrialOnChange),
      missedPeriods: given.missed_periods ?? before.missedPeriods,
    }
    await store.saveSettings(tx, business.id, after, now)
    return after
  })
}

export const showSettings = (settings: store.Settings): Static<typeof SettingsSchema> => ({
  restart_on_change: settings.restartOnChange,
  end_trial_on_change: settings.endTrialOnChange,
  missed_periods: settings.missedPeriods,
})
