import { invalidField, unprocessable } from '../platform/problem.ts'
import { exponentOf } from './currencies.ts'

/**
 * Money is a whole number of minor units (cents, fils, yen) in a bigint, beside its currency. On the wire it is a
 * number in major units; it is read from text and written from the bigint, so no floating point comes in between.
 */

/** Largest amount on the wire; all sums of it stay exact as a JSON number and far inside an int8 column. */
const maxMajorDigits = 10
const maxTotalMinor = 1_000_000_000_000_000n

/** Integer half-up division a × n / d, for a, n >= 0 and d > 0: the only rounding there is. */
export const rnd = (a: bigint, n: bigint, d: bigint): bigint => (2n * a * n + d) / (2n * d)

/** Reads an amount as it came: a number, or a number in text. */
export function toMinor(amountOnWire: number | string, currency: string, field: string): bigint {
  const exponent = exponentOf(currency)
  const text = typeof amountOnWire === 'number' ? plainText(amountOnWire) : amountOnWire.trim()
  const [, sign, whole, decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === undefined) throw invalidField(field, 'must be an amount such as 12 or 12.50')
  if (sign) throw invalidField(field, 'must not be negative')
  if (whole.replace(/^0+/, '').length > maxMajorDigits)
    throw invalidField(field, `must be less than 1${'0'.repeat(maxMajorDigits)}`)
  if (decimals.length > exponent)
    throw invalidField(
      field,
      exponent === 0
        ? `must be a whole number of ${currency}`
        : `must have at most ${exponent} decimals in ${currency}`,
    )
  return BigInt(whole + decimals.padEnd(exponent, '0'))
}

/** JavaScript writes very large and very small numbers with an exponent; both are refused later, in words that fit. */
function plainText(amount: number): string {
  const text = String(amount)
  if (!text.includes('e')) return text
  return Math.abs(amount) < 1 ? '0.0000001' : '9'.repeat(22)
}

/** With exactly the currency's decimals: "12.50". */
export function majorText(minor: bigint, currency: string): string {
  const exponent = exponentOf(currency)
  const sign = minor < 0n ? '-' : ''
  const digits = String(minor < 0n ? -minor : minor).padStart(exponent + 1, '0')
  return exponent === 0 ? sign + digits : `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

/** For an answer. The number nearest to the text prints as that text again, so nothing is lost. */
export const toMajor = (minor: bigint, currency: string): number => Number(majorText(minor, currency))

/** Splits a total in proportion to the weights by largest remainder: the parts always add up to the total. */
export function share(total: bigint, weights: readonly bigint[]): bigint[] {
  const sum = weights.reduce((a, b) => a + b, 0n)
  if (sum === 0n) return weights.map((_, i) => (i === 0 ? total : 0n))
  const parts = weights.map(weight => (total * weight) / sum)
  let rest = total - parts.reduce((a, b) => a + b, 0n)
  const byRemainder = weights
    .map((weight, i) => ({ i, remainder: (total * weight) % sum }))
    .sort((a, b) => (a.remainder === b.remainder ? a.i - b.i : a.remainder < b.remainder ? 1 : -1))
  for (const { i } of byRemainder) {
    if (rest === 0n) break
    parts[i]! += 1n
    rest -= 1n
  }
  return parts
}

/** Price × quantity × add-ons may outgrow what a single amount may be. */
export function checkTotal(minor: bigint): bigint {
  if (minor > maxTotalMinor)
    throw unprocessable('amount_too_large', 'The total is too large. Lower the price or the quantity.')
  return minor
}

export const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => a + b, 0n)
export const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
export const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)
