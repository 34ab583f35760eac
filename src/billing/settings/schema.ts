import { Type } from 'typebox'
import { Choice } from '../../platform/schema.ts'
import { Flag } from '../fields.ts'

const missedPeriods = ['bill_all', 'bill_current_only'] as const

export const SettingsSchema = Type.Object({
  restart_on_change: Type.Boolean({
    description: 'every change to another plan begins a new period; else only one to a plan with another period does',
  }),
  end_trial_on_change: Type.Boolean({
    description: 'an immediate change ends the trial and is billed at once; else the trial goes on to its end',
  }),
  missed_periods: Choice(missedPeriods, {
    description: 'whether periods that passed while nothing could be billed are billed one by one, or left out',
  }),
})

export const SettingsFields = Type.Object({
  restart_on_change: Type.Optional(Flag),
  end_trial_on_change: Type.Optional(Flag),
  missed_periods: Type.Optional(Choice(missedPeriods)),
})
