import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { envelope, ok } from '../envelope.ts'
import { LeadScore } from '../subscribers/schema.ts'
import { leadScoreConfig } from './lead-score.ts'
import { saveLeadScore } from './save-lead-score.ts'
import { LeadScoreConfigSchema, ScoreRuleSchema } from './schema.ts'

const SettingsSchema = Type.Object({
  ...LeadScoreConfigSchema.properties,
  hotFrom: Type.Integer({ description: 'a lead with at least this score is hot' }),
  coldTo: Type.Integer({ description: 'a lead with at most this score is cold' }),
})

const show = ({ shown, thresholds }: Awaited<ReturnType<typeof leadScoreConfig>>) => ({ ...shown, ...thresholds })

export const get = endpoint({
  summary: 'What events add to the lead score',
  answer: envelope(SettingsSchema),
  run: async ({ db, business }) => ok('Lead score settings', show(await leadScoreConfig(db, business.id))),
})

export const update = endpoint({
  summary: 'Change what events add to the lead score, from now on',
  body: Type.Object({
    emailOpen: Type.Optional(ScoreRuleSchema),
    emailClick: Type.Optional(ScoreRuleSchema),
    emailBounce: Type.Optional(ScoreRuleSchema),
    unsubscribe: Type.Optional(ScoreRuleSchema),
    hotFrom: Type.Optional(LeadScore),
    coldTo: Type.Optional(LeadScore),
  }),
  answer: envelope(SettingsSchema),
  run: async ({ db, business, body }) => {
    const { emailOpen, emailClick, emailBounce, unsubscribe, hotFrom, coldTo } = body
    const given = { emailOpen, emailClick, emailBounce, unsubscribe, hotFrom, coldTo }
    await saveLeadScore(db, business.id, given, await nowFor(db, business))
    return ok('Lead score settings updated', show(await leadScoreConfig(db, business.id)))
  },
})
