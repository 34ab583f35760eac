import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Database, isUniqueViolation } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, invalidField, notFound } from '../../platform/problem.ts'
import { countryCode } from '../countries.ts'
import { readPercent, showPercent } from '../fields.ts'
import type { TaxChanges, TaxFields, TaxSchema } from './schema.ts'
import type { TaxRow } from './store.ts'
import * as store from './store.ts'

export function createTax(db: Database, business: Business, fields: Static<typeof TaxFields>): Promise<TaxRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const blank = { id: newId(), name: '', country: '', state: '', ratePpm: 0, createdAt: now, updatedAt: now }
    const tax = (await store.insertTax(tx, business.id, withChanges(blank, fields))) ?? fail(nameTaken(fields.name))
    await emit(tx, event(business.id, 'tax_create', tax, now))
    return tax
  })
}

export const pageOfTaxes = store.pageOfTaxes

/** Invoices that were issued keep the rate they were issued with. */
export function updateTax(
  db: Database,
  business: Business,
  id: string,
  changes: Static<typeof TaxChanges>,
): Promise<TaxRow> {
  return db
    .begin(async tx => {
      const now = await nowFor(tx, business)
      const before = (await store.lockTax(tx, business.id, id)) ?? fail(notFound('Tax'))
      const tax = await store.updateTax(tx, business.id, withChanges({ ...before, updatedAt: now }, changes))
      await emit(tx, event(business.id, 'tax_update', tax, now))
      return tax
    })
    .catch(error => {
      throw isUniqueViolation(error, 'billing_tax_place') ? nameTaken(changes.name ?? '') : error
    })
}

export function deleteTax(db: Database, business: Business, id: string): Promise<TaxRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const tax = (await store.lockTax(tx, business.id, id)) ?? fail(notFound('Tax'))
    await store.hideTax(tx, business.id, id, now)
    await emit(tx, event(business.id, 'tax_delete', tax, now))
    return tax
  })
}

const nameTaken = (name: string) =>
  conflict('tax_taken', `This place has a tax named "${name}". Change that one, or choose another name.`, [
    { field: 'name', message: 'is taken' },
  ])

const withChanges = (tax: TaxRow, changes: Static<typeof TaxChanges>): TaxRow => ({
  ...tax,
  name: changes.name ?? tax.name,
  country: changes.country === undefined ? tax.country : readCountry(changes.country),
  state: changes.state === undefined ? tax.state : (changes.state?.trim() ?? ''),
  ratePpm: changes.rate === undefined ? tax.ratePpm : readPercent(changes.rate, 'rate'),
})

const readCountry = (country: string) =>
  countryCode(country) ??
  fail(invalidField('country', 'must be a country, as a code such as US or by its English name'))

export const showTax = (row: TaxRow): Static<typeof TaxSchema> => ({
  id: row.id,
  name: row.name,
  country: row.country,
  state: row.state,
  rate: showPercent(row.ratePpm),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

const event = (businessId: string, type: string, tax: TaxRow, at: Date) =>
  ({ businessId, type, source: 'api', objectId: tax.id, data: showTax(tax), at }) as const
