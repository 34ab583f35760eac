import { getCountries, getCountryCallingCode } from 'libphonenumber-js/min'
import { invalidField } from '../platform/problem.ts'

/** Dialing codes that belong to no country: freephone, shared cost, satellites, international networks. */
const nonGeographic = ['800', '808', '870', '878', '881', '882', '883', '888', '979']
const callingCodes = new Set([
  ...getCountries().map(country => String(getCountryCallingCode(country))),
  ...nonGeographic,
])

/** Digits with dialing code, or undefined where it cannot be a number: 7 to 15 digits after the usual marks are taken out. */
export function findNumber(value: unknown): string | undefined {
  if (typeof value === 'number' ? value < 0 : typeof value !== 'string') return undefined
  const digits = String(value).replaceAll(/[\s+()[\]-]/g, '')
  return /^\d{7,15}$/.test(digits) ? digits : undefined
}

export const numberRule = 'must be a phone number with dialing code, 7 to 15 digits'

export function readNumber(field: string, value: unknown): string {
  const digits = findNumber(value)
  if (digits === undefined) throw invalidField(field, numberRule)
  return digits
}

/** Dialing codes are free of prefixes of one another, so the first that fits is the one. */
export function dialingCode(digits: string): string {
  for (const length of [1, 2, 3]) if (callingCodes.has(digits.slice(0, length))) return digits.slice(0, length)
  return ''
}
