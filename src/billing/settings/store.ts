import { type Db, first } from '../../platform/database.ts'

export interface Settings {
  restartOnChange: boolean
  endTrialOnChange: boolean
  missedPeriods: 'bill_all' | 'bill_current_only'
}

export const findSettings = (db: Db, businessId: string) =>
  db<Settings[]>`
  select restart_on_change as "restartOnChange", end_trial_on_change as "endTrialOnChange",
    missed_periods as "missedPeriods"
  from billing_settings where business_id = ${businessId}`.then(first)

export const saveSettings = (db: Db, businessId: string, settings: Settings, now: Date) => db`
  insert into billing_settings (business_id, restart_on_change, end_trial_on_change, missed_periods, updated_at)
  values (${businessId}, ${settings.restartOnChange}, ${settings.endTrialOnChange}, ${settings.missedPeriods}, ${now})
  on conflict (business_id) do update set restart_on_change = excluded.restart_on_change,
    end_trial_on_change = excluded.end_trial_on_change, missed_periods = excluded.missed_periods,
    updated_at = excluded.updated_at`
