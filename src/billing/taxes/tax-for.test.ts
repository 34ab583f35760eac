import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TaxRow } from './store.ts'
import { chooseTaxes } from './tax-for.ts'

const countries = ['US', 'CA', 'DE']
const states = ['', 'California', 'CA', 'Quebec']
const at = new Date(0)
const tax = fc
  .record({ country: fc.constantFrom(...countries), state: fc.constantFrom(...states), ratePpm: fc.nat(1_000_000) })
  .map((fields, i = 0): TaxRow => ({ id: String(i), name: 'Tax', createdAt: at, updatedAt: at, ...fields }))
const place = fc.record({
  country: fc.constantFrom(...countries, 'germany', '', 'nowhere'),
  state: fc.constantFrom(...states, 'QUEBEC '),
  stateCode: fc.constantFrom(...states),
})

test('all chosen taxes are of the country, and either all of the state or all of the whole country', () => {
  fc.assert(
    fc.property(fc.array(tax), place, (taxes, where) => {
      const chosen = chooseTaxes(taxes, where)
      const code = where.country === 'germany' ? 'DE' : where.country
      const ofCountry = taxes.filter(one => one.country === code)
      const named = [where.state, where.stateCode].map(state => state.trim().toLowerCase()).filter(state => state)
      const ofState = ofCountry.filter(one => named.includes(one.state.toLowerCase()))
      expect(chosen).toEqual(ofState.length > 0 ? ofState : ofCountry.filter(one => one.state === ''))
    }),
  )
})
