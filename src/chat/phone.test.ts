import { expect, test } from 'vitest'
import { dialingCode } from './phone.ts'

test.each([
  ['14155550100', '1'],
  ['447911123456', '44'],
  ['77012345678', '7'],
  ['35312345678', '353'],
  ['393331234567', '39'],
  ['870773111632', '870'],
  ['881612345678', '881'],
  ['88213300655', '882'],
  ['80012345678', '800'],
  ['210123456', ''],
])('%s has the dialing code "%s"', (digits, code) => {
  expect(dialingCode(digits)).toBe(code)
})
