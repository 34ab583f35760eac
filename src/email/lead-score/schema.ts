import { Type } from 'typebox'
import { Choice, Timestamp } from '../../platform/schema.ts'

export const ScoreRuleSchema = Type.Object({
  value: Type.Integer({ minimum: -1_000_000, maximum: 1_000_000, description: 'added to the score, signed' }),
  status: Choice(['active', 'inactive']),
})

export const LeadScoreConfigSchema = Type.Object({
  emailOpen: ScoreRuleSchema,
  emailClick: ScoreRuleSchema,
  emailBounce: ScoreRuleSchema,
  unsubscribe: ScoreRuleSchema,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
