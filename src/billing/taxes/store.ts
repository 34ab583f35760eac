import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { countRows } from '../store-count.ts'

export interface TaxRow {
  id: string
  name: string
  /** ISO code of two letters */
  country: string
  /** empty: the whole country */
  state: string
  /** parts per million: 19 % is 190000 */
  ratePpm: number
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, name, country, state, rate_ppm as "ratePpm", created_at as "createdAt", updated_at as "updatedAt"`

/** Undefined when the place has a tax of that name. */
export const insertTax = (tx: Tx, businessId: string, tax: TaxRow) =>
  tx<TaxRow[]>`
  insert into billing_tax (business_id, id, name, country, state, rate_ppm, created_at, updated_at)
  values (${businessId}, ${tax.id}, ${tax.name}, ${tax.country}, ${tax.state}, ${tax.ratePpm}, ${tax.createdAt},
    ${tax.updatedAt})
  on conflict (business_id, country, lower(state), lower(name)) where deleted_at is null do nothing
  returning ${columns(tx)}`.then(first)

export const lockTax = (tx: Tx, businessId: string, id: string) =>
  tx<TaxRow[]>`
  select ${columns(tx)} from billing_tax
  where business_id = ${businessId} and id = ${id} and deleted_at is null for update`.then(first)

export const taxesOfCountry = (db: Db, businessId: string, country: string) => db<TaxRow[]>`
  select ${columns(db)} from billing_tax
  where business_id = ${businessId} and country = ${country} and deleted_at is null order by id`

export const allTaxes = (db: Db, businessId: string) => db<TaxRow[]>`
  select ${columns(db)} from billing_tax where business_id = ${businessId} and deleted_at is null order by id`

export async function pageOfTaxes(db: Db, businessId: string, page: PageRequest): Promise<Page<TaxRow>> {
  const [rows, total] = await Promise.all([
    db<TaxRow[]>`
      select ${columns(db)} from billing_tax where business_id = ${businessId} and deleted_at is null
      order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_tax where business_id = ${businessId} and deleted_at is null`),
  ])
  return { rows, total }
}

export const updateTax = (tx: Tx, businessId: string, tax: TaxRow) =>
  tx<TaxRow[]>`
  update billing_tax
  set name = ${tax.name}, country = ${tax.country}, state = ${tax.state}, rate_ppm = ${tax.ratePpm},
    updated_at = ${tax.updatedAt}
  where business_id = ${businessId} and id = ${tax.id}
  returning ${columns(tx)}`.then(only)

export const hideTax = (tx: Tx, businessId: string, id: string, now: Date) => tx`
  update billing_tax set deleted_at = ${now} where business_id = ${businessId} and id = ${id}`
