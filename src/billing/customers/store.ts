import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { among, type Id } from '../store-among.ts'
import { countRows } from '../store-count.ts'
import type { Address } from './schema.ts'

export interface CustomerRow {
  id: string
  firstName: string
  lastName: string
  emailId: string
  companyName: string
  phone: string
  website: string
  billingAddress: Address
  shippingAddress: Address
  taxExempt: boolean
  taxId: string
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, first_name as "firstName", last_name as "lastName", email_id as "emailId", company_name as "companyName", phone,
  website, billing_address as "billingAddress", shipping_address as "shippingAddress", tax_exempt as "taxExempt",
  tax_id as "taxId", created_at as "createdAt", updated_at as "updatedAt"`

const values = (tx: Tx, customer: CustomerRow) => ({
  first_name: customer.firstName,
  last_name: customer.lastName,
  email_id: customer.emailId,
  company_name: customer.companyName,
  phone: customer.phone,
  website: customer.website,
  billing_address: tx.json(customer.billingAddress),
  shipping_address: tx.json(customer.shippingAddress),
  tax_exempt: customer.taxExempt,
  tax_id: customer.taxId,
  updated_at: customer.updatedAt,
})

/** Undefined when the address is taken in the business. */
export const insertCustomer = (tx: Tx, businessId: string, customer: CustomerRow) => {
  const row = { business_id: businessId, id: customer.id, created_at: customer.createdAt, ...values(tx, customer) }
  return tx<CustomerRow[]>`
    insert into billing_customer ${tx(row)}
    on conflict (business_id, lower(email_id)) where deleted_at is null do nothing
    returning ${columns(tx)}`.then(first)
}

export const findCustomer = (db: Db, businessId: string, id: string) =>
  db<CustomerRow[]>`
  select ${columns(db)} from billing_customer
  where business_id = ${businessId} and id = ${id} and deleted_at is null`.then(first)

/** Also deleted ones, for what was sold before. */
export const customersByIds = (db: Db, businessId: string, ids: readonly string[]) => db<CustomerRow[]>`
  select ${columns(db)} from billing_customer where business_id = ${businessId} and id ${among(db, ids)}`

/** Even if it is deleted. */
export const findAnyCustomer = (db: Db, businessId: string, id: Id) =>
  db<CustomerRow[]>`
  select ${columns(db)} from billing_customer where business_id = ${businessId} and id = ${id}`.then(first)

export const findCustomerByEmail = (db: Db, businessId: string, email: string) =>
  db<CustomerRow[]>`
  select ${columns(db)} from billing_customer
  where business_id = ${businessId} and lower(email_id) = lower(${email}) and deleted_at is null`.then(first)

export const lockCustomer = (tx: Tx, businessId: string, id: string) =>
  tx<CustomerRow[]>`
  select ${columns(tx)} from billing_customer
  where business_id = ${businessId} and id = ${id} and deleted_at is null for update`.then(first)

export const shareCustomer = (tx: Tx, businessId: string, id: string) =>
  tx<{ id: string }[]>`
  select id from billing_customer
  where business_id = ${businessId} and id = ${id} and deleted_at is null for share`.then(first)

export async function pageOfCustomers(db: Db, businessId: string, page: PageRequest): Promise<Page<CustomerRow>> {
  const [rows, total] = await Promise.all([
    db<CustomerRow[]>`
      select ${columns(db)} from billing_customer where business_id = ${businessId} and deleted_at is null
      order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_customer where business_id = ${businessId} and deleted_at is null`),
  ])
  return { rows, total }
}

export const updateCustomer = (tx: Tx, businessId: string, customer: CustomerRow) =>
  tx<CustomerRow[]>`
  update billing_customer set ${tx(values(tx, customer))} where business_id = ${businessId} and id = ${customer.id}
  returning ${columns(tx)}`.then(only)

export const hideCustomer = (tx: Tx, businessId: string, id: string, now: Date) => tx`
  update billing_customer set deleted_at = ${now} where business_id = ${businessId} and id = ${id}`
