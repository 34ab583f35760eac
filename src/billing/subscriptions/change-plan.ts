import { isUniqueViolation, type Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, notFound, outcomeUnknown, paymentRequired, unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import type { CouponRow } from '../coupons/store.ts'
import { customerOf } from '../customers/store.ts'
import { localDate } from '../dates.ts'
import { write } from '../deed.ts'
import { inOneTrip, when } from '../in-one-trip.ts'
import { type NewInvoice, writeDraft } from '../invoices/issue.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import * as lots from '../ledger/store.ts'
import { requireMethodOf } from '../payment-methods/payment-methods.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import type { ProductRow } from '../products/store.ts'
import { sceneOf } from '../scene.ts'
import { paymentWithCarried, sendPayment } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { applyChange } from './apply-change.ts'
import { type ChangeFacts, lookUp, prepare, resolve } from './prepare-change.ts'
import { chargeNow } from './purchase.ts'
import type { ChangeQuote } from './quote-change.ts'
import { recallChange, rememberChange } from './remembered-change.ts'
import { renewDue } from './renew.ts'
import { schedule } from './scheduled.ts'
import type { PlanChangeRequest } from './schema.ts'
import { settleKnown } from './settle.ts'
import { byId, type Surroundings, surroundingsOf } from './show.ts'
import type { SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'

/** Upgrade or downgrade, immediately or at the end of the term. */

/** What the answer shows: the subscription with what it names, and the invoice of the change; none for a scheduled one. */
export interface Changed {
  subscription: SubscriptionRow
  invoice: InvoiceRow | undefined
  around: Surroundings
  /** where it was looked at on the way */
  product: ProductRow | undefined
}

export async function changePlan(
  context: Context,
  subscriptionId: string,
  request: PlanChangeRequest,
  idempotencyKey?: string,
): Promise<Changed> {
  const { db, business } = context
  if (idempotencyKey !== undefined) {
    const made = await changes.findChangeByKey(db, business.id, subscriptionId, idempotencyKey)
    if (made) return resume(context, made)
  }
  const asked = { request, idempotencyKey: idempotencyKey ?? null }
  const started = await inItsTerm(context, subscriptionId, (tx, locked) => start(tx, context, locked, asked)).catch(
    error => {
      throw isUniqueViolation(error, 'billing_change_waiting') ? underWay() : error
    },
  )
  if (started === 'scheduled') return look(context, subscriptionId, undefined)
  return 'payment' in started ? finish(context, started) : started
}

type Locked = Pick<ChangeFacts, 'row' | 'customer'>

/** Under the subscription's lock, and after what was due before: a change on the day of renewal is one of the new period. */
async function inItsTerm<T>(
  context: Context,
  subscriptionId: string,
  run: (tx: Tx, locked: Locked) => Promise<T>,
): Promise<T> {
  const { db, business, now } = context
  const tryOnce = (renewed: boolean) =>
    db.begin(async tx => {
      const [row, customer] = await Promise.all([
        store.lockSubscription(tx, business.id, subscriptionId),
        customerOf(tx, business.id, subscriptionId),
      ])
      if (!row || !customer) throw notFound('Subscription')
      if (!renewed && row.nextBillingAt !== null && row.nextBillingAt <= now) return undefined
      return { done: await run(tx, { row, customer }) }
    })
  const first = await tryOnce(false)
  if (first) return first.done
  await renewDue(context, [subscriptionId])
  return (await tryOnce(true))!.done
}

/** What an immediate change would come to: the computation of the change itself, of which nothing is kept. */
export async function previewChange(
  context: Context,
  subscriptionId: string,
  request: PlanChangeRequest,
): Promise<ChangeQuote> {
  let quote: ChangeQuote | undefined
  const undo = new Error('A preview keeps nothing.')
  await inItsTerm(context, subscriptionId, async (tx, locked) => {
    const facts = await lookUp(tx, context, locked, request)
    requireNoOpenChange(facts)
    const { terms } = await resolve(tx, context, facts, request)
    quote = prepare(context, facts, terms, request).quote
    throw undo
  }).catch(error => {
    if (error !== undo) throw error
  })
  return quote!
}

const underWay = () =>
  conflict('change_in_progress', 'A change of this subscription waits for its payment. Try again when it is settled.')

const requireNoOpenChange = ({ waiting }: Pick<ChangeFacts, 'waiting'>): void => {
  if (waiting.some(change => change.state === 'open')) throw underWay()
}

/** No act on a subscription may run into a change whose card is being charged. */
export async function refuseOpenChange(tx: Tx, businessId: string, subscriptionId: string): Promise<void> {
  if (await changes.findOpen(tx, businessId, subscriptionId)) throw underWay()
}

function chooseMethod({ row, method }: ChangeFacts, request: PlanChangeRequest): MethodRow | undefined {
  if (request.payment_mode === 'offline') return undefined
  if (!request.card_id && row.paymentMethodId === null)
    throw unprocessable(
      'payment_method_missing',
      'The subscription has no card. Give card_id, or set payment_mode to offline.',
      [{ field: 'card_id', message: 'is required when the subscription has no card' }],
    )
  return requireMethodOf(method, row.customerId, 'card_id')
}

type Started = Held | Changed | 'scheduled'

interface Held {
  payment: TransactionRow
  method: MethodRow | undefined
  around: Surroundings | undefined
  product: ProductRow | undefined
}

async function start(
  tx: Tx,
  context: Context,
  locked: Locked,
  asked: { request: PlanChangeRequest; idempotencyKey: string | null },
): Promise<Started> {
  const { business, now } = context
  const { request, idempotencyKey } = asked
  const facts = await lookUp(tx, context, locked, request)
  const { row } = facts
  const method = chooseMethod(facts, request)
  if (row.status === 'unpaid' && (row.periodEnd === null || row.periodEnd <= localDate(now, business.timeZone)))
    throw unprocessable('subscription_unpaid', 'The term is over and unpaid. Pay what is due first.')
  if (request.activated_at_val === 'eot' && row.cancelAtEnd)
    throw unprocessable(
      'subscription_ends',
      'The subscription ends with its term. Take the cancellation back first (PUT /subscription/{id}/resume), or change it immediately.',
      [{ field: 'activated_at_val', message: 'can’t be eot for a subscription that ends' }],
    )
  requireNoOpenChange(facts)
  const { terms, redeemed } = await resolve(tx, context, facts, request)
  if (request.activated_at_val === 'eot') {
    await schedule(tx, context, facts, { terms, request, redeemed, idempotencyKey })
    return 'scheduled'
  }
  const { quote, invoice } = prepare(context, facts, terms, request)
  const how = chargeNow(method?.gateway ?? 'offline', quote.chargeMinor, row.currency)
  const key = { redeemed, idempotencyKey, coupon: terms.coupon }
  if (how === 'charge') return hold(tx, context, facts, { ...key, quote, invoice, method: method! })
  const carried = { ...invoice, row: { ...invoice.row, carried: how === 'carry' } }
  return atOnce(tx, context, facts, { ...key, quote, invoice: carried })
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

/** Draft, attempt and change are written, the lots held; nothing counts until the card is charged. */
async function hold(
  tx: Tx,
  context: Context,
  facts: ChangeFacts,
  drafted: Drafted & { method: MethodRow },
): Promise<Started> {
  const { business, now } = context
  const { quote, invoice, method } = drafted
  const held = quote.uses.filter(use => use.lotId !== quote.newLot?.id)
  const payment = paymentWithCarried(invoice.row, facts.owed, { method, now })
  await inOneTrip([
    ...when(held.length > 0, () => lots.reserveLots(tx, business.id, held, 1)),
    () => writeDraft(tx, business.id, invoice),
    () => changes.insertChange(tx, business.id, changeRow(context, drafted, 'open'), drafted.idempotencyKey),
    () => transactions.insertPayments(tx, business.id, [payment]),
  ])
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
async function atOnce(tx: Tx, context: Context, facts: ChangeFacts, drafted: Drafted): Promise<Changed> {
  const { business } = context
  const { invoice } = drafted
  const change = changeRow(context, drafted, 'applied')
  await inOneTrip([
    () => writeDraft(tx, business.id, invoice),
    () => changes.insertChange(tx, business.id, change, drafted.idempotencyKey),
  ])
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

async function finish(context: Context, { payment, method, around, product }: Held): Promise<Changed> {
  const outcome = await sendPayment(context, payment, { customerPresent: true, method })
  const settled = await settleKnown(context, { payment, outcome }, around)
  requirePaid(settled.payment)
  return { subscription: settled.subscription, invoice: settled.invoice, around: settled.scene.around, product }
}

/** Until it is paid the old plan stays; a decline leaves nothing behind. */
function requirePaid(payment: TransactionRow): void {
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

/** A repeat of a request that began this change and did not get to its end. */
async function resume(context: Context, change: changes.ChangeRow): Promise<Changed> {
  const { db, business } = context
  const { subscriptionId, invoiceId } = change
  if (change.state === 'applied' || change.state === 'scheduled' || invoiceId === null)
    return look(context, subscriptionId, invoiceId ?? undefined)
  const open = await transactions.findOpenPayment(db, business.id, invoiceId)
  if (open && (open.state === 'created' || open.state === 'unknown'))
    return finish(context, { payment: open, method: undefined, around: undefined, product: undefined })
  const last = open ?? (await transactions.paymentsOf(db, business.id, invoiceId)).at(-1)
  if (last) requirePaid(last)
  return look(context, subscriptionId, invoiceId)
}

async function look(
  { db, business }: Context,
  subscriptionId: string,
  invoiceId: string | undefined,
): Promise<Changed> {
  const [row, invoice] = await Promise.all([
    store.findSubscription(db, business.id, subscriptionId),
    invoiceId === undefined ? undefined : invoices.findInvoice(db, business.id, invoiceId),
  ])
  const subscription = row ?? fail(notFound('Subscription'))
  const around = await surroundingsOf(db, business.id, [subscription])
  return { subscription, invoice, around, product: undefined }
}
