import type { Service } from '../platform/service.ts'
import { auditChat } from './audit.ts'
import { chatRoutes } from './routes.ts'

export const chatService: Service = {
  name: 'chat',
  title: 'Chat messaging',
  base: '/chat/api/v1',
  routes: chatRoutes,
  openRoutes: [],
  pages: [],
  eventTypes: [],
  work: () => [],
  loops: () => [],
  keepers: () => [],
  demo: async () => [],
  audit: auditChat,
}
