import { describe, expect, test } from 'vitest'
import { together } from './batch.ts'

const tick = () => new Promise(resolve => setImmediate(resolve))

describe('calls at the same time', () => {
  test('go together, each gets its own result, and keys never mix', async () => {
    const batches: string[] = []
    const call = together<number, number>(
      async (key, items) => {
        batches.push(`${key}:${items.join()}`)
        await tick()
        return items.map(item => item * 2)
      },
      { maxItems: 3, maxParallel: 1 },
    )
    const results = await Promise.all([1, 2, 3, 4].map(n => call('a', n)).concat(call('b', 9)))
    expect(results).toEqual([2, 4, 6, 8, 18])
    expect(batches.toSorted()).toEqual(['a:1,2,3', 'a:4', 'b:9'])
    expect(await call('a', 5)).toBe(10)
  })

  test('one that fails does not fail the others', async () => {
    const call = together<number, number>(
      async (_, items) => {
        if (items.includes(2)) throw new Error('two')
        return items
      },
      { maxItems: 10, maxParallel: 2 },
    )
    const results = await Promise.allSettled([1, 2, 3].map(n => call('a', n)))
    expect(results.map(one => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })
})
