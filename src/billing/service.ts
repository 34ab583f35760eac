import type { Service } from '../platform/service.ts'
import { billingRoutes } from './routes.ts'

export const billingService: Service = {
  name: 'billing',
  title: 'Subscription billing',
  base: '/billing/api/v1',
  routes: billingRoutes,
  openRoutes: [],
  pages: [],
  eventTypes: [],
  work: () => [],
  loops: () => [],
  keepers: () => [],
  demo: async () => [],
  audit: async () => [],
}
