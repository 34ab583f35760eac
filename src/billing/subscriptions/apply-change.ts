import type { Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Context } from '../context.ts'
import { customersByIds } from '../customers/customers.ts'
import { tellCredit, tellInvoices, tellSubscription } from '../events-lifecycle.ts'
import { issueDraft, keep, type NewInvoice, writeDraft, writeIssued } from '../invoices/issue.ts'
import { openLot, settledBy } from '../invoices/receive.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { post, takeBack } from '../ledger/ledger.ts'
import * as lots from '../ledger/store.ts'
import { min, sum, toMajor } from '../money.ts'
import { inPeriod, type Period, timed } from './periods.ts'
import type { LineCredit, LotUse } from './proration.ts'
import type { ChangeQuote } from './quote-change.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'

/** Puts a computed change into force, at once or after its card was charged; or drops it without a trace on the plan. */

/** What must be remembered between the charge and its result; amounts in text, because JSON has no exact ones. */
export interface OpenChange {
  patch: Record<string, unknown>
  addons: Record<string, unknown>[]
  period: Period | null
  credit: { net: string; tax: string; lines: { invoiceId: string; lineNo: number; net: string; tax: string }[] }
  newLotId: string | undefined
  uses: { lotId: string; amount: string; from: string }[]
  /** the coupon redeemed for this change, to be given back when it is dropped */
  redeemed: string | null
}

const minorFields = new Set(['unitPriceMinor', 'setupFeeMinor', 'adjustedMinor'])
const patchFields = [
  'planId',
  'planType',
  'quantity',
  'unitPriceMinor',
  'setupFeeMinor',
  'setupFeeDue',
  'periodUnit',
  'periodCount',
  'cyclesLeft',
  'anchorDate',
  'anchorPeriodNo',
  'couponId',
  'couponLeft',
  'updateReason',
  'updateType',
  'paymentTerm',
] as const satisfies (keyof SubscriptionRow)[]

const toText = (record: object) =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  )
const fromText = (record: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, minorFields.has(name) ? BigInt(value as string) : value]),
  )

export function rememberChange(quote: ChangeQuote, redeemed: string | null): OpenChange {
  return {
    patch: toText(Object.fromEntries(patchFields.map(name => [name, quote.subscription[name]]))),
    addons: quote.addons.map(toText),
    period: quote.period,
    credit: {
      net: String(quote.credit.netMinor),
      tax: String(quote.credit.taxMinor),
      lines: quote.credit.lines.map(line => ({
        invoiceId: line.invoiceId,
        lineNo: line.lineNo,
        net: String(line.netMinor),
        tax: String(line.taxMinor),
      })),
    },
    newLotId: quote.newLot?.id,
    uses: quote.uses.map(use => ({ lotId: use.lotId, amount: String(use.amountMinor), from: String(use.fromMinor) })),
    redeemed,
  }
}

interface Applied {
  changeId: string
  patch: Partial<SubscriptionRow>
  addons: SubscriptionAddon[]
  period: Period | null
  credit: { netMinor: bigint; taxMinor: bigint; lines: LineCredit[] }
  newLotId: string | undefined
}

const recalled = (changeId: string, open: OpenChange): Applied => ({
  changeId,
  patch: fromText(open.patch) as Partial<SubscriptionRow>,
  addons: open.addons.map(fromText) as unknown as SubscriptionAddon[],
  period: open.period,
  credit: {
    netMinor: BigInt(open.credit.net),
    taxMinor: BigInt(open.credit.tax),
    lines: open.credit.lines.map(line => ({
      invoiceId: line.invoiceId,
      lineNo: line.lineNo,
      netMinor: BigInt(line.net),
      taxMinor: BigInt(line.tax),
    })),
  },
  newLotId: open.newLotId,
})

