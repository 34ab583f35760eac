import { type Database, isPassing } from '../../platform/database.ts'
import { type Loop, pause } from '../../platform/jobs.ts'
import { createOutbound } from '../../platform/outbound.ts'
import type { Platform } from '../../platform/platform.ts'
import { createResolve } from '../../platform/resolve.ts'
import { createPublisher, type Publisher } from '../events/publish.ts'
import { createDeliverer } from './deliver.ts'

const idleMs = 200
/** One origin may serve many endpoints of many businesses; each lane is bounded by itself. */
const connectionsPerOrigin = 1_024

/** Places fresh events and delivers them, for as long as the program works. */
export function eventLoop(platform: Platform): Loop {
  let pool: Database | undefined
  return {
    name: 'events',
    async run(signal) {
      pool ??= platform.connect({ name: 'webhooks', max: 4 }) as unknown as Database
      const outbound = createOutbound(
        { allowPrivate: platform.config.allowPrivateAddresses },
        { connectionsPerOrigin, resolve: createResolve() },
      )
      const deliverer = createDeliverer({ db: pool, outbound, platform })
      const publisher = createPublisher(pool, () => new Date())
      try {
        await Promise.all([keepPublishing(platform, publisher, deliverer.wake, signal), deliverer.run(signal)])
      } finally {
        await outbound.close()
      }
    },
  }
}

async function keepPublishing(
  { log }: Pick<Platform, 'log'>,
  publisher: Publisher,
  wake: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { queued, more } = await publisher.round()
      if (queued > 0) wake()
      if (!more) await pause(idleMs, signal)
    } catch (error) {
      if (!isPassing(error)) log.error({ err: error }, 'events could not be placed; trying again')
      await pause(500, signal)
    }
  }
}
