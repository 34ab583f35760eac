import { nowFor } from '../platform/clock.ts'
import { does, queue, type Work } from '../platform/jobs.ts'
import type { Platform } from '../platform/platform.ts'
import { purgeNews } from './channel/store.ts'
import { purgePace } from './channel/store-pace.ts'
import { purgeUploads } from './media/store.ts'
import { connectedBusinesses, settingOwners } from './settings/store.ts'
import { businessById } from './store.ts'
import { syncQueue } from './templates/jobs.ts'
import { syncTemplates } from './templates/templates.ts'

const purgeQueue = queue<object>('chat_purge_news')
const newsDays = 90
const syncAllQueue = queue<object>('chat_sync_all_templates')

export const chatWork = (platform: Platform): Work[] => [
  does(syncQueue, async ({ businessId }) => {
    const business = await businessById(platform.db, businessId)
    if (business) await syncTemplates(platform, platform.db, business, await nowFor(platform.db, business))
  }),
  // The platform's webhooks tell most changes; a full look every three hours finds what they missed.
  does(
    syncAllQueue,
    async () =>
      platform.jobs.enqueueMany(
        platform.db,
        syncQueue,
        (await connectedBusinesses(platform.db)).map(({ businessId }) => ({ businessId })),
      ),
    { cron: '23 */3 * * *' },
  ),
  does(
    purgeQueue,
    async () => {
      for (const { businessId } of await settingOwners(platform.db)) {
        await purgeNews(platform.db, businessId, newsDays)
        await purgeUploads(platform.db, businessId)
        await purgePace(platform.db, businessId)
      }
    },
    { cron: '41 3 * * *' },
  ),
]
