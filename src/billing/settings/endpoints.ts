import { endpoint } from '../../platform/endpoint.ts'
import { contextOf } from '../context.ts'
import { envelope, ok } from '../envelope.ts'
import { SettingsFields, SettingsSchema } from './schema.ts'
import { changeSettings, settingsOf, showSettings } from './settings.ts'

export const get = endpoint({
  summary: 'How this business is billed, where it may choose',
  answer: envelope(SettingsSchema),
  run: async ({ db, business }) => ok('Settings', showSettings(await settingsOf(db, business.id))),
})

export const update = endpoint({
  summary: 'Choose how this business is billed; what is omitted stays',
  body: SettingsFields,
  answer: envelope(SettingsSchema),
  run: async call => ok('Settings changed', showSettings(await changeSettings(await contextOf(call), call.body))),
})
