import type { Db } from '../../platform/database.ts'
import * as store from './store.ts'

/** What an event adds to a subscriber's score, while it is active. */
export interface ScoreRule {
  value: number
  status: 'active' | 'inactive'
}

export interface LeadScoreSettings {
  emailOpen: ScoreRule
  emailClick: ScoreRule
  emailBounce: ScoreRule
  unsubscribe: ScoreRule
  /** a lead with at least this score is hot */
  hotFrom: number
  /** a lead with at most this score is cold */
  coldTo: number
}

const active = (value: number): ScoreRule => ({ value, status: 'active' })

export const defaultLeadScore: LeadScoreSettings = {
  emailOpen: active(5),
  emailClick: active(10),
  emailBounce: active(-10),
  unsubscribe: active(-20),
  hotFrom: 50,
  coldTo: 10,
}

export const leadScoreSettings = async (db: Db, businessId: string): Promise<LeadScoreSettings> => ({
  ...defaultLeadScore,
  ...(await store.find(db, businessId))?.settings,
})

export const scoreOf = (rule: ScoreRule) => (rule.status === 'active' ? rule.value : 0)

/** The settings as statistics show them; a business that never changed them has them since it exists. */
export async function leadScoreConfig(db: Db, businessId: string) {
  const saved = await store.findOrBeginning(db, businessId)
  const { hotFrom, coldTo, ...rules } = { ...defaultLeadScore, ...saved.settings }
  return {
    thresholds: { hotFrom, coldTo },
    shown: { ...rules, createdAt: saved.createdAt, updatedAt: saved.updatedAt },
  }
}
