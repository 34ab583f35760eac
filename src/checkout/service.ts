import type { Service } from '../platform/service.ts'

/** The pages where a customer buys and looks after what was bought. They have no API of their own. */
export const checkoutService: Service = {
  name: 'checkout',
  title: 'Checkout',
  base: '/checkout',
  routes: [],
  openRoutes: [],
  pages: [],
  eventTypes: [],
  work: () => [],
  loops: () => [],
  keepers: () => [],
  demo: async () => [],
  audit: async () => [],
}
