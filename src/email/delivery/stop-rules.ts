import type { Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { pauseSend } from './store-settle.ts'

/** A campaign pauses by itself above this share of the people mailed, once this many were. */
const rules = { hardBounces: { share: 0.02, after: 100 }, complaints: { share: 0.001, after: 1_000 } } as const

export interface Rates {
  sendId: string
  state: string
  automaticPause: boolean
  sent: number
  hardBounces: number
  complaints: number
  campaignId: string
  campaignName: string
  now: Date
}

/** A person who resumes it in spite of the rates is not stopped again. */
export async function watchRates(tx: Tx, businessId: string, rates: Rates): Promise<void> {
  if (rates.state !== 'sending' || !rates.automaticPause) return
  const { sendId, hardBounces, complaints, campaignId, campaignName, now } = rates
  const mailed = rates.sent + hardBounces
  const broken = (count: number, rule: { share: number; after: number }) =>
    mailed >= rule.after && count > mailed * rule.share
  const reason = broken(hardBounces, rules.hardBounces)
    ? `${hardBounces} of ${mailed} addresses do not exist (more than ${rules.hardBounces.share * 100} %).`
    : broken(complaints, rules.complaints)
      ? `${complaints} of ${mailed} recipients complained (more than ${rules.complaints.share * 100} %).`
      : undefined
  if (!reason) return
  await pauseSend(tx, businessId, sendId, reason, now)
  const data = { sendId, campaignId, campaignName, reason }
  await emit(tx, { businessId, type: 'campaign_pause', source: 'scheduler', objectId: sendId, data, at: now })
}
