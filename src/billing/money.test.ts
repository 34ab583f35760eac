import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { currencyCodes, currencySymbol, exponentOf } from './currencies.ts'
import { majorText, rnd, share, sum, toMajor, toMinor } from './money.ts'

const refusal = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('was accepted')
}

describe('amounts on the wire', () => {
  test('are read by the decimals of their currency', () => {
    expect(toMinor(12.5, 'USD', 'price')).toBe(1250n)
    expect(toMinor('12.50', 'USD', 'price')).toBe(1250n)
    expect(toMinor(0.1, 'USD', 'price')).toBe(10n)
    expect(toMinor(1234, 'JPY', 'price')).toBe(1234n)
    expect(toMinor(1.234, 'KWD', 'price')).toBe(1234n)
    expect(toMinor('0', 'USD', 'price')).toBe(0n)
    expect(toMinor(9_999_999_999.99, 'USD', 'price')).toBe(999_999_999_999n)
  })

  test('are refused when they are no amount', () => {
    expect(refusal(() => toMinor(1.234, 'USD', 'price'))).toContain('at most 2 decimals')
    expect(refusal(() => toMinor(0.5, 'JPY', 'price'))).toContain('whole number of JPY')
    expect(refusal(() => toMinor(1.2345, 'KWD', 'price'))).toContain('at most 3 decimals')
    expect(refusal(() => toMinor(-1, 'USD', 'price'))).toContain('negative')
    expect(refusal(() => toMinor(1e10, 'USD', 'price'))).toContain('less than')
    expect(refusal(() => toMinor(1e300, 'USD', 'price'))).toContain('less than')
    expect(refusal(() => toMinor(1e-9, 'USD', 'price'))).toContain('decimals')
    for (const text of ['', 'abc', '1,5', '1.', '.5', '0x10', '1e3', 'NaN', 'Infinity', '١'])
      expect(refusal(() => toMinor(text, 'USD', 'price'))).toContain('must be an amount')
    expect(refusal(() => toMinor(Number.NaN, 'USD', 'price'))).toContain('must be an amount')
    expect(refusal(() => toMinor(1, 'XXX', 'price'))).toContain('ISO 4217')
  })

  test('come back as they were, in every currency', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 9_999_999_999_999n), fc.constantFrom(...currencyCodes), (minor, currency) => {
        const amount = minor % 10n ** BigInt(10 + exponentOf(currency))
        expect(toMinor(toMajor(amount, currency), currency, 'x')).toBe(amount)
        expect(toMinor(majorText(amount, currency), currency, 'x')).toBe(amount)
      }),
    )
  })

  test('are written with the decimals of the currency', () => {
    expect(majorText(5n, 'USD')).toBe('0.05')
    expect(majorText(-1205n, 'USD')).toBe('-12.05')
    expect(majorText(5n, 'JPY')).toBe('5')
    expect(majorText(5n, 'BHD')).toBe('0.005')
    expect(currencySymbol('USD')).toBe('$')
    expect(currencySymbol('CHF')).toBe('CHF')
  })
})

test('ISO decimals differ from what Intl says', () => {
  for (const code of ['AFN', 'ALL', 'COP', 'HUF', 'IDR', 'LAK', 'PKR', 'YER']) expect(exponentOf(code)).toBe(2)
  expect(exponentOf('IQD')).toBe(3)
})

describe('rounding and sharing', () => {
  test('rounds half up, within half a unit of the exact fraction', () => {
    expect(rnd(1n, 1n, 2n)).toBe(1n)
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 15n), fc.bigInt(0n, 10n ** 6n), fc.bigInt(1n, 10n ** 6n), (a, n, d) => {
        const twiceTheError = 2n * (rnd(a, n, d) * d - a * n)
        expect(twiceTheError > -d && twiceTheError <= d).toBe(true)
      }),
    )
  })

  test('shares add up to the total and stay within one unit of their due', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 10n ** 12n),
        fc.array(fc.bigInt(0n, 10n ** 9n), { minLength: 1, maxLength: 20 }),
        (total, weights) => {
          const parts = share(total, weights)
          const all = sum(weights)
          expect(sum(parts)).toBe(total)
          if (all > 0n)
            for (const [i, part] of parts.entries()) {
              const error = part * all - total * weights[i]!
              expect(error > -all && error < all).toBe(true)
            }
        },
      ),
    )
  })
})
