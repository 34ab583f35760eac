import type { Service } from '../platform/service.ts'
import { auditChat } from './audit.ts'
import { broadcastKeeper, broadcastLoop } from './broadcasts/loops.ts'
import { intakeLoop, newsKeeper, sweepLoop } from './channel/loops.ts'
import { fillChatDemo } from './demo.ts'
import { chatEventTypes } from './event-types.ts'
import { chatWork } from './jobs.ts'
import { mediaLoop } from './media/fetch.ts'
import { chatOpenRoutes, chatRoutes } from './routes.ts'

export const chatService: Service = {
  name: 'chat',
  title: 'Chat messaging',
  base: '/chat/api/v1',
  routes: chatRoutes,
  openRoutes: chatOpenRoutes,
  pages: [],
  eventTypes: chatEventTypes,
  work: chatWork,
  loops: platform => [intakeLoop(platform), sweepLoop(platform), broadcastLoop(platform), mediaLoop(platform)],
  keepers: platform => [newsKeeper(platform), broadcastKeeper(platform)],
  demo: fillChatDemo,
  audit: auditChat,
}
