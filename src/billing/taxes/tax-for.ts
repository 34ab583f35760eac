import type { Db } from '../../platform/database.ts'
import { countryCode } from '../countries.ts'
import type { TaxRow } from './store.ts'
import * as store from './store.ts'

/** Where a customer is taxed: as their billing address says it. */
export interface TaxPlace {
  country?: string | undefined
  /** the name */
  state?: string | undefined
  stateCode?: string | undefined
}

/** The taxes of a place; none for who is exempt. */
export async function taxFor(db: Db, businessId: string, place: TaxPlace & { taxExempt: boolean }): Promise<TaxRow[]> {
  const country = countryCode(place.country ?? '')
  if (place.taxExempt || country === undefined) return []
  return chooseTaxes(await store.taxesOfCountry(db, businessId, country), place)
}

/** All taxes of a business, to choose from for many customers at once. */
export const allTaxes = store.allTaxes

/**
 * Those of the country and state, by its name or code; only where there are none, those of the whole country.
 * Spec silent: all taxes of the place that is chosen apply together.
 */
export function chooseTaxes(taxes: readonly TaxRow[], place: TaxPlace): TaxRow[] {
  const country = countryCode(place.country ?? '')
  if (country === undefined) return []
  const states = [place.state, place.stateCode].map(state => state?.trim().toLowerCase()).filter(Boolean)
  const there = taxes.filter(tax => tax.country === country)
  const ofState = there.filter(tax => tax.state !== '' && states.includes(tax.state.toLowerCase()))
  return ofState.length > 0 ? ofState : there.filter(tax => tax.state === '')
}
