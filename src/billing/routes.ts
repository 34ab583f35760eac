import type { Route } from '../platform/endpoint.ts'
import * as customers from './customers/endpoints.ts'
import * as plans from './plans/endpoints.ts'
import * as products from './products/endpoints.ts'

/** The API of this service, in the order of its specification, then what is ours besides. */
export const billingRoutes: readonly Route[] = [
  // ours besides
  ['POST', '/product/create', products.create],
  ['PUT', '/product/update/{product_id}', products.update],
  ['GET', '/products', products.list],
  ['GET', '/product/{product_id}', products.get],
  ['DELETE', '/products/{product_id}', products.remove],
  ['POST', '/plan/create', plans.create],
  ['PUT', '/plan/update/{plan_id}', plans.update],
  ['GET', '/plans', plans.list],
  ['GET', '/plans/{product_id}', plans.listOfProduct],
  ['GET', '/plan/{plan_id}', plans.get],
  ['DELETE', '/plans/{plan_id}', plans.remove],
  ['POST', '/customer', customers.create],
  ['GET', '/customer', customers.getByEmail],
  ['GET', '/customer/{customer_id}', customers.get],
  ['GET', '/customers', customers.list],
  ['PUT', '/customer/{customer_id}', customers.update],
  ['DELETE', '/customers/{customer_id}', customers.remove],
]
