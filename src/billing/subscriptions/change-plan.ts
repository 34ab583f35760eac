import { isUniqueViolation, type Tx } from '../../platform/database.ts'
import { conflict, fail, notFound, unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import { localDate } from '../dates.ts'
import * as invoices from '../invoices/store.ts'
import { sum } from '../money.ts'
import { requireMethodOf } from '../payment-methods/payment-methods.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import { carriedTo } from '../transactions/attempt.ts'
import * as transactions from '../transactions/store.ts'
import { atOnce, type Changed, finish, type Held, hold, owedAfter, requirePaid } from './carry-out-change.ts'
import { type ChangeFacts, lookUp, prepare, resolve } from './prepare-change.ts'
import { chargeNow } from './purchase.ts'
import type { ChangeQuote } from './quote-change.ts'
import { renewDue } from './renew.ts'
import { schedule } from './scheduled.ts'
import type { PlanChangeRequest } from './schema.ts'
import { surroundingsOf } from './show.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'

/** Upgrade or downgrade, immediately or at the end of the term. */

export async function changePlan(
  context: Context,
  subscriptionId: string,
  request: PlanChangeRequest,
  idempotencyKey?: string,
): Promise<Changed> {
  if (idempotencyKey !== undefined) {
    const made = await findAskedChange(context, subscriptionId, idempotencyKey)
    if (made) return resume(context, made)
  }
  const asked = { request, idempotencyKey: idempotencyKey ?? null }
  const started = await inItsTerm(context, { subscriptionId, request }, (tx, facts) =>
    start(tx, context, facts, asked),
  ).catch(error => {
    throw isUniqueViolation(error, 'billing_change_waiting') ? underWay() : error
  })
  if (started === 'scheduled') return look(context, subscriptionId, undefined)
  return 'payment' in started ? finish(context, started) : started
}

/** The change that was asked for under this key, whatever became of it. */
export const findAskedChange = (
  { db, business }: Pick<Context, 'db' | 'business'>,
  subscriptionId: string,
  idempotencyKey: string,
): Promise<changes.ChangeRow | undefined> => changes.findChangeByKey(db, business.id, subscriptionId, idempotencyKey)

/** Under the subscription's lock, and after what was due before: a change on the day of renewal is one of the new period. */
async function inItsTerm<T>(
  context: Context,
  asked: { subscriptionId: string; request: PlanChangeRequest },
  run: (tx: Tx, facts: ChangeFacts) => Promise<T>,
): Promise<T> {
  const tryOnce = (isRenewed: boolean) =>
    context.db.begin(async tx => {
      const facts = await lookUp(tx, context, { ...asked, isRenewed })
      return facts === 'due' ? undefined : { done: await run(tx, facts) }
    })
  const first = await tryOnce(false)
  if (first) return first.done
  await renewDue(context, [asked.subscriptionId])
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
  await inItsTerm(context, { subscriptionId, request }, async (tx, facts) => {
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

async function start(
  tx: Tx,
  context: Context,
  facts: ChangeFacts,
  asked: { request: PlanChangeRequest; idempotencyKey: string | null },
): Promise<Started> {
  const { business, now } = context
  const { request, idempotencyKey } = asked
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
  const carriedMinor = sum(carriedTo(invoice.row, owedAfter(facts, quote)).map(one => one.dueMinor))
  const how = chargeNow(method?.gateway ?? 'offline', quote.chargeMinor, row.currency, carriedMinor)
  const key = { redeemed, idempotencyKey, coupon: terms.coupon }
  if (how === 'charge') return hold(tx, context, facts, { ...key, quote, invoice, method: method! })
  const carried = { ...invoice, row: { ...invoice.row, carried: how === 'carry' } }
  return atOnce(tx, context, facts, { ...key, quote, invoice: carried })
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
