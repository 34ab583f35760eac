import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Database, type Db, isUniqueViolation, only, type Tx } from '../../platform/database.ts'
import { type EventSource, emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import { countryCode } from '../countries.ts'
import { toMajor } from '../money.ts'
import { creditByCustomer, customerInUse } from '../subscriptions/usage.ts'
import type { Address, CustomerChanges, CustomerFields, CustomerSchema } from './schema.ts'
import type { CustomerRow } from './store.ts'
import * as store from './store.ts'
import { checkTaxId } from './tax-id.ts'

export async function createCustomer(
  tx: Tx,
  business: Business,
  fields: CustomerFields,
  source: EventSource = 'api',
): Promise<CustomerRow> {
  const now = await nowFor(tx, business)
  const made = withChanges(blankCustomer(now), fields)
  const customer = (await store.insertCustomer(tx, business.id, made)) ?? fail(emailTaken(fields.email_id))
  await tell(tx, business, 'customer_create', customer, { source, at: now })
  return customer
}

export const findCustomer = store.findCustomer
export const findCustomerByEmail = store.findCustomerByEmail
/** Also deleted ones, for what was sold before. */
export const customersByIds = store.customersByIds
export const pageOfCustomers = store.pageOfCustomers

export async function getCustomer(db: Db, businessId: string, id: string): Promise<CustomerRow> {
  return (await store.findCustomer(db, businessId, id)) ?? fail(notFound('Customer'))
}

/** Within a sale: until it is decided, the customer can't be deleted. */
export async function lockCustomerForSale(tx: Tx, businessId: string, id: string): Promise<void> {
  if (!(await store.shareCustomer(tx, businessId, id))) throw notFound('Customer')
}

/** No address has a space in it: one that comes so had a plus sign, and was put into a URL unescaped. */
export async function getCustomerByEmail(db: Db, businessId: string, email: string): Promise<CustomerRow> {
  const meant = email.trim().replaceAll(' ', '+')
  return (await store.findCustomerByEmail(db, businessId, meant)) ?? fail(notFound('Customer'))
}

export function updateCustomer(
  db: Database,
  business: Business,
  id: string,
  changes: CustomerChanges,
): Promise<CustomerRow> {
  return db
    .begin(async tx => {
      const now = await nowFor(tx, business)
      const before = (await store.lockCustomer(tx, business.id, id)) ?? fail(notFound('Customer'))
      const after = withChanges({ ...before, updatedAt: now }, changes)
      const customer = await store.updateCustomer(tx, business.id, after)
      await tell(tx, business, 'customer_update', customer, { source: 'api', at: now })
      return customer
    })
    .catch(error => {
      throw isUniqueViolation(error, 'billing_customer_email') ? emailTaken(changes.email_id ?? '') : error
    })
}

/** The row stays for invoices; its email address is free for a new customer. */
export function deleteCustomer(db: Database, business: Business, id: string): Promise<CustomerRow> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    const customer = (await store.lockCustomer(tx, business.id, id)) ?? fail(notFound('Customer'))
    if (await customerInUse(tx, business.id, id))
      throw unprocessable('customer_in_use', 'The customer has live subscriptions. Cancel them first.')
    await store.hideCustomer(tx, business.id, id, now)
    await tell(tx, business, 'customer_delete', customer, { source: 'api', at: now })
    return customer
  })
}

const emailTaken = (email: string) =>
  conflict('customer_email_taken', `A customer with the email address ${email} exists. Use or change that one.`, [
    { field: 'email_id', message: 'is taken' },
  ])

const blankCustomer = (now: Date): CustomerRow => ({
  id: newId(),
  firstName: '',
  lastName: '',
  emailId: '',
  companyName: '',
  phone: '',
  website: '',
  billingAddress: {},
  shippingAddress: {},
  taxExempt: false,
  taxId: '',
  createdAt: now,
  updatedAt: now,
})

function withChanges(customer: CustomerRow, changes: CustomerChanges): CustomerRow {
  const after = {
    ...customer,
    firstName: changes.first_name ?? customer.firstName,
    lastName: changes.last_name ?? customer.lastName,
    emailId: changes.email_id ?? customer.emailId,
    companyName: changes.company_name ?? customer.companyName,
    phone: changes.phone ?? customer.phone,
    website: changes.website ?? customer.website,
    billingAddress: readAddress(changes.billing_address, customer.billingAddress, 'billing_address'),
    shippingAddress: readAddress(changes.shipping_address, customer.shippingAddress, 'shipping_address'),
    taxExempt: changes.tax_exempt ?? customer.taxExempt,
    taxId: changes.tax_id === undefined ? customer.taxId : (changes.tax_id ?? ''),
  }
  if (changes.tax_id !== undefined || changes.billing_address !== undefined)
    checkTaxId(after.taxId, countryCode(after.billingAddress.country ?? ''))
  return after
}

/** Spec silent: an address is replaced as a whole, so that a new city never meets an old street; null empties it. */
function readAddress(given: Address | null | undefined, before: Address, field: string): Address {
  if (given === undefined) return before
  const { street1, street2, city, state, state_code, zip_code, country } = given ?? {}
  // Spec silent: a country that we can't recognise would silently choose no tax.
  if (country?.trim() && countryCode(country) === undefined)
    throw invalidField(`${field}.country`, 'must be a country, as a code such as US or by its English name')
  const known = { street1, street2, city, state, state_code, zip_code, country }
  return Object.fromEntries(Object.entries(known).filter(([, text]) => text !== undefined))
}

/** `credit` is what the customer's open credits come to in the business's currency, null when there are none. */
export const showCustomer = (
  row: CustomerRow,
  credit: { minor: bigint; currency: string } | null,
): Static<typeof CustomerSchema> => ({
  id: row.id,
  first_name: row.firstName,
  last_name: row.lastName,
  email_id: row.emailId,
  company_name: row.companyName,
  phone: row.phone,
  website: row.website,
  credit: credit && toMajor(credit.minor, credit.currency),
  billing_address: {
    street1: '',
    street2: '',
    city: '',
    state: '',
    state_code: '',
    zip_code: '',
    country: '',
    ...row.billingAddress,
  },
  shipping_address: row.shippingAddress,
  tax_exempt: row.taxExempt,
  tax_id: row.taxId,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** Customers as answers show them, with what each has as credit now. */
export async function showCustomers(
  db: Db,
  business: Pick<Business, 'id' | 'currency'>,
  rows: readonly CustomerRow[],
): Promise<Static<typeof CustomerSchema>[]> {
  const { id, currency } = business
  const credits = await creditByCustomer(db, id, { customerIds: rows.map(row => row.id), currency })
  return rows.map(row => {
    const minor = credits.get(row.id)
    return showCustomer(row, minor === undefined ? null : { minor, currency })
  })
}

async function tell(
  tx: Tx,
  business: Business,
  type: string,
  customer: CustomerRow,
  { source, at }: { source: EventSource; at: Date },
): Promise<void> {
  const data = only(await showCustomers(tx, business, [customer]))
  await emit(tx, { businessId: business.id, type, source, objectId: customer.id, data, at })
}
