import { expect, test } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

test('a burst is granted, then the rate, and each caller has its own', () => {
  let now = 0
  const limit = createRateLimit({ perSecond: 10, burst: 20 }, () => now)
  const granted = (caller: string, tries: number) => {
    let count = 0
    for (let i = 0; i < tries; i++) {
      try {
        limit.take(caller)
        count++
      } catch {}
    }
    return count
  }
  expect(granted('a', 50)).toBe(20)
  expect(granted('b', 5)).toBe(5)
  now += 1_000
  expect(granted('a', 50)).toBe(10)
  now += 60_000
  expect(granted('a', 50)).toBe(20)
})

test('0 switches it off', () => {
  const limit = createRateLimit({ perSecond: 0, burst: 1 })
  for (let i = 0; i < 1_000; i++) expect(limit.take('a')).toEqual({})
})
