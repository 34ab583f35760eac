import fc from 'fast-check'
import { expect, test } from 'vitest'
import { downAfterFailures, giveUpAfterMs, nextAttempt, pauseAfter } from './deliver-backoff.ts'

const start = new Date('2026-01-01T00:00:00Z')

test('over three days a delivery is tried about ten times, ever more rarely, the last time at their very end', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 40, maxLength: 40 }), luck => {
      const random = () => luck.pop() ?? 0.5
      const times = [start]
      for (let now: Date | undefined = start; now; ) {
        now = nextAttempt({ attempts: times.length, firstAttemptAt: start, now }, random)
        if (now) times.push(now)
      }
      expect(times.at(-1)!.getTime() - start.getTime()).toBe(giveUpAfterMs)
      expect(times.length).toBeGreaterThanOrEqual(10)
      expect(times.length).toBeLessThanOrEqual(13)
      const gaps = times.slice(1).map((time, i) => time.getTime() - times[i]!.getTime())
      expect(gaps[0]).toBeGreaterThanOrEqual(4_500)
      expect(gaps[0]).toBeLessThanOrEqual(5_500)
      for (let i = 1; i < 8; i++) expect(gaps[i]!).toBeGreaterThan(gaps[i - 1]!)
    }),
  )
})

test('a receiver that asks for more time gets it, but not beyond the three days', () => {
  const later = nextAttempt({ attempts: 1, firstAttemptAt: start, now: start, retryAfterMs: 600_000 })
  expect(later?.getTime()).toBe(start.getTime() + 600_000)
  const now = new Date(start.getTime() + giveUpAfterMs - 1_000)
  expect(nextAttempt({ attempts: 9, firstAttemptAt: start, now, retryAfterMs: 600_000 })?.getTime()).toBe(
    start.getTime() + giveUpAfterMs,
  )
})

test('an endpoint is left alone only after failures in a row, and never for much more than a minute', () => {
  expect(pauseAfter(downAfterFailures - 1, start)).toBeUndefined()
  for (const failures of [downAfterFailures, 7, 20, 10_000]) {
    const pause = pauseAfter(failures, start)!.getTime() - start.getTime()
    expect(pause).toBeGreaterThanOrEqual(4_500)
    expect(pause).toBeLessThanOrEqual(66_000)
  }
})
