import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPace } from './pace.ts'

const pair = { number: 'n', recipient: 'r', perSecond: 1_000, patienceMs: 0 }

describe('pace', () => {
  test('whatever the demand, a number stays within its rate in every second', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 400 }),
        fc.constantFrom(20, 80, 1_000),
        (gaps, perSecond) => {
          let now = 0
          const pace = createPace(() => now)
          const sent: number[] = []
          for (const [i, gap] of gaps.entries()) {
            now += gap
            const waitMs = pace.reserve({ number: 'n', recipient: `r${i}`, perSecond, patienceMs: 2_000 })
            if (waitMs <= 2_000) sent.push(now + waitMs)
          }
          sent.sort((a, b) => a - b)
          const allowed = perSecond + Math.max(1, perSecond / 10)
          for (const from of sent)
            expect(sent.filter(at => at >= from && at < from + 1_000 - 1e-6).length).toBeLessThanOrEqual(
              Math.ceil(allowed),
            )
        },
      ),
      { numRuns: 200 },
    )
  })

  test('one person gets 45 at once, then one every six seconds; others are not held up', () => {
    let now = 0
    const pace = createPace(() => now)
    for (let i = 0; i < 45; i++) {
      expect(pace.reserve(pair)).toBe(0)
      now += 1
    }
    expect(pace.reserve(pair)).toBeGreaterThan(5_000)
    expect(pace.reserve({ ...pair, recipient: 'other' })).toBe(0)
    now += 6_000
    expect(pace.reserve(pair)).toBe(0)
    expect(pace.reserve(pair)).toBeGreaterThan(5_000)
  })

  test('a place that is given back is free again', () => {
    const pace = createPace(() => 0)
    const slow = { ...pair, perSecond: 10, patienceMs: 5_000 }
    expect([pace.reserve(slow), pace.reserve(slow), pace.reserve(slow)]).toEqual([0, 100, 200])
    pace.giveBack(slow)
    expect(pace.reserve(slow)).toBe(200)
  })

  test('what the platform pauses waits, and no longer', () => {
    let now = 0
    const pace = createPace(() => now)
    pace.pauseRecipient('n', 'r', 4_000)
    expect(pace.reserve(pair)).toBe(4_000)
    expect(pace.reserve({ ...pair, recipient: 'other' })).toBe(0)
    pace.pauseNumber('n', 1_000)
    expect(pace.reserve({ ...pair, recipient: 'other' })).toBe(1_000)
    now = 4_000
    expect(pace.reserve(pair)).toBe(0)
  })

  test('a share of the rate may be less than one message a second', () => {
    const pace = createPace(() => 0)
    expect(pace.reserve({ number: 'n', recipient: 'a', perSecond: 0.5, patienceMs: 10_000 })).toBe(0)
    expect(pace.reserve({ number: 'n', recipient: 'b', perSecond: 0.5, patienceMs: 10_000 })).toBe(2_000)
    const waits = Array.from({ length: 21 }, (_, i) =>
      pace.reserve({ number: 'm', recipient: `r${i}`, perSecond: 20, patienceMs: 10_000 }),
    )
    expect(waits.at(-1)).toBeGreaterThan(900)
  })
})
