import { businessById } from '../../accounts/store.ts'
import { nowFor } from '../../platform/clock.ts'
import { does, queue, type Work } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { takeEvents } from './webhook.ts'

/** Webhooks of gateways, worked on from the table they were kept in. */
export const gatewayEvents = queue<{ businessId: string }>('billing_gateway_events')

export const gatewayWork = (platform: Platform): Work[] => [
  does(gatewayEvents, async ({ businessId }) => {
    const business = await businessById(platform.db, businessId)
    if (!business) return
    const now = await nowFor(platform.db, business)
    await takeEvents({ platform, db: platform.db, business, now, source: 'scheduler' })
  }),
]
