import { type BusinessRow, businessById } from '../accounts/store.ts'
import { customersByIds } from '../billing/customers/customers.ts'
import type { CustomerRow } from '../billing/customers/store.ts'
import type { InvoiceRow, StoredLine } from '../billing/invoices/store.ts'
import { findInvoice, linesOf, pageOfInvoices } from '../billing/invoices/store.ts'
import { codesOfSubscriptions } from '../billing/licenses/assign.ts'
import type { MethodRow } from '../billing/payment-methods/store.ts'
import { methodsByIds } from '../billing/payment-methods/store.ts'
import { plansByIds } from '../billing/plans/plans.ts'
import type { PlanRow } from '../billing/plans/store.ts'
import { productsByIds } from '../billing/products/products.ts'
import type { ProductRow } from '../billing/products/store.ts'
import type { SubscriptionRow } from '../billing/subscriptions/store.ts'
import { findSubscription } from '../billing/subscriptions/store.ts'
import type { Db } from '../platform/database.ts'

/** Everything about what somebody bought, for its receipt and for letters about it. */
export interface Facts {
  business: BusinessRow
  subscription: SubscriptionRow
  plan: PlanRow
  product: ProductRow
  customer: CustomerRow
  /** the one asked for, or that of the purchase; none during a trial */
  invoice: InvoiceRow | undefined
  lines: StoredLine[]
  method: MethodRow | undefined
  licenseCode: string | undefined
}

export async function findFacts(
  db: Db,
  businessId: string,
  subscriptionId: string,
  invoiceId?: string,
): Promise<Facts | undefined> {
  const [business, subscription] = await Promise.all([
    businessById(db, businessId),
    findSubscription(db, businessId, subscriptionId),
  ])
  if (!business || !subscription) return undefined
  const [[plan], [product], [customer], invoice, [method], codes] = await Promise.all([
    plansByIds(db, businessId, [subscription.planId]),
    productsByIds(db, businessId, [subscription.productId]),
    customersByIds(db, businessId, [subscription.customerId]),
    invoiceId === undefined ? purchaseInvoice(db, businessId, subscriptionId) : findInvoice(db, businessId, invoiceId),
    methodsByIds(db, businessId, subscription.paymentMethodId === null ? [] : [subscription.paymentMethodId]),
    codesOfSubscriptions(db, businessId, [subscriptionId]),
  ])
  if (!plan || !product || !customer) return undefined
  const lines = invoice ? await linesOf(db, businessId, invoice) : []
  return {
    business,
    subscription,
    plan,
    product,
    customer,
    invoice,
    lines,
    method,
    licenseCode: codes.get(subscriptionId),
  }
}

async function purchaseInvoice(db: Db, businessId: string, subscriptionId: string): Promise<InvoiceRow | undefined> {
  const { rows } = await pageOfInvoices(db, businessId, { subscriptionId }, { page: 1, limit: 100, offset: 0 })
  return rows.findLast(row => row.kind === 'purchase' && row.status !== 'void')
}
