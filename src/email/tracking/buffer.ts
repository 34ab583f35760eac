import type { Platform } from '../../platform/platform.ts'
import { recordEvents, type TrackedEvent } from './record.ts'

/** Opens and clicks on their way to the database: answered at once, written a moment later, many with one commit. */
export interface EventBuffer {
  add(businessId: string, event: TrackedEvent): void
  /** writes all that is held */
  flush(): Promise<void>
}

const holdMs = 200
const mostHeld = 50_000
const mostPerCommit = 500

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

function createBuffer({ db, log }: Platform): EventBuffer {
  let held = new Map<string, TrackedEvent[]>()
  let size = 0
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const hold = (businessId: string, event: TrackedEvent) => {
    const own = held.get(businessId)
    if (own) own.push(event)
    else held.set(businessId, [event])
    size++
    timer ??= setTimeout(() => void flush(), holdMs)
  }
  const write = async () => {
    const batch = held
    held = new Map()
    size = 0
    for (const [businessId, events] of batch)
      for (let from = 0; from < events.length; from += mostPerCommit) {
        const some = events.slice(from, from + mostPerCommit)
        await recordEvents(db, businessId, some).catch(error => {
          log.error({ err: error, businessId, events: some.length }, 'opens and clicks could not be written yet')
          // Their ids make writing them again harmless; beyond the limit the hits are worth less than the memory.
          if (size + some.length <= mostHeld) for (const event of some) hold(businessId, event)
        })
      }
  }
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(write)
    return writing
  }
  return {
    add(businessId, event) {
      if (size < mostHeld) hold(businessId, event)
    },
    flush,
  }
}
