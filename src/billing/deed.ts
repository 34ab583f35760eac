import { sendAlong, type Tx } from '../platform/database.ts'
import { emit } from '../platform/events.ts'
import { noteDue } from './clock/store.ts'
import { type Context, eventOf } from './context.ts'
import { inOneTrip, when } from './in-one-trip.ts'
import type { InvoiceRow } from './invoices/store.ts'
import * as invoices from './invoices/store.ts'
import type { CreditNoteRow } from './invoices/store-credit.ts'
import * as credit from './invoices/store-credit.ts'
import { takeNumbers } from './invoices/store-numbers.ts'
import { type LedgerAct, post } from './ledger/ledger.ts'
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
 * What acts leave behind: gathered while the rules compute, then written in one trip to the database and the one of COMMIT,
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

/** An event; what shows an invoice is made once its number is known. */
export interface Telling {
  type: string
  objectId: string
  data: object | ((numbers: ReadonlyMap<string, bigint>) => object)
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

/** Invoices and events come second, because they show numbers, and numbers as late as possible, because others wait for them. */
export async function write(tx: Tx, context: Context, deed: Deed): Promise<void> {
  const { business, now, source } = context
  for (const { productId, planId, id } of deed.activated)
    await assignCode(tx, business.id, { productId, planId, subscriptionId: id, now, source })
  let first = 0n
  await inOneTrip([
    ...allButInvoices(tx, context, deed),
    ...when(deed.issued.length > 0, async () => {
      first = await takeNumbers(tx, business.id, deed.issued.length)
    }),
  ])
  const numbers = new Map(deed.issued.map((id, i) => [id, first + BigInt(i)]))
  for (const [id, number] of numbers) deed.invoices.set(id, { ...deed.invoices.get(id)!, number })
  const settled = [...deed.invoices.values()].filter(row => !numbers.has(row.id))
  const events = deed.told.map(({ type, objectId, data }) =>
    eventOf(context, type, objectId, typeof data === 'function' ? data(numbers) : data),
  )
  // Sent along with COMMIT: from the numbers on, every other invoice of the business waits.
  const saved = [
    ...(isFew(settled)
      ? settled.map(row => invoices.saveSettledOne(tx, business.id, row))
      : [invoices.saveSettled(tx, business.id, settled)]),
    ...deed.issued.map(id => invoices.saveInvoice(tx, business.id, deed.invoices.get(id)!)),
  ]
  await Promise.all([
    ...saved.map(statement => sendAlong(tx, statement)),
    emit(tx, ...events),
    noteMrr(tx, context, [...deed.subscriptions.keys()]),
  ])
}

/** Each by a statement of its own in the same trip: cheaper, because simpler, than one for many. */
const isFew = (rows: readonly unknown[]) => rows.length < 4

/** A lot is often spent by the act that makes it: then it is written as it is afterwards. */
const withSpent = (lot: LotRow, spendings: readonly LotSpending[]): LotRow => ({
  ...lot,
  usedMinor: lot.usedMinor + sum(spendings.filter(one => one.lotId === lot.id).map(one => one.amountMinor)),
})

function allButInvoices(tx: Tx, { business, now }: Context, deed: Deed): (() => PromiseLike<unknown>)[] {
  const { id } = business
  const paid = [...deed.transactions.values()]
  return [
    ...(isFew(paid)
      ? paid.map(row => () => transactions.saveTransaction(tx, id, row))
      : [() => transactions.saveTransactions(tx, id, paid)]),
    ...deed.notes.flatMap(note => [
      () => credit.creditLines(tx, id, note.lines),
      () => credit.insertCreditNote(tx, id, note),
    ]),
    () => post(tx, id, deed.acts),
    ...when(deed.lots.length > 0, () =>
      lots.insertLots(
        tx,
        id,
        deed.lots.map(lot => withSpent(lot, deed.spendings)),
      ),
    ),
    ...when(deed.spendings.length > 0, () => lots.spendLots(tx, id, deed.spendings, { made: deed.lots })),
    ...when(deed.heldSpendings.length > 0, () => lots.spendLots(tx, id, deed.heldSpendings, { reserved: true })),
    ...when(deed.released.length > 0, () => lots.reserveLots(tx, id, deed.released, -1)),
    ...[...deed.subscriptions.values()].map(row => () => subscriptions.saveSubscription(tx, id, row)),
    ...[...deed.addons].map(
      ([subscriptionId, addons]) =>
        () =>
          subscriptions.replaceAddons(tx, id, subscriptionId, addons),
    ),
    ...deed.changes.map(change => () => changes.setChangeState(tx, id, change, now)),
    ...deed.coupons.map(couponId => () => subscriptions.releaseCoupon(tx, id, couponId)),
    ...when(deed.checkAt !== undefined && !business.testMode, () => noteDue(tx, id, deed.checkAt!)),
  ]
}
