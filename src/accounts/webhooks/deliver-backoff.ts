/**
 * When to try again. A delivery is tried over three days, at growing distances, and then given up; an endpoint that
 * had no success for three days is disabled.
 */
const second = 1_000
const minute = 60 * second
const hour = 60 * minute

export const giveUpAfterMs = 72 * hour
const distances = [
  5 * second,
  30 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
]

/** Spread by a tenth either way, so that what failed together does not come back together. */
const jittered = (ms: number, random: () => number) => Math.round(ms * (0.9 + 0.2 * random()))

/**
 * The moment of the next attempt, or undefined when the three days are over. The last one comes at their very end, so
 * that a receiver always has the full time to come back.
 */
export function nextAttempt(
  options: { attempts: number; firstAttemptAt: Date; now: Date; retryAfterMs?: number },
  random: () => number = Math.random,
): Date | undefined {
  const { attempts, firstAttemptAt, now, retryAfterMs = 0 } = options
  const end = firstAttemptAt.getTime() + giveUpAfterMs
  if (now.getTime() >= end) return undefined
  const distance = distances[Math.min(attempts, distances.length) - 1] ?? 5 * second
  const wait = Math.max(jittered(distance, random), retryAfterMs)
  return new Date(Math.min(now.getTime() + wait, end))
}

/** Failures in a row after which an endpoint counts as down. */
export const downAfterFailures = 5
const longestPauseMs = minute

/**
 * An endpoint that is down is tried once in a while by one delivery, whatever waits for it; then its backlog costs
 * nothing, and it is found again within about a minute of its return.
 */
export function pauseAfter(failures: number, now: Date, random: () => number = Math.random): Date | undefined {
  if (failures < downAfterFailures) return undefined
  const pause = Math.min(5 * second * 2 ** Math.min(failures - downAfterFailures, 10), longestPauseMs)
  return new Date(now.getTime() + jittered(pause, random))
}
