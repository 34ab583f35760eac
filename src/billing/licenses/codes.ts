import { randomInt } from 'node:crypto'
import { conflict, invalidField } from '../../platform/problem.ts'

/** Characters that can't be taken for one another when a code is read aloud or typed off: no I, L, O, 0, 1. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

export const defaultPattern = 'XXXX-XXXX-XXXX'

/** Eight characters of 31 are too many to guess, and enough that codes made by chance don't meet. */
export function checkPattern(pattern: string): string {
  if (pattern.split('X').length - 1 < 8) throw invalidField('pattern', 'must have at least 8 X')
  return pattern
}

/** Every X becomes a random character; the rest stays. */
export const makeCode = (pattern: string): string => pattern.replaceAll('X', () => letters[randomInt(letters.length)]!)

/** Codes as they are given: one a line, or an array. Blank lines are nothing, a code that is given twice is refused. */
export function readCodes(given: string[] | string): string[] {
  const lines = typeof given === 'string' ? given.split(/\r?\n|\r/) : given
  const codes = lines.map(line => line.trim()).filter(line => line !== '')
  const tooLong = codes.findIndex(code => code.length > 255)
  if (tooLong >= 0) throw invalidField(`license_codes[${tooLong}]`, 'must have at most 255 characters')
  const broken = codes.findIndex(code => /\p{Cc}/u.test(code))
  if (broken >= 0) throw invalidField(`license_codes[${broken}]`, 'must be one line of text')
  const seen = new Set<string>()
  const repeated = codes.filter(code => seen.size === seen.add(code).size)
  if (repeated.length > 0) throw codesTaken(repeated, 'is given twice')
  return codes
}

export const codesTaken = (codes: readonly string[], why: string) =>
  conflict(
    'license_code_taken',
    `${codes.length === 1 ? 'A code' : `${codes.length} codes`} can't be added: "${codes[0]}" ${why}. Nothing was changed.`,
    codes.slice(0, 20).map(code => ({ field: 'license_codes', message: `"${code}" ${why}` })),
  )
