import type { Service } from '../platform/service.ts'
import { auditEmail } from './audit.ts'
import { inboundLoop } from './bounces/inbound.ts'
import { scheduleKeeper, scheduleWork } from './campaigns/schedule.ts'
import { sendingEventTypes } from './delivery/event-types.ts'
import { sendingKeeper, sendingLoop, sendingWork } from './delivery/jobs.ts'
import { emailDemo } from './demo.ts'
import { apiEventTypes } from './events.ts'
import { importWork } from './import/import.ts'
import { listWork } from './lists/remove-list.ts'
import { emailOpenRoutes, emailRoutes } from './routes.ts'
import { publicPages } from './routes-public.ts'
import { erasureKeeper, foldLoop, subscriberWork } from './subscribers/jobs.ts'
import { hitLoop } from './tracking/buffer.ts'

export const emailService: Service = {
  name: 'email',
  title: 'Email marketing',
  base: '/email/api/v2',
  routes: emailRoutes,
  openRoutes: emailOpenRoutes,
  pages: [...publicPages],
  eventTypes: [...apiEventTypes, ...sendingEventTypes],
  work: platform => [
    ...subscriberWork(platform),
    ...listWork(platform),
    ...scheduleWork(platform),
    ...importWork(platform),
    ...sendingWork(platform),
  ],
  loops: platform => [foldLoop(platform), sendingLoop(platform), hitLoop(platform), inboundLoop(platform)],
  keepers: platform => [erasureKeeper(platform), scheduleKeeper(platform), sendingKeeper(platform)],
  demo: emailDemo,
  audit: auditEmail,
}
