import { nested } from '../platform/database.ts'
import type { Service } from '../platform/service.ts'
import { audit } from './audit.ts'
import { billingKeeper, dueLoop } from './clock/due.ts'
import { fillCatalogue } from './demo-catalogue.ts'
import { liveHistory } from './demo-history.ts'
import { catalogueEventTypes } from './events-catalogue.ts'
import { lifecycleEventTypes } from './events-lifecycle.ts'
import { gatewayWork } from './gateways/jobs.ts'
import { billingOpenRoutes, billingRoutes } from './routes.ts'

export const billingService: Service = {
  name: 'billing',
  title: 'Subscription billing',
  base: '/billing/api/v1',
  routes: billingRoutes,
  openRoutes: billingOpenRoutes,
  pages: [],
  eventTypes: [...catalogueEventTypes, ...lifecycleEventTypes],
  work: platform => gatewayWork(platform),
  loops: platform => [dueLoop(platform)],
  keepers: platform => [billingKeeper(platform)],
  // In one transaction: quick, because it is written to disk once, and no worker sees a past that is half lived.
  demo: (outside, business) =>
    outside.db.begin(async tx => {
      const platform = { ...outside, db: nested(tx) }
      const shop = await fillCatalogue(platform, business)
      await liveHistory(platform, business, shop)
      return [{ label: 'Subscriptions of the demo shop', text: "curl -H '{auth}' {base}/subscriptions" }]
    }),
  audit: (platform, businessId) => audit(platform.db, businessId),
}
