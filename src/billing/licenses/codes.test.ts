import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkPattern, makeCode, readCodes } from './codes.ts'

describe('codes that are made', () => {
  test('follow their pattern, with no letter that reads like another', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[XA-Z0-9-]{8,30}$/), pattern => {
        const code = makeCode(pattern)
        expect(code).toHaveLength(pattern.length)
        for (const [i, letter] of [...pattern].entries())
          if (letter === 'X') expect(code[i]).toMatch(/[A-HJKMNP-Z2-9]/)
          else expect(code[i]).toBe(letter)
      }),
    )
  })

  test('use every letter about as often', () => {
    const counts = new Map<string, number>()
    for (const letter of makeCode('X'.repeat(31_000))) counts.set(letter, (counts.get(letter) ?? 0) + 1)
    expect(counts.size).toBe(31)
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(250)
  })

  test('need enough chance', () => {
    expect(checkPattern('PRO-XXXX-XXXX')).toBe('PRO-XXXX-XXXX')
    expect(() => checkPattern('XXXX-XXX')).toThrow('pattern must have at least 8 X')
  })
})

describe('codes that are given', () => {
  test('one a line or as an array are the same', () => {
    const code = fc.stringMatching(/^[A-Za-z0-9-]{1,20}$/)
    fc.assert(
      fc.property(fc.uniqueArray(code), fc.constantFrom('\n', '\r\n', '\r', '\n\n', ' \n '), (codes, line) => {
        expect(readCodes(codes)).toEqual(codes)
        expect(readCodes(codes.join(line))).toEqual(codes)
      }),
    )
  })

  test('a repeated one is named', () => {
    expect(() => readCodes(['A', 'B', ' A '])).toThrow('"A" is given twice')
  })
})
