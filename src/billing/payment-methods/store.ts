import { type Db, first } from '../../platform/database.ts'
import { among, type Id } from '../store-among.ts'

export interface MethodRow {
  id: string
  customerId: string
  gateway: 'test' | 'stripe'
  gatewayMethod: string
  gatewayCustomer: string
  brand: string
  last4: string
  expMonth: number
  expYear: number
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, customer_id as "customerId", gateway, gateway_method as "gatewayMethod", gateway_customer as "gatewayCustomer",
  brand, last4, exp_month as "expMonth", exp_year as "expYear", created_at as "createdAt", updated_at as "updatedAt"`

export const insertMethod = (db: Db, businessId: string, row: MethodRow) => db`
  insert into billing_payment_method (business_id, id, customer_id, gateway, gateway_method, gateway_customer, brand, last4,
    exp_month, exp_year, created_at, updated_at)
  values (${businessId}, ${row.id}, ${row.customerId}, ${row.gateway}, ${row.gatewayMethod}, ${row.gatewayCustomer},
    ${row.brand}, ${row.last4}, ${row.expMonth}, ${row.expYear}, ${row.createdAt}, ${row.updatedAt})`

export const findMethod = (db: Db, businessId: string, id: Id) =>
  db<MethodRow[]>`
  select ${columns(db)} from billing_payment_method
  where business_id = ${businessId} and id = ${id} and deleted_at is null`.then(first)

/** Also deleted ones: a payment that is under way keeps its card. */
export const methodsByIds = (db: Db, businessId: string, ids: readonly string[]) => db<MethodRow[]>`
  select ${columns(db)} from billing_payment_method where business_id = ${businessId} and id ${among(db, ids)}`

export const currentMethods = (db: Db, businessId: string, ids: readonly string[]) => db<MethodRow[]>`
  select ${columns(db)} from billing_payment_method
  where business_id = ${businessId} and id ${among(db, ids)} and deleted_at is null`

/** Newest first. */
export const methodsOf = (db: Db, businessId: string, customerId: string) => db<MethodRow[]>`
  select ${columns(db)} from billing_payment_method
  where business_id = ${businessId} and customer_id = ${customerId} and deleted_at is null order by id desc limit 100`

export const hideMethod = (db: Db, businessId: string, id: string, at: Date) =>
  db<MethodRow[]>`
  update billing_payment_method set deleted_at = ${at}
  where business_id = ${businessId} and id = ${id} and deleted_at is null returning ${columns(db)}`.then(first)

/** Subscriptions that were paid with it go on with another card of the customer, or without one until one is given. */
export const replaceMethod = (db: Db, businessId: string, options: { from: MethodRow; to: string | null }) => db`
  update billing_subscription set payment_method_id = ${options.to}
  where business_id = ${businessId} and customer_id = ${options.from.customerId} and payment_method_id = ${options.from.id}`

/** Subscriptions of the customer that wait for a card of this gateway get it. */
export const attachMethod = (db: Db, businessId: string, row: MethodRow) => db`
  update billing_subscription set payment_method_id = ${row.id}
  where business_id = ${businessId} and customer_id = ${row.customerId} and payment_method_id is null
    and gateway = ${row.gateway} and status not in ('canceled', 'expired')`
