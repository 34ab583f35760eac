import { nowFor, type TimeKeeper } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { does, queue, type Work } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { sendAllQueued } from '../delivery/jobs.ts'
import { queueListSend } from '../delivery/queue-send.ts'
import { getCampaign, tell } from './campaigns.ts'
import * as store from './store.ts'

/** Spec silent: a campaign whose time passed this long ago (the program was down) goes back to draft instead of out. */
const latestStartMs = 24 * 3_600_000

/** Sends every scheduled campaign of the business whose time has come. Each is decided in a transaction of its own. */
export async function launchDue(platform: Platform, businessId: string, now: Date): Promise<void> {
  const due = await store.dueCampaigns(platform.db, businessId, now)
  for (const { id } of due) await launchOne(platform, platform.db, businessId, id, now)
}

async function launchOne(platform: Platform, db: Database, businessId: string, id: string, now: Date): Promise<void> {
  const business = await store.business(db, businessId)
  await db.begin(async tx => {
    const campaign = await store.lock(tx, businessId, id)
    // Another process may have launched it, or a person taken it back, since we looked.
    if (!business || !campaign || campaign.status !== 'scheduled' || !campaign.scheduledAt || !campaign.audience) return
    const missed = now.getTime() - campaign.scheduledAt.getTime() > latestStartMs
    await store.update(tx, businessId, { ...campaign, status: missed ? 'draft' : 'live', scheduledAt: null }, now)
    if (!missed) {
      const send = {
        campaignId: id,
        now,
        ...(campaign.deliveryServerId && { deliveryServerId: campaign.deliveryServerId }),
        ...(campaign.senderEmail && { senderEmail: campaign.senderEmail }),
      }
      await queueListSend(tx, platform, business, send, campaign.audience)
    }
    await tell(tx, business, missed ? 'campaign_missed' : 'campaign_launch', await getCampaign(tx, businessId, id), now)
  })
}

export const scheduleKeeper = (platform: Platform): TimeKeeper => ({
  name: 'email_scheduled_campaigns',
  nextDue: (db, businessId) => store.nextScheduled(db, businessId),
  run: async (businessId, now) => {
    await launchDue(platform, businessId, now)
    await sendAllQueued(platform, businessId)
  },
})

const launchScheduled = queue<object>('email_launch_scheduled')

export const scheduleWork = (platform: Platform): Work[] => [
  does(
    launchScheduled,
    async () => {
      for (const business of await store.businessesWithDueCampaigns(platform.db, new Date()))
        await launchDue(platform, business.id, await nowFor(platform.db, { id: business.id, testMode: true }))
    },
    { cron: '* * * * *', concurrency: 1 },
  ),
]
