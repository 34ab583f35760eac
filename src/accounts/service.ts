import { purgeIdempotencyKeys } from '../platform/idempotency.ts'
import { does, queue } from '../platform/jobs.ts'
import type { Service } from '../platform/service.ts'
import { baseUrls } from './accounts.ts'
import { reactionLoop } from './events/react.ts'
import { type AllServices, accountRoutes } from './routes.ts'
import { accountEventTypes } from './webhooks/event-types.ts'
import { eventWork } from './webhooks/jobs.ts'
import { eventLoop } from './webhooks/loop.ts'

const purge = queue<object>('account_purge_idempotency_keys')

/** Ours beside the three services. It alone knows what they all do in time, to move a test clock, and what they all tell. */
export const accountService = (all: AllServices): Service => ({
  name: 'account',
  title: 'Account',
  base: baseUrls.account,
  routes: accountRoutes(all),
  openRoutes: [],
  pages: [],
  eventTypes: accountEventTypes,
  work: platform => [
    does(purge, async () => void (await purgeIdempotencyKeys(platform.db)), { cron: '17 * * * *' }),
    ...eventWork(platform),
  ],
  loops: platform => [eventLoop(platform), reactionLoop(platform, all.reactions())],
  keepers: () => [],
  demo: async () => [],
  audit: async () => [],
})
