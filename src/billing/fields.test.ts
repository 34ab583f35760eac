import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { carryMinor, readPercent, readWhole, showPercent } from './fields.ts'

describe('percentages', () => {
  test('are exact: every one with four decimals comes back as it went in', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), ppm => {
        const percent = Number(`${Math.floor(ppm / 10_000)}.${String(ppm % 10_000).padStart(4, '0')}`)
        expect(readPercent(percent, 'rate')).toBe(ppm)
        expect(showPercent(ppm)).toBe(percent)
      }),
    )
  })

  test('that can’t be exact are refused', () => {
    for (const percent of [-1, 100.0001, 101, 0.00001, 1e-7, 1e21, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => readPercent(percent, 'rate')).toThrow(/rate must be a percentage/)
  })
})

describe('whole numbers', () => {
  test('as text or as themselves, within their bounds', () => {
    const bounds = { min: 1, max: 12 }
    for (const value of [1, '1', ' 12 ', 12]) expect(readWhole(value, 'n', bounds)).toBe(Number(value))
    for (const value of [0, 13, '', 'x', '1.5', '-1', '1e1', '0x1', '9'.repeat(30)])
      expect(() => readWhole(value, 'n', bounds)).toThrow('n must be a whole number from 1 to 12')
  })
})

describe('an amount whose currency changes', () => {
  const carry = (minor: bigint, from: string, to: string) => carryMinor(undefined, { minor, from, to, field: 'price' })

  test('keeps its figure', () => {
    expect(carry(1_000n, 'USD', 'EUR')).toBe(1_000n)
    expect(carry(1_000n, 'USD', 'JPY')).toBe(10n)
    expect(carry(100n, 'JPY', 'USD')).toBe(10_000n)
    expect(carry(1_050n, 'USD', 'KWD')).toBe(10_500n)
    expect(carry(0n, 'USD', 'JPY')).toBe(0n)
  })

  test('is refused where the new currency lacks the decimals', () => {
    expect(() => carry(1_050n, 'USD', 'JPY')).toThrow(/price/)
    expect(() => carry(1_234n, 'KWD', 'USD')).toThrow(/price/)
  })
})
