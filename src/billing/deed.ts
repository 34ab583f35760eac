import { type Statement, sendAlong, type Tx } from '../platform/database.ts'
import { emit } from '../platform/events.ts'
import { noteDue } from './clock/store.ts'
import { type Context, eventOf } from './context.ts'
import type { InvoiceRow } from './invoices/store.ts'
import * as invoices from './invoices/store.ts'
import type { CreditNoteRow } from './invoices/store-credit.ts'
import * as credit from './invoices/store-credit.ts'
import type { LedgerAct } from './ledger/ledger.ts'
import type { LotRow, LotSpending } from './ledger/store.ts'
import * as lots from './ledger/store.ts'
import { assignCode } from './licenses/assign.ts'
import { sum } from './money.ts'
import { noteMrr } from './mrr/mrr.ts'
import type { SubscriptionAddon, SubscriptionRow } from './subscriptions/store.ts'
import * as subscriptions from './subscriptions/store.ts'
import type { ChangeRow } from './subscriptions/store-changes.ts'
import * as changes from './subscriptions/store-changes.ts'
import type { TransactionRow } from './transactions/store.ts'
import * as transactions from './transactions/store.ts'

/**
 * What acts leave behind: gathered while the rules compute, then written in one trip to the database, that of COMMIT,
 * whatever the number of acts. A row that several acts change is written once, as the last of them left it.
 */
export interface Deed {
  subscriptions: Map<string, SubscriptionRow>
  transactions: Map<string, TransactionRow>
  invoices: Map<string, InvoiceRow>
  /** drafts among them that are issued now: they get the next numbers in this order */
  issued: string[]
  acts: LedgerAct[]
  notes: CreditNoteRow[]
  lots: LotRow[]
  spendings: LotSpending[]
  /** out of what was held for their invoice */
  heldSpendings: LotSpending[]
  released: { lotId: string; amountMinor: bigint }[]
  changes: { id: string; state: ChangeRow['state'] }[]
  addons: Map<string, readonly SubscriptionAddon[]>
  /** redemptions to be given back */
  coupons: string[]
  /** subscriptions whose first payment came: they get their licence code */
  activated: SubscriptionRow[]
  /** something is to be looked at then */
  checkAt: Date | undefined
  told: Telling[]
}

/** An event; `word` stands in it for the number of an invoice that is issued now, which the database fills in. */
export interface Telling {
  type: string
  objectId: string
  data: object
  numbered?: { invoiceId: string; word: string } | undefined
}

export const newDeed = (): Deed => ({
  subscriptions: new Map(),
  transactions: new Map(),
  invoices: new Map(),
  issued: [],
  acts: [],
  notes: [],
  lots: [],
  spendings: [],
  heldSpendings: [],
  released: [],
  changes: [],
  addons: new Map(),
  coupons: [],
  activated: [],
  checkAt: undefined,
  told: [],
})

/**
 * From the number on, every other invoice of the business waits for COMMIT: so it is taken in the database, on the way to
 * COMMIT, after all that needs none. The program learns it with the end of the transaction.
 */
export async function write(tx: Tx, context: Context, deed: Deed): Promise<void> {
  const { business, now, source } = context
  for (const { productId, planId, id } of deed.activated)
    await assignCode(tx, business.id, { productId, planId, subscriptionId: id, now, source })
  await sendAlong(tx, ...allButInvoices(tx, context, deed))
  for (const id of deed.issued) {
    const row = { ...deed.invoices.get(id)! }
    deed.invoices.set(id, row)
    const issuing = invoices.saveIssued(tx, business.id, row)
    await sendAlong(tx, issuing)
    issuing.then(
      ([issued]) => {
        row.number = issued!.number
      },
      () => {},
    )
  }
  const events = deed.told.map(({ type, objectId, data, numbered }) => ({
    ...eventOf(context, type, objectId, data),
    ...(numbered && {
      fill: { word: numbered.word, by: invoices.numberText(tx, business.id, numbered.invoiceId) },
    }),
  }))
  await emit(tx, ...events)
  await noteMrr(tx, context, [...deed.subscriptions.keys()])
}

/** Each by a statement of its own in the same trip: cheaper, because simpler, than one for many. */
const isFew = (rows: readonly unknown[]) => rows.length < 4

/** A lot is often spent by the act that makes it: then it is written as it is afterwards. */
const withSpent = (lot: LotRow, spendings: readonly LotSpending[]): LotRow => ({
  ...lot,
  usedMinor: lot.usedMinor + sum(spendings.filter(one => one.lotId === lot.id).map(one => one.amountMinor)),
})

function allButInvoices(tx: Tx, { business, now }: Context, deed: Deed): Statement[] {
  const { id } = business
  const paid = [...deed.transactions.values()]
  const settled = [...deed.invoices.values()].filter(row => !deed.issued.includes(row.id))
  const made = deed.lots.map(lot => withSpent(lot, deed.spendings))
  return [
    ...(isFew(paid)
      ? paid.map(row => transactions.saveTransaction(tx, id, row))
      : [transactions.saveTransactions(tx, id, paid)]),
    ...deed.notes.flatMap(note => [...credit.creditLines(tx, id, note.lines), credit.insertCreditNote(tx, id, note)]),
    ...lots.insertActs(tx, id, deed.acts),
    ...lots.insertLots(tx, id, made),
    ...lots.spendLots(tx, id, deed.spendings, { made: deed.lots }),
    ...lots.spendLots(tx, id, deed.heldSpendings, { reserved: true }),
    ...lots.reserveLots(tx, id, deed.released, -1),
    ...[...deed.subscriptions.values()].map(row => subscriptions.saveSubscription(tx, id, row)),
    ...[...deed.addons].flatMap(([subscriptionId, addons]) =>
      subscriptions.replaceAddons(tx, id, subscriptionId, addons),
    ),
    ...deed.changes.map(change => changes.setChangeState(tx, id, change, now)),
    ...deed.coupons.map(couponId => subscriptions.releaseCoupon(tx, id, couponId)),
    ...(deed.checkAt !== undefined && !business.testMode ? [noteDue(tx, id, deed.checkAt)] : []),
    ...(isFew(settled)
      ? settled.map(row => invoices.saveSettledOne(tx, id, row))
      : [invoices.saveSettled(tx, id, settled)]),
  ]
}
