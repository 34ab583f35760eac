import type { Service } from '../platform/service.ts'
import { emailRoutes } from './routes.ts'

export const emailService: Service = {
  name: 'email',
  title: 'Email marketing',
  base: '/email/api/v2',
  routes: emailRoutes,
  openRoutes: [],
  pages: [],
  eventTypes: [],
  work: () => [],
  loops: () => [],
  keepers: () => [],
  demo: async () => [],
  audit: async () => [],
}
