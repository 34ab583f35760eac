import { tooMany } from './problem.ts'

export interface RateLimit {
  /** Takes one request of this caller; throws 429 when none is left. Answers the headers that tell the state. */
  take(caller: string): Record<string, string>
}

interface Bucket {
  tokens: number
  at: number
}

/**
 * A token bucket per caller, in memory: each process grants the full rate, because a caller's requests over one
 * connection stay with one process, and a shared count would cost a query a request.
 */
export function createRateLimit(
  options: { perSecond: number; burst: number },
  clock: () => number = () => performance.now(),
): RateLimit {
  const { perSecond, burst } = options
  const buckets = new Map<string, Bucket>()
  const refillMs = (burst / Math.max(perSecond, 0.001)) * 1000

  /** A bucket that has had time to fill up says nothing any more; dropping it bounds the memory. */
  const sweep = (now: number) => {
    for (const [caller, bucket] of buckets) if (now - bucket.at > refillMs) buckets.delete(caller)
  }

  return {
    take(caller) {
      if (perSecond === 0) return {}
      const now = clock()
      const bucket = buckets.get(caller) ?? { tokens: burst, at: now }
      bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond)
      bucket.at = now
      if (!buckets.has(caller)) {
        if (buckets.size >= 10_000) sweep(now)
        buckets.set(caller, bucket)
      }
      const allowed = bucket.tokens >= 1
      if (allowed) bucket.tokens -= 1
      const secondsToFull = Math.ceil((burst - bucket.tokens) / perSecond)
      const headers = {
        'ratelimit-limit': String(burst),
        'ratelimit-remaining': String(Math.floor(bucket.tokens)),
        'ratelimit-reset': String(secondsToFull),
      }
      if (allowed) return headers
      const problem = tooMany(
        'rate_limited',
        `Too many requests: ${perSecond} a second are allowed. Wait and try again.`,
        (1 - bucket.tokens) / perSecond,
      )
      Object.assign(problem.headers, headers)
      throw problem
    },
  }
}