/** All at once, when there is nothing to charge now. */
export async function applyChange(
  tx: Tx,
  context: Context,
  row: SubscriptionRow,
  options: { quote: ChangeQuote; invoice: NewInvoice; changeId: string },
): Promise<SubscriptionRow> {
  const { quote, invoice, changeId } = options
  const applied = recalled(changeId, rememberChange(quote, null))
  await credit(tx, context, row, applied)
  const issued = await writeIssued(tx, context.business.id, [invoice], context.now)
  return conclude(tx, context, row, applied, issued[0]!)
}

/** The draft and the attempt are written, the lots held; nothing counts yet. */
export async function holdChange(
  tx: Tx,
  context: Context,
  options: { quote: ChangeQuote; invoice: NewInvoice },
): Promise<void> {
  const { quote, invoice } = options
  const held = quote.uses.filter(use => use.lotId !== quote.newLot?.id)
  if (held.length > 0) await lots.reserveLots(tx, context.business.id, held, 1)
  await writeDraft(tx, context.business.id, invoice)
}

/** The card paid for an open change. */
export async function applyOpenChange(
  tx: Tx,
  context: Context,
  row: SubscriptionRow,
  draft: InvoiceRow,
): Promise<SubscriptionRow> {
  const { business, now } = context
  const change = await changes.findOpen(tx, business.id, row.id)
  if (!change || change.invoiceId !== draft.id) throw new Error(`No open change belongs to invoice ${draft.id}.`)
  const open = change.terms as unknown as OpenChange
  const applied = recalled(change.id, open)
  await credit(tx, context, row, applied)
  const uses = open.uses.map(use => ({
    lotId: use.lotId,
    amountMinor: BigInt(use.amount),
    fromMinor: BigInt(use.from),
  }))
  const fresh = uses.filter(use => use.lotId === open.newLotId)
  const held = uses.filter(use => use.lotId !== open.newLotId)
  if (fresh.length > 0)
    await lots.spendLots(
      tx,
      business.id,
      fresh.map(use => ({ ...use, invoiceId: draft.id })),
    )
  const issued = await issueDraft(tx, business.id, { row: draft, uses: held, reserved: true }, now)
  await changes.setChangeState(tx, business.id, { id: change.id, state: 'applied', at: now })
  const after = await conclude(tx, context, row, applied, issued)
  await tellClosed(tx, context, after, uses)
  return after
}

/** The card said no: the old plan stays, the draft goes without a number, the lots are free again. */
export async function dropOpenChange(tx: Tx, context: Context, row: SubscriptionRow, draft: InvoiceRow): Promise<void> {
  const { business, now } = context
  const change = await changes.findOpen(tx, business.id, row.id)
  if (!change || change.invoiceId !== draft.id) return
  const open = change.terms as unknown as OpenChange
  const held = open.uses.filter(use => use.lotId !== open.newLotId)
  if (held.length > 0)
    await lots.reserveLots(
      tx,
      business.id,
      held.map(use => ({ lotId: use.lotId, amountMinor: BigInt(use.amount) })),
      -1,
    )
  if (open.redeemed) await store.releaseCoupon(tx, business.id, open.redeemed)
  await invoices.saveInvoice(tx, business.id, {
    ...draft,
    status: 'void',
    dueMinor: 0n,
    writtenOffMinor: draft.writtenOffMinor + draft.dueMinor,
    updatedAt: now,
  })
  await changes.setChangeState(tx, business.id, { id: change.id, state: 'dropped', at: now })
}

/** The unused time of the old plan: first off what is still due on its invoice, the rest as a credit lot. */
async function credit(tx: Tx, context: Context, row: SubscriptionRow, change: Applied): Promise<void> {
  const { business, now } = context
  const { netMinor, taxMinor, lines } = change.credit
  if (lines.length === 0) return
  await invoices.creditLines(tx, business.id, row.id, lines)
  const offsetMinor = await offset(tx, context, lines)
  const lotMinor = netMinor + taxMinor - offsetMinor
  const back = takeBack(row.deferredMinor, netMinor)
  await invoices.insertCreditNote(tx, business.id, {
    id: newId(),
    subscriptionId: row.id,
    kind: 'change',
    sourceId: change.changeId,
    netMinor,
    taxMinor,
    lines: lines.map(line => ({
      invoiceId: line.invoiceId,
      lineNo: line.lineNo,
      net: String(line.netMinor),
      tax: String(line.taxMinor),
    })),
    createdAt: now,
  })
  await post(tx, business.id, [
    {
      sourceKey: `change:${change.changeId}`,
      at: now,
      customerId: row.customerId,
      subscriptionId: row.id,
      currency: row.currency,
      accounts: { ...back, tax: taxMinor, receivable: -offsetMinor, customerCredit: -lotMinor },
    },
  ])
  if (lotMinor > 0n)
    await openLot(tx, context, row, { id: change.newLotId, sourceId: change.changeId, amountMinor: lotMinor })
}

