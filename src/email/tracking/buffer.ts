import { isPassing } from '../../platform/database.ts'
import { type Loop, pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { recordHits, type TrackedEvent } from './record.ts'
import * as store from './store-hits.ts'

/**
 * Opens and clicks on their way to the database. Whoever asked is answered when the hit is committed, many with one
 * commit; it is counted a moment later, by whichever process works.
 */
export interface EventBuffer {
  /** resolves when it is committed; also when the database is away, for a reader should not wait for our statistics */
  add(businessId: string, event: TrackedEvent & { kind: 'open' | 'click' }): Promise<void>
  /** commits what is held and counts all that was committed */
  flush(): Promise<void>
}

const mostHeld = 50_000
const mostPerCommit = 500
const mostPerCount = 1_000
const retryMs = 500
const pollMs = 200

const buffers = new WeakMap<Platform, EventBuffer>()

/** One per process; what it holds is written before the program stops. */
export function eventBuffer(platform: Platform): EventBuffer {
  let buffer = buffers.get(platform)
  if (!buffer) {
    buffer = createBuffer(platform)
    buffers.set(platform, buffer)
    platform.beforeClose(buffer.flush)
  }
  return buffer
}

interface Held {
  row: store.HitRow
  done(): void
}

function createBuffer(platform: Platform): EventBuffer {
  const { db, log } = platform
  const held: Held[] = []
  let writing: Promise<void> | undefined

  /** Single file: what comes while a commit runs goes into the next one. */
  const write = async () => {
    while (held.length > 0) {
      const group = held.splice(0, mostPerCommit)
      try {
        await store.insertHits(
          db,
          group.map(one => one.row),
        )
      } catch (error) {
        log.error({ err: error, hits: group.length }, 'opens and clicks could not be written yet')
        // Beyond the limit the hits are worth less than the memory.
        if (isPassing(error) && held.length < mostHeld) {
          held.unshift(...group.map(({ row }) => ({ row, done: () => {} })))
          for (const one of group) one.done()
          await pause(retryMs)
        }
      }
      for (const one of group) one.done()
    }
    writing = undefined
  }
  // After this turn of the loop, so that requests of one read of the sockets share a commit.
  const start = () => {
    writing ??= new Promise<void>(resolve => setImmediate(resolve)).then(write)
    return writing
  }
  return {
    add: (businessId, event) =>
      new Promise(done => {
        held.push({ row: rowOf(businessId, event), done })
        void start()
      }),
    async flush() {
      await start()
      const failed = (error: unknown) => {
        log.error({ err: error }, 'opens and clicks could not be counted yet')
        return 0
      }
      while ((await countHits(platform).catch(failed)) > 0);
    },
  }
}

const oneLine = (text: string | undefined, longest: number) =>
  (text ?? '')
    .slice(0, longest)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .toWellFormed()

const rowOf = (businessId: string, event: TrackedEvent & { kind: 'open' | 'click' }): store.HitRow => ({
  businessId,
  id: event.id,
  deliveryId: event.deliveryId,
  kind: event.kind,
  at: event.at,
  link: event.link,
  method: event.method ?? 'GET',
  ip: oneLine(event.ip, 100),
  userAgent: oneLine(event.userAgent, 500),
})

/** Counts some of what waits, of each business in turn; answers how many hits that were. */
async function countHits({ db }: Pick<Platform, 'db'>): Promise<number> {
  let total = 0
  for (const { id } of await store.businessesWithHits(db)) total += await recordHits(db, id, mostPerCount)
  return total
}

/** Counts hits as they come, in every process that works. */
export const hitLoop = (platform: Platform): Loop => ({
  name: 'email_hits',
  async run(signal) {
    while (!signal.aborted) {
      const from = performance.now()
      const counted = await countHits(platform).catch(async error => {
        if (!isPassing(error)) platform.log.error({ err: error }, 'opens and clicks could not be counted yet')
        await pause(retryMs, signal)
        return 0
      })
      // As long a rest as it took: people who click now come before those who are counted.
      await pause(counted === 0 ? pollMs : Math.min(pollMs, performance.now() - from), signal)
    }
  },
})
