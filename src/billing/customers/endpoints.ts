import { Type } from 'typebox'
import { only } from '../../platform/database.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import * as customers from './customers.ts'
import { CustomerChanges, CustomerFields, CustomerPath, CustomerSchema } from './schema.ts'

export const create = endpoint({
  summary: 'Create a customer',
  body: CustomerFields,
  answer: envelope(CustomerSchema),
  run: async ({ db, business, body }) => {
    const customer = await db.begin(tx => customers.createCustomer(tx, business, body))
    return ok('Customer created', only(await customers.showCustomers(db, business, [customer])))
  },
})

export const getByEmail = endpoint({
  summary: 'The customer with an email address',
  query: Type.Object({ email: Type.String({ minLength: 1, maxLength: 254 }) }),
  answer: envelope(CustomerSchema),
  run: async ({ db, business, query }) => {
    const customer = await customers.getCustomerByEmail(db, business.id, query.email)
    return ok('Customer', only(await customers.showCustomers(db, business, [customer])))
  },
})

export const get = endpoint({
  summary: 'One customer',
  params: CustomerPath,
  answer: envelope(CustomerSchema),
  run: async ({ db, business, params }) => {
    const customer = await customers.getCustomer(db, business.id, params.customer_id)
    return ok('Customer', only(await customers.showCustomers(db, business, [customer])))
  },
})

export const list = endpoint({
  summary: 'All customers, newest first',
  query: Type.Object(PageQuery),
  answer: pageEnvelope(CustomerSchema),
  run: async ({ db, business, query }) => {
    const page = pageRequest(query)
    const { rows, total } = await customers.pageOfCustomers(db, business.id, page)
    return okPage('Customers', await customers.showCustomers(db, business, rows), page, total)
  },
})

export const update = endpoint({
  summary: 'Change a customer',
  description: 'Fields that are left out stay; an address is replaced as a whole.',
  params: CustomerPath,
  body: CustomerChanges,
  answer: envelope(CustomerSchema),
  run: async ({ db, business, params, body }) => {
    const customer = await customers.updateCustomer(db, business, params.customer_id, body)
    return ok('Customer updated', only(await customers.showCustomers(db, business, [customer])))
  },
})

export const remove = endpoint({
  summary: 'Delete a customer',
  description: 'Refused while the customer has live subscriptions. Answers the deleted customer.',
  params: CustomerPath,
  answer: envelope(CustomerSchema),
  run: async ({ db, business, params }) => {
    const customer = await customers.deleteCustomer(db, business, params.customer_id)
    return ok('Customer deleted', only(await customers.showCustomers(db, business, [customer])))
  },
})
