import type { Service } from '../platform/service.ts'
import { fillCatalogue } from './demo-catalogue.ts'
import { catalogueEventTypes } from './events-catalogue.ts'
import { checkoutPage } from './multiplans/multiplans.ts'
import { billingRoutes } from './routes.ts'

export const billingService: Service = {
  name: 'billing',
  title: 'Subscription billing',
  base: '/billing/api/v1',
  routes: billingRoutes,
  openRoutes: [],
  pages: [],
  eventTypes: [...catalogueEventTypes],
  work: () => [],
  loops: () => [],
  keepers: () => [],
  demo: async (platform, business) => {
    const { multiplan } = await fillCatalogue(platform, business)
    return [
      { label: 'Plans of the demo shop', text: "curl -H 'Authorization: {auth}' {base}/plans" },
      { label: 'Its checkout page', text: checkoutPage(platform.config.publicUrl, multiplan.id) },
    ]
  },
  audit: async () => [],
}
