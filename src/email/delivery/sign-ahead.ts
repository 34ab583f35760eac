import { type Item, leave, mayStart } from './batch.ts'
import type { Lane } from './lanes.ts'

/** Enough that the signing threads always have the next message, few enough to be soon on the wire. */
const mostAhead = 96

/**
 * Messages that are filled and signed before a connection asks for them: a signature takes as long as ten messages take
 * on the wire, and no connection should wait for it.
 */
export interface SignAhead<J extends { item: Item }> {
  /** the next signed message for a connection; `individualOnly` where a connection is kept free of campaigns */
  take(individualOnly: boolean): J | undefined
  /** signs more where there is room */
  pump(): void
  /** lets go of what may not start any more; of everything when stopping */
  drop(all: boolean): void
  /** all that is ready, to go another way */
  giveBack(): J[]
  readonly size: number
}

export interface SignAheadParts<P, J> {
  /** the next message of a lane that may go now */
  next(individualOnly: boolean): P | undefined
  /** fills and signs it */
  prepare(job: P): Promise<J>
  /** it could not be signed */
  onFailed(job: P, error: Error): void
  /** one more is ready */
  onReady(): void
}

export function createSignAhead<P extends { item: Item }, J extends { item: Item }>(
  parts: SignAheadParts<P, J>,
): SignAhead<J> {
  const ready: Record<Lane, J[]> = [[], []]
  let signing = 0
  let stopped = false
  const size = () => signing + ready[0].length + ready[1].length

  const start = async (job: P) => {
    signing++
    try {
      const prepared = await parts.prepare(job)
      if (stopped) leave(job.item)
      else ready[job.item.batch.lane].push(prepared)
    } catch (error) {
      parts.onFailed(job, error instanceof Error ? error : new Error(String(error)))
    }
    signing--
    parts.onReady()
  }

  const pump = () => {
    if (stopped) return
    // Single messages don't wait for room: they are few, and somebody waits for them.
    for (let job = parts.next(true); job; job = parts.next(true)) void start(job)
    while (size() < mostAhead) {
      const job = parts.next(false)
      if (!job) return
      void start(job)
    }
  }

  return {
    pump,
    take(individualOnly) {
      for (const lane of individualOnly ? ([0] as const) : ([0, 1] as const))
        for (let job = ready[lane].shift(); job; job = ready[lane].shift()) {
          if (mayStart(job.item.batch)) {
            pump()
            return job
          }
          leave(job.item)
        }
      pump()
      return undefined
    },
    drop(all) {
      stopped ||= all
      for (const lane of [0, 1] as const) {
        const gone = ready[lane].filter(job => all || !mayStart(job.item.batch))
        if (gone.length === 0) continue
        const left = new Set(gone)
        ready[lane] = ready[lane].filter(job => !left.has(job))
        for (const job of gone) leave(job.item)
      }
    },
    giveBack: () => [...ready[0].splice(0), ...ready[1].splice(0)],
    get size() {
      return size()
    },
  }
}
