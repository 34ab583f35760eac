import { Type } from 'typebox'
import { invalidField } from '../platform/problem.ts'
import { majorText, toMinor } from './money.ts'

/** Shapes that several billing records share on the wire, and how they are read. */

/** A title or a code: something a person can see. */
export const Label = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '\\S',
  patternMessage: 'must not be blank',
})
export const ShortText = Type.String({ maxLength: 255 })
export const LongText = Type.String({ maxLength: 20_000 })

/** Money in a request, in major units; how many decimals it may have depends on the currency and is checked when read. */
export const Amount = Type.Number({ minimum: 0, maximum: 9_999_999_999.999, description: 'in major units' })
/** Money in an answer. */
export const AmountShown = Type.Number({ description: 'in major units' })

/**
 * The amount that is given, or else the one there is. An amount keeps its figure when its currency changes, so it must
 * be possible in the new one: 10.50 USD can't become yen.
 */
export function carryMinor(
  given: number | undefined,
  { minor, from, to, field }: { minor: bigint; from: string; to: string; field: string },
): bigint {
  if (given !== undefined) return toMinor(given, to, field)
  if (from === to) return minor
  const text = majorText(minor, from)
  return toMinor(text.includes('.') ? text.replace(/\.?0+$/, '') : text, to, field)
}

/** A switch: the specification writes it as text in requests, and people send the JSON value. */
export const Flag = Type.Unsafe<boolean | 'true' | 'false'>({
  enum: [true, false, 'true', 'false'],
  description: 'true or false, as text or as itself',
})
export const readFlag = (flag: boolean | 'true' | 'false') => String(flag) === 'true'

/** A whole number that answers show as text, so both forms come back. */
export const WholeOrText = Type.Unsafe<number | string>({
  type: ['integer', 'string'],
  description: 'a whole number, as text or as itself',
})
export function readWhole(value: number | string, field: string, { min, max }: { min: number; max: number }): number {
  const text = String(value).trim()
  const whole = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(whole >= min && whole <= max)) throw invalidField(field, `must be a whole number from ${min} to ${max}`)
  return whole
}

const ppmPerPercent = 10_000n

/** Reads a percentage as parts per million: at most 4 decimals, so that it stays exact. */
export function readPercent(percent: number, field: string): number {
  const [, whole = '', decimals = ''] = /^(\d{1,3})(?:\.(\d{1,4}))?$/.exec(String(percent)) ?? []
  const ppm = BigInt(whole + decimals.padEnd(4, '0'))
  if (whole === '' || ppm > 100n * ppmPerPercent)
    throw invalidField(field, 'must be a percentage from 0 to 100 with at most 4 decimals')
  return Number(ppm)
}

export const showPercent = (ppm: number): number => ppm / Number(ppmPerPercent)
