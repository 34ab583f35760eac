import type { Statement, Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import type { CustomerRow } from '../customers/store.ts'
import { dueMoment, type LocalDate, localDate, type PaymentTerm } from '../dates.ts'
import { showPercent } from '../fields.ts'
import { invoiceAccounts, type LedgerAct } from '../ledger/ledger.ts'
import { majorText, sum, toMajor } from '../money.ts'
import { type Scene, saveInvoice } from '../scene.ts'
import type { LotUse } from '../subscriptions/proration.ts'
import { showOwn } from '../subscriptions/show.ts'
import type { SubscriptionAddon, SubscriptionRow } from '../subscriptions/store.ts'
import type { Bill } from './bill.ts'
import type { CreditNote, TaxApply } from './schema.ts'
import type { KeptSubscription } from './show.ts'
import type { InvoiceRow } from './store.ts'
import * as store from './store.ts'

/**
 * An invoice is a draft (`pending`, without number, nothing posted) or issued (`sent` or at once `paid`). The number
 * is taken at issue, in the same transaction as the postings, so that numbers have no gaps.
 */

export interface NewInvoice {
  row: InvoiceRow
  lines: store.LineRow[]
  uses: readonly LotUse[]
  /** of the period before, delivered by now */
  earnedMinor: bigint
}

export interface InvoiceParts {
  kind: InvoiceRow['kind']
  /** as it is once this invoice holds */
  subscription: SubscriptionRow
  addons: readonly SubscriptionAddon[]
  customer: CustomerRow
  bill: Bill
  uses: readonly LotUse[]
  period: { no: number; start: LocalDate; end: LocalDate } | null
  term: PaymentTerm
  creditNote: CreditNote | null
  now: Date
  timeZone: string
  earnedMinor: bigint
  id?: string
}

export function draftInvoice(parts: InvoiceParts): NewInvoice {
  const { subscription, customer, bill, uses, period, now, timeZone } = parts
  const id = parts.id ?? newId()
  const { currency } = subscription
  const creditMinor = sum(uses.map(use => use.amountMinor))
  const setupFee = bill.lines.find(line => line.kind === 'setup_fee')
  const row: InvoiceRow = {
    id,
    number: null,
    kind: parts.kind,
    status: 'pending',
    subscriptionId: subscription.id,
    customerId: subscription.customerId,
    productId: subscription.productId,
    planId: subscription.planId,
    periodNo: period?.no ?? null,
    periodStart: period?.start ?? null,
    periodEnd: period?.end ?? null,
    currency,
    quantity: subscription.quantity,
    setupFeeMinor: setupFee?.netMinor ?? 0n,
    netMinor: bill.netMinor,
    taxMinor: bill.taxMinor,
    totalMinor: bill.totalMinor,
    dueMinor: bill.totalMinor - creditMinor,
    paidMinor: 0n,
    creditAppliedMinor: creditMinor,
    offsetMinor: 0n,
    writtenOffMinor: 0n,
    refundedMinor: 0n,
    paymentTerm: parts.term,
    dueAt: dueMoment(localDate(now, timeZone), parts.term, timeZone),
    issuedAt: null,
    carried: false,
    chargeAt: null,
    dunningStep: 0,
    subscription: keep(subscription, parts.addons, customer) as unknown as Record<string, unknown>,
    taxApply: taxApply(bill, customer, currency),
    creditNote: parts.creditNote,
    createdAt: now,
    updatedAt: now,
  }
  const lines = bill.lines.map((line, i) => ({
    ...line,
    subscriptionId: subscription.id,
    invoiceId: id,
    lineNo: i + 1,
  }))
  return { row, lines, uses, earnedMinor: parts.earnedMinor }
}

export const keep = (
  subscription: SubscriptionRow,
  addons: readonly SubscriptionAddon[],
  customer: CustomerRow,
): KeptSubscription => ({
  ...showOwn(subscription, customer),
  addons: addons.map(addon => ({
    id: addon.addonId,
    quantity: addon.quantity,
    adjusted_amount: toMajor(addon.adjustedMinor, subscription.currency),
  })),
  coupon_id: subscription.couponId,
})

const taxApply = (bill: Bill, customer: CustomerRow, currency: string): TaxApply => ({
  country: customer.billingAddress.country ?? '',
  tax_id: customer.taxId,
  exempt_tax: [],
  total_amount: toMajor(bill.netMinor, currency),
  total_tax: majorText(bill.taxMinor, currency),
  taxes: bill.taxes.map(tax => ({
    name: tax.name,
    rate: showPercent(tax.ratePpm),
    amount: toMajor(tax.taxMinor, currency),
  })),
})

/** The same invoice once it is issued: nothing due means paid. */
export const issued = (row: InvoiceRow, number: bigint | null, now: Date): InvoiceRow => ({
  ...row,
  number,
  status: row.dueMinor === 0n ? 'paid' : 'sent',
  issuedAt: now,
  updatedAt: now,
})

export const issueAct = (invoice: NewInvoice, at: Date): LedgerAct => {
  const { row } = invoice
  return {
    // The key of a renewal is its period: whatever else goes wrong, a period is not billed twice.
    sourceKey: row.kind === 'renewal' ? `renewal:${row.subscriptionId}:${row.periodNo}` : `invoice:${row.id}`,
    at,
    customerId: row.customerId,
    subscriptionId: row.subscriptionId,
    currency: row.currency,
    accounts: invoiceAccounts({ ...row, creditMinor: row.creditAppliedMinor, earnedMinor: invoice.earnedMinor }),
  }
}

export const writeDraft = (tx: Tx, businessId: string, { row, lines }: NewInvoice): Statement[] => [
  ...store.insertInvoices(tx, businessId, [row]),
  ...store.insertLines(tx, businessId, lines),
]

/** A stored draft becomes an invoice; of the lots it counts on, some were held for it when it was drafted. */
export function issueDraft(
  scene: Scene,
  row: InvoiceRow,
  uses: { fresh: readonly LotUse[]; held: readonly LotUse[] } = { fresh: [], held: [] },
): InvoiceRow {
  const { deed, context } = scene
  const spend = ({ lotId, amountMinor }: LotUse) => ({ lotId, amountMinor, invoiceId: row.id })
  deed.spendings.push(...uses.fresh.map(spend))
  deed.heldSpendings.push(...uses.held.map(spend))
  deed.acts.push(issueAct({ row, lines: [], uses: [], earnedMinor: 0n }, context.now))
  deed.issued.push(row.id)
  const done = issued(row, null, context.now)
  saveInvoice(scene, done)
  return done
}
