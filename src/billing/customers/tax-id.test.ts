import { describe, expect, test } from 'vitest'
import { countryCode } from '../countries.ts'
import { checkTaxId, taxIdExamples } from './tax-id.ts'

describe('tax ids', () => {
  test('every example that a refusal shows would be taken', () => {
    for (const [country, example] of taxIdExamples) {
      expect(countryCode(country), country).toBe(country)
      expect(() => checkTaxId(example, country), country).not.toThrow()
      expect(() => checkTaxId('!', country), country).toThrow('tax_id')
    }
  })

  test('spaces, dots, dashes and case don’t count', () => {
    for (const taxId of ['CHE-123.456.789 MWST', 'che123456789mwst'])
      expect(() => checkTaxId(taxId, 'CH')).not.toThrow()
  })

  test('of a country we don’t know only need to look like one', () => {
    expect(() => checkTaxId('AB-12', 'PE')).not.toThrow()
    expect(() => checkTaxId('x'.repeat(31), undefined)).toThrow('tax_id must be 2 to 30 letters and digits')
  })
})