/** Computed again here: what was due may have been paid while the card was charged. */
async function offset(tx: Tx, context: Context, lines: readonly LineCredit[]): Promise<bigint> {
  const { business, now } = context
  const rows = await invoices.lockInvoices(tx, business.id, [...new Set(lines.map(line => line.invoiceId))])
  let total = 0n
  for (const row of rows) {
    const credited = sum(lines.filter(line => line.invoiceId === row.id).map(line => line.netMinor + line.taxMinor))
    const offsetMinor = row.status === 'sent' || row.status === 'overdue' ? min(credited, row.dueMinor) : 0n
    if (offsetMinor === 0n) continue
    await invoices.saveInvoice(tx, business.id, settledBy(row, { offsetMinor, now }))
    total += offsetMinor
  }
  return total
}

async function conclude(
  tx: Tx,
  context: Context,
  row: SubscriptionRow,
  change: Applied,
  invoice: InvoiceRow,
): Promise<SubscriptionRow> {
  const { business, now } = context
  const back = takeBack(row.deferredMinor, change.credit.netMinor)
  const changed: SubscriptionRow = {
    ...row,
    ...change.patch,
    // Trial: the fee waits for the first bill. Else it is on this invoice.
    setupFeeDue: row.periodEnd === null ? Boolean(change.patch.setupFeeDue) : false,
    deferredMinor: row.deferredMinor - back.deferred + invoice.netMinor,
    updatedAt: now,
  }
  const at = { now, timeZone: business.timeZone }
  const opened = change.period ? inPeriod(changed, change.period, at) : timed(changed, at)
  // A restart spends no cycle of its own: withTerms counted the running period as the first.
  const timely = change.period ? timed({ ...opened, cyclesLeft: changed.cyclesLeft }, at) : opened
  const after = row.status === 'unpaid' ? { ...timely, nextBillingAt: null, remindAt: null } : timely
  await store.saveSubscription(tx, business.id, after)
  await store.replaceAddons(tx, business.id, row.id, change.addons)
  const [customer] = await customersByIds(tx, business.id, [row.customerId])
  const kept = keep(after, change.addons, customer!) as unknown as Record<string, unknown>
  const told = { ...invoice, subscription: kept }
  await invoices.saveInvoice(tx, business.id, told)
  const replaced = await changes.dropScheduled(tx, business.id, row.id, now)
  await tellInvoices(tx, context, 'invoice_create', [told])
  await tellSubscription(
    tx,
    context,
    [`subscription_${after.updateType}`, ...(replaced ? [`subscription_${replaced.updateType}_changes_removed`] : [])],
    after,
  )
  return after
}

/** Which credits an invoice used up. */
export const closedCredits = (row: SubscriptionRow, uses: readonly LotUse[]) =>
  uses
    .filter(use => use.amountMinor === use.fromMinor)
    .map(use => ({
      id: use.lotId,
      subscription_id: row.id,
      customer_id: row.customerId,
      amount: toMajor(use.fromMinor, row.currency),
      remaining_amount: 0,
    }))

export async function tellClosed(
  tx: Tx,
  context: Context,
  row: SubscriptionRow,
  uses: readonly LotUse[],
): Promise<void> {
  for (const credit of closedCredits(row, uses)) await tellCredit(tx, context, 'credit_close', credit)
}
