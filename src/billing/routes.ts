import type { Route } from '../platform/endpoint.ts'
import * as categories from './addon-categories/endpoints.ts'
import * as addons from './addons/endpoints.ts'
import * as coupons from './coupons/endpoints.ts'
import * as customers from './customers/endpoints.ts'
import * as gateways from './gateways/endpoints.ts'
import * as invoices from './invoices/endpoints.ts'
import * as licenses from './licenses/endpoints.ts'
import * as mrr from './mrr/endpoints.ts'
import * as multiplans from './multiplans/endpoints.ts'
import * as methods from './payment-methods/endpoints.ts'
import * as plans from './plans/endpoints.ts'
import * as products from './products/endpoints.ts'
import * as settings from './settings/endpoints.ts'
import * as subscriptions from './subscriptions/endpoints.ts'
import * as taxes from './taxes/endpoints.ts'
import * as transactions from './transactions/endpoints.ts'

/** The API of this service, in the order of its specification, then what is ours besides. */
export const billingRoutes: readonly Route[] = [
  ['POST', '/multiplans', multiplans.create],
  ['POST', '/addon/{product_id}', addons.create],
  ['PUT', '/addon/{addon_id}', addons.update],
  ['POST', '/transaction/refund/{payment_id}', transactions.refund],
  ['GET', '/products/{product_id}/licenses', licenses.list],
  ['PUT', '/subscription/{subscription_id}/upgrade-downgrade', subscriptions.upgradeDowngrade],
  ['GET', '/multiplans/{multiplan_id}', multiplans.get],
  ['GET', '/multiplans', multiplans.list],
  ['PUT', '/multiplans/{id}', multiplans.update],
  ['DELETE', '/multiplans/{id}', multiplans.remove],
  ['GET', '/addon/{addon_id}', addons.get],
  ['GET', '/addons/{product_id}', addons.list],
  ['DELETE', '/addon/{addon_id}', addons.remove],
  ['GET', '/transactions/{customer_id}', transactions.list],
  ['GET', '/refund/{customer_id}', transactions.listRefunds],
  ['DELETE', '/transaction/{transaction_id}', transactions.remove],
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
  ['POST', '/paymentmethod/{customer_id}', methods.add],
  ['GET', '/paymentmethods/{customer_id}', methods.list],
  ['DELETE', '/paymentmethod/{id}', methods.remove],
  ['POST', '/subscription', subscriptions.createWithCustomer],
  ['POST', '/subscription/{customer_id}', subscriptions.create],
  ['GET', '/subscription/{subscription_id}', subscriptions.get],
  ['GET', '/subscriptions', subscriptions.list],
  ['GET', '/subscriptions/{customer_id}', subscriptions.listOfCustomer],
  ['POST', '/subscription/{subscription_id}/cancel', subscriptions.cancel],
  ['PUT', '/subscription/{subscription_id}/pause', subscriptions.pause],
  ['PUT', '/subscription/{subscription_id}/resume', subscriptions.resume],
  ['POST', '/subscription/{subscription_id}/preview-change', subscriptions.previewUpgradeDowngrade],
  ['GET', '/scheduledchanges/{subscription_id}', subscriptions.getScheduledChange],
  ['DELETE', '/scheduledchanges/{subscription_id}', subscriptions.removeScheduledChange],
  ['GET', '/invoices', invoices.list],
  ['GET', '/invoices/{customer_id}', invoices.listOfCustomer],
  ['GET', '/invoice/{invoice_id}', invoices.get],
  ['GET', '/invoice/{invoice_id}/pdf', invoices.pdf],
  ['POST', '/invoice/recordpayment/{invoice_id}', invoices.record],
  ['POST', '/invoice/collect/{invoice_id}', invoices.collect],
  ['POST', '/invoice/void/{invoice_id}', invoices.cancel],
  ['POST', '/transaction/confirm/{transaction_id}', gateways.confirm],
  ['GET', '/mrr', mrr.get],
  ['GET', '/mrr/movements', mrr.movements],
  ['GET', '/settings', settings.get],
  ['PUT', '/settings', settings.update],
  ['GET', '/gateways/stripe', gateways.getStripe],
  ['PUT', '/gateways/stripe', gateways.putStripe],
]

/** Without a key: they prove themselves by their signature. */
export const billingOpenRoutes: readonly Route[] = [['POST', '/webhooks/stripe/{business_id}', gateways.stripeWebhook]]
