import type { Route } from '../platform/endpoint.ts'
import * as categories from './addon-categories/endpoints.ts'
import * as addons from './addons/endpoints.ts'
import * as coupons from './coupons/endpoints.ts'
import * as customers from './customers/endpoints.ts'
import * as licenses from './licenses/endpoints.ts'
import * as multiplans from './multiplans/endpoints.ts'
import * as plans from './plans/endpoints.ts'
import * as products from './products/endpoints.ts'
import * as taxes from './taxes/endpoints.ts'

/** The API of this service, in the order of its specification, then what is ours besides. */
export const billingRoutes: readonly Route[] = [
  ['POST', '/multiplans', multiplans.create],
  ['POST', '/addon/{product_id}', addons.create],
  ['PUT', '/addon/{addon_id}', addons.update],
  ['GET', '/products/{product_id}/licenses', licenses.list],
  ['GET', '/multiplans/{multiplan_id}', multiplans.get],
  ['GET', '/multiplans', multiplans.list],
  ['PUT', '/multiplans/{id}', multiplans.update],
  ['DELETE', '/multiplans/{id}', multiplans.remove],
  ['GET', '/addon/{addon_id}', addons.get],
  ['GET', '/addons/{product_id}', addons.list],
  ['DELETE', '/addon/{addon_id}', addons.remove],
  ['POST', '/products/{product_id}/licenses', licenses.create],
  ['GET', '/products/{product_id}/licenses/{license_id}', licenses.get],
  ['PUT', '/products/{product_id}/licenses/{license_id}', licenses.update],
  ['DELETE', '/products/{product_id}/licenses/{license_id}', licenses.remove],
  ['GET', '/products/{product_id}/licenses/{license_id}/codes', licenses.listCodes],
  ['DELETE', '/products/{product_id}/licenses/{license_id}/codes/{code}', licenses.removeCode],

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
  ['POST', '/addoncategory/{product_id}', categories.create],
  ['GET', '/addonlistcategory/{product_id}', categories.list],
  ['DELETE', '/addoncategory/{id}', categories.remove],
  ['POST', '/coupon/{product_id}', coupons.create],
  ['GET', '/coupon/{product_id}', coupons.list],
  ['PUT', '/coupon/{id}', coupons.update],
  ['DELETE', '/coupons/{id}', coupons.remove],
  ['POST', '/taxes', taxes.create],
  ['GET', '/taxes', taxes.list],
  ['PUT', '/taxes/{id}', taxes.update],
  ['DELETE', '/taxes/{id}', taxes.remove],
]
