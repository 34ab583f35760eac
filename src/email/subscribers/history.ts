import { maxActivity, maxCampaigns } from './activity.ts'
import type { SubscriberRow } from './store.ts'

/**
 * What happened to a subscriber is kept in two places: what campaigns sent, in a few bytes a message, and all the rest
 * as it came. This puts both together, newest first.
 */
export function historyOf({
  activity,
  campaigns,
  mailed,
}: Pick<SubscriberRow, 'activity' | 'campaigns' | 'mailed'>): Pick<SubscriberRow, 'activity' | 'campaigns'> {
  if (mailed.length === 0) return { activity, campaigns }
  const sent = mailed.flatMap(([, stamp, campaignId]): SubscriberRow['activity'] => {
    const at = Math.floor(stamp / 2)
    const kinds = stamp % 2 === 1 ? ['sent', 'delivered'] : ['sent']
    return kinds.map(kind => [kind, at, campaignId, 0])
  })
  const byCampaign = new Map<string, SubscriberRow['campaigns'][number]>()
  for (const [_id, , campaignId, campaignName] of mailed)
    if (!byCampaign.has(campaignId)) byCampaign.set(campaignId, { _id, campaignId, campaignName })
  for (const one of campaigns) if (!byCampaign.has(one.campaignId)) byCampaign.set(one.campaignId, one)
  return {
    activity: [...activity, ...sent].sort((a, b) => b[1] - a[1]).slice(0, maxActivity),
    campaigns: [...byCampaign.values()].slice(0, maxCampaigns),
  }
}
