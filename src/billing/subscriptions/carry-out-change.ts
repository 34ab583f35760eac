import { sendAlong, type Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { outcomeUnknown, paymentRequired } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import type { CouponRow } from '../coupons/store.ts'
import { write } from '../deed.ts'
import { type NewInvoice, writeDraft } from '../invoices/issue.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as lots from '../ledger/store.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import type { ProductRow } from '../products/store.ts'
import { sceneOf } from '../scene.ts'
import { paymentWithCarried, sendPayment } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { applyChange } from './apply-change.ts'
import type { ChangeFacts } from './prepare-change.ts'
import type { ChangeQuote } from './quote-change.ts'
import { recallChange, rememberChange } from './remembered-change.ts'
import { settleKnown } from './settle.ts'
import { byId, type Surroundings } from './show.ts'
import type { SubscriptionRow } from './store.ts'
import * as changes from './store-changes.ts'

/** A computed change is carried out: at once where nothing is to be charged, else held until the card is. */

/** What the answer shows: the subscription with what it names, and the invoice of the change; none for a scheduled one. */
export interface Changed {
  subscription: SubscriptionRow
  invoice: InvoiceRow | undefined
  around: Surroundings
  /** where it was looked at on the way */
  product: ProductRow | undefined
}

/** The card is to be charged. */
export interface Held {
  payment: TransactionRow
  method: MethodRow | undefined
  around: Surroundings | undefined
  product: ProductRow | undefined
}

interface Drafted {
  quote: ChangeQuote
  coupon: CouponRow | undefined
  invoice: NewInvoice
  redeemed: string | null
  idempotencyKey: string | null
}

const changeRow = (
  { now }: Context,
  { quote, invoice, redeemed }: Drafted,
  state: 'open' | 'applied',
): changes.ChangeRow => ({
  id: newId(),
  subscriptionId: quote.subscription.id,
  state,
  updateType: quote.updateType,
  planId: quote.subscription.planId,
  terms: rememberChange(quote, redeemed) as unknown as Record<string, unknown>,
  invoiceId: invoice.row.id,
  transactionId: null,
  createdAt: now,
  updatedAt: now,
})

/** What stays due on older invoices once the change took its credit off them. */
export function owedAfter({ owed }: ChangeFacts, { offsets }: ChangeQuote): InvoiceRow[] {
  const off = new Map(offsets.map(offset => [offset.invoiceId, offset.amountMinor]))
  return owed.map(row => ({ ...row, dueMinor: row.dueMinor - (off.get(row.id) ?? 0n) }))
}

/** Draft, attempt and change are written, the lots held; nothing counts until the card is charged. */
export async function hold(
  tx: Tx,
  context: Context,
  facts: ChangeFacts,
  drafted: Drafted & { method: MethodRow },
): Promise<Held> {
  const { business, now } = context
  const { quote, invoice, method } = drafted
  const held = quote.uses.filter(use => use.lotId !== quote.newLot?.id)
  const payment = paymentWithCarried(invoice.row, owedAfter(facts, quote), { method, now })
  await sendAlong(
    tx,
    ...lots.reserveLots(tx, business.id, held, 1),
    ...writeDraft(tx, business.id, invoice),
    changes.insertChange(tx, business.id, changeRow(context, drafted, 'open'), drafted.idempotencyKey),
    transactions.insertPayments(tx, business.id, [payment]),
  )
  return { payment, method, around: aroundOf(facts, quote, drafted.coupon), product: facts.product }
}

/** What the change names is known already, and can't change while the card is charged; add-ons are looked up where there are any. */
function aroundOf(facts: ChangeFacts, quote: ChangeQuote, coupon: CouponRow | undefined): Surroundings | undefined {
  if (facts.addons.length > 0 || quote.addons.length > 0) return undefined
  return {
    plans: byId([facts.before, facts.plan]),
    coupons: byId([facts.coupon, coupon].filter(one => one !== undefined)),
    customers: byId([facts.customer]),
    addons: new Map(),
    chosen: new Map(),
  }
}

/** There is nothing to charge now. */
export async function atOnce(tx: Tx, context: Context, facts: ChangeFacts, drafted: Drafted): Promise<Changed> {
  const { business } = context
  const { invoice } = drafted
  const change = changeRow(context, drafted, 'applied')
  await sendAlong(
    tx,
    ...writeDraft(tx, business.id, invoice),
    changes.insertChange(tx, business.id, change, drafted.idempotencyKey),
  )
  const scene = await sceneOf(tx, context, {
    subscriptions: [facts.row],
    invoices: [...facts.owed, invoice.row],
    changes: [...facts.waiting, change],
  })
  const subscription = applyChange(scene, facts.row, recallChange(change), { draft: invoice.row, held: false })
  await write(tx, context, scene.deed)
  const { around, deed } = scene
  return { subscription, invoice: deed.invoices.get(invoice.row.id), around, product: facts.product }
}

export async function finish(context: Context, { payment, method, around, product }: Held): Promise<Changed> {
  const outcome = await sendPayment(context, payment, { customerPresent: true, method })
  const settled = await settleKnown(context, { payment, outcome }, around)
  requirePaid(settled.payment)
  return { subscription: settled.subscription, invoice: settled.invoice, around: settled.scene.around, product }
}

/** Until it is paid the old plan stays; a decline leaves nothing behind. */
export function requirePaid(payment: TransactionRow): void {
  if (payment.state === 'failed')
    throw paymentRequired(
      payment.code ?? 'card_declined',
      `The card was not charged (${payment.code}). The subscription keeps its plan; try another card with card_id.`,
    )
  if (payment.state === 'action_required')
    throw paymentRequired(
      'authentication_required',
      `The customer must confirm the payment at ${payment.actionUrl}. The plan changes as soon as they do.`,
    )
  if (payment.state !== 'succeeded')
    throw outcomeUnknown(
      'payment_outcome_unknown',
      'The gateway did not say what became of the payment. The plan changes as soon as it does; don’t ask again.',
    )
}
