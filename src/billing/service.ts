import type { Service } from '../platform/service.ts'
import { audit } from './audit.ts'
import { billingKeeper, dueLoop } from './clock/due.ts'
import { fillCatalogue } from './demo-catalogue.ts'
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
  demo: async (platform, business) => {
    await fillCatalogue(platform, business)
    return [{ label: 'Plans of the demo shop', text: "curl -H '{auth}' {base}/plans" }]
  },
  audit: (platform, businessId) => audit(platform.db, businessId),
}
