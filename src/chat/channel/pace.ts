import type { Platform } from '../../platform/platform.ts'

/**
 * How fast we may talk: so many messages a second for a number, and few to one person (the platform refills one every
 * six seconds and lends up to 45). Kept in the memory of each process, which has its share of the number's rate (share.ts);
 * where the shares do not add up right for a moment, the platform says so and the number, or the person, is paused by its answer.
 */
interface Bucket {
  tokens: number
  at: number
  pausedUntil: number
}

export interface Pace {
  /** milliseconds until this message may go; takes its place when it may go within `patienceMs` */
  reserve(options: { number: string; recipient: string; perSecond: number; patienceMs: number }): number
  /** a place that was reserved and is not used */
  giveBack(options: { number: string; recipient: string }): void
  pauseNumber(number: string, ms: number): void
  pauseRecipient(number: string, recipient: string, ms: number): void
}

const pairCapacity = 45
const pairPerMs = 1 / 6_000
const maxPairs = 100_000

export function createPace(clock: () => number = () => performance.now()): Pace {
  const numbers = new Map<string, Bucket>()
  const pairs = new Map<string, Bucket>()

  /** May go below zero: whoever reserved ahead waits its turn. */
  const refill = (bucket: Bucket, perMs: number, capacity: number, now: number) => {
    bucket.tokens = Math.min(capacity, bucket.tokens + (now - bucket.at) * perMs)
    bucket.at = now
  }
  const bucketOf = (buckets: Map<string, Bucket>, key: string, capacity: number, now: number) => {
    let bucket = buckets.get(key)
    if (!bucket) {
      bucket = { tokens: capacity, at: now, pausedUntil: 0 }
      buckets.set(key, bucket)
    }
    return bucket
  }
  const wait = (bucket: Bucket, perMs: number, now: number) =>
    Math.max(bucket.pausedUntil - now, bucket.tokens >= 1 ? 0 : (1 - bucket.tokens) / perMs)
  const sweep = (now: number) => {
    const full = pairCapacity / pairPerMs
    for (const [key, bucket] of pairs) if (now - bucket.at > full) pairs.delete(key)
    // Should a flood of recipients outgrow even that, forgetting the oldest is safe: the platform still counts.
    for (const key of pairs.keys()) {
      if (pairs.size < maxPairs) break
      pairs.delete(key)
    }
  }

  return {
    reserve({ number, recipient, perSecond, patienceMs }) {
      const now = clock()
      const perMs = perSecond / 1000
      // A tenth of a second's worth may go at once, so that the rate holds over any longer stretch.
      const burst = Math.max(1, perMs * 100)
      const numberBucket = bucketOf(numbers, number, burst, now)
      refill(numberBucket, perMs, burst, now)
      if (pairs.size >= maxPairs) sweep(now)
      const pairBucket = bucketOf(pairs, `${number} ${recipient}`, pairCapacity, now)
      refill(pairBucket, pairPerMs, pairCapacity, now)
      const waitMs = Math.max(wait(numberBucket, perMs, now), wait(pairBucket, pairPerMs, now))
      if (waitMs > patienceMs) return waitMs
      numberBucket.tokens -= 1
      pairBucket.tokens -= 1
      return waitMs
    },
    giveBack({ number, recipient }) {
      for (const bucket of [numbers.get(number), pairs.get(`${number} ${recipient}`)]) if (bucket) bucket.tokens += 1
    },
    pauseNumber(number, ms) {
      const now = clock()
      const bucket = bucketOf(numbers, number, 1, now)
      bucket.pausedUntil = Math.max(bucket.pausedUntil, now + ms)
    },
    pauseRecipient(number, recipient, ms) {
      const now = clock()
      const bucket = bucketOf(pairs, `${number} ${recipient}`, pairCapacity, now)
      bucket.pausedUntil = Math.max(bucket.pausedUntil, now + ms)
    },
  }
}

const paces = new WeakMap<Platform, Pace>()

export function paceOf(platform: Platform): Pace {
  let pace = paces.get(platform)
  if (!pace) {
    pace = createPace()
    paces.set(platform, pace)
  }
  return pace
}
