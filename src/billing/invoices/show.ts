import type { Static } from 'typebox'
import type { Db } from '../../platform/database.ts'
import { addonsByIds, showAddon } from '../addons/addons.ts'
import { couponsByIds, showCoupon } from '../coupons/coupons.ts'
import { currencySymbol } from '../currencies.ts'
import { isoText } from '../dates.ts'
import { toMajor } from '../money.ts'
import { plansByIds, showPlan } from '../plans/plans.ts'
import type { OwnSubscription, ShownSubscription, Surroundings } from '../subscriptions/show.ts'
import type { BillLine } from './bill.ts'
import type { CreditNote, InvoiceDetailSchema, InvoiceSchema, TaxApply } from './schema.ts'
import type { InvoiceRow } from './store.ts'

export type ShownInvoice = Static<typeof InvoiceSchema>

/** The subscription as an invoice keeps it: its own words, and what its ids were. */
export interface KeptSubscription extends OwnSubscription {
  addons: { id: string; quantity: number; adjusted_amount: number }[]
  coupon_id: string | null
}

export const invoiceNumber = (row: Pick<InvoiceRow, 'number'>) => (row.number === null ? '' : `INV-${row.number}`)

type Names = Pick<Surroundings, 'plans' | 'coupons' | 'addons'>

export function keptSubscription(row: InvoiceRow, around: Names): ShownSubscription {
  const { addons, coupon_id, ...own } = row.subscription as unknown as KeptSubscription
  const coupon = coupon_id === null ? undefined : around.coupons.get(coupon_id)
  return {
    ...own,
    plan: showPlan(around.plans.get(own.plan_id)!),
    addons: addons.map(({ id, quantity, adjusted_amount }) => ({
      ...showAddon(around.addons.get(id)!),
      quantity,
      adjusted_amount,
    })),
    coupon: coupon ? showCoupon(coupon) : null,
  }
}

export const showInvoiceWith = (row: InvoiceRow, subscription: ShownSubscription): ShownInvoice => ({
  ...showInvoiceAlone(row),
  subscription,
})

export const showInvoiceAlone = (row: InvoiceRow): Omit<ShownInvoice, 'subscription'> => ({
  id: row.id,
  invoice_id: invoiceNumber(row),
  customer_id: row.customerId,
  subscription_id: row.subscriptionId,
  product_id: row.productId,
  plan_id: row.planId,
  quantity: String(row.quantity),
  setup_fee: toMajor(row.setupFeeMinor, row.currency),
  amount: toMajor(row.totalMinor, row.currency),
  due_amount: toMajor(row.status === 'void' ? 0n : row.dueMinor, row.currency),
  paid_amount: toMajor(row.paidMinor, row.currency),
  credit_amount: toMajor(row.creditAppliedMinor, row.currency),
  refunded_amount: toMajor(row.refundedMinor, row.currency),
  status: row.status,
  payment_term: row.paymentTerm,
  due_date: isoText(row.dueAt),
  currency_code: row.currency,
  currency_symbol: currencySymbol(row.currency),
  credit_note: row.creditNote as CreditNote | null,
  tax_apply: row.taxApply as TaxApply,
  createdAt: isoText(row.createdAt),
  updatedAt: isoText(row.updatedAt),
})

export async function showInvoices(db: Db, businessId: string, rows: readonly InvoiceRow[]): Promise<ShownInvoice[]> {
  const kept = rows.map(row => row.subscription as unknown as KeptSubscription)
  const unique = (ids: readonly (string | null)[]) => [...new Set(ids)].filter(id => id !== null)
  const byId = <T extends { id: string }>(found: readonly T[]) => new Map(found.map(one => [one.id, one]))
  const [plans, coupons, addons] = await Promise.all([
    plansByIds(db, businessId, unique(kept.map(one => one.plan_id))),
    couponsByIds(db, businessId, unique(kept.map(one => one.coupon_id))),
    addonsByIds(db, businessId, unique(kept.flatMap(one => one.addons.map(addon => addon.id)))),
  ])
  const around = { plans: byId(plans), coupons: byId(coupons), addons: byId(addons) }
  return rows.map(row => showInvoiceWith(row, keptSubscription(row, around)))
}

export async function showInvoice(db: Db, businessId: string, row: InvoiceRow): Promise<ShownInvoice> {
  return (await showInvoices(db, businessId, [row]))[0]!
}

export const showLine = (line: BillLine, currency: string): Static<typeof InvoiceDetailSchema>['lines'][number] => ({
  type: line.kind,
  item_id: line.itemId,
  description: line.description,
  quantity: line.quantity,
  unit_price: toMajor(line.unitPriceMinor, currency),
  amount: toMajor(line.amountMinor, currency),
  discount: toMajor(line.discountMinor, currency),
  tax: toMajor(line.taxMinor, currency),
  starts_on: line.start ?? '',
  ends_on: line.end ?? '',
})
