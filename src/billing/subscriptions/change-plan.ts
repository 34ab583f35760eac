import { isUniqueViolation, type Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, notFound, outcomeUnknown, paymentRequired, unprocessable } from '../../platform/problem.ts'
import { noteDue } from '../clock/due.ts'
import type { Context } from '../context.ts'
import { localDate } from '../dates.ts'
import { getMethodOf } from '../payment-methods/payment-methods.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import { getPlan, lockPlanForSale } from '../plans/plans.ts'
import type { PlanRow } from '../plans/store.ts'
import { openPayment, sendPayment } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { applyChange, holdChange, rememberChange, tellClosed } from './apply-change.ts'
import { changeDate, check, prepare, resolve } from './prepare-change.ts'
import { chargeNow } from './purchase.ts'
import type { ChangeQuote } from './quote-change.ts'
import { renewDue } from './renew.ts'
import { schedule } from './scheduled.ts'
import type { PlanChangeRequest } from './schema.ts'
import { settlePayment } from './settle.ts'
import type { SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'

/** Upgrade or downgrade, immediately or at the end of the term. */

/** Answers the invoice of the change; none for a scheduled one. */
export async function changePlan(
  context: Context,
  subscriptionId: string,
  request: PlanChangeRequest,
  idempotencyKey?: string,
): Promise<{ invoiceId: string | undefined }> {
  const { db, business, now } = context
  const before = (await store.findSubscription(db, business.id, subscriptionId)) ?? fail(notFound('Subscription'))
  if (idempotencyKey !== undefined) {
    const made = await changes.findChangeByKey(db, business.id, subscriptionId, idempotencyKey)
    if (made) return resume(context, made)
  }
  // A change on the day of renewal is one of the new period.
  if (before.nextBillingAt !== null && before.nextBillingAt <= now) await renewDue(context, [subscriptionId])
  const plan = await getPlan(db, business.id, request.plan_id)
  const method = await chooseMethod(context, before, request)
  const started = await db
    .begin(tx => start(tx, context, { subscriptionId, plan, request, method, idempotencyKey: idempotencyKey ?? null }))
    .catch(error => {
      throw isUniqueViolation(error, 'billing_change_open') ? underWay() : error
    })
  await noteDue(db, business)
  if (!started.payment) return { invoiceId: started.invoiceId }
  return finish(context, started.payment)
}

/** What an immediate change would come to: the computation of the change itself, of which nothing is kept. */
export async function previewChange(
  context: Context,
  subscriptionId: string,
  request: PlanChangeRequest,
): Promise<ChangeQuote> {
  const { db, business, now } = context
  const before = (await store.findSubscription(db, business.id, subscriptionId)) ?? fail(notFound('Subscription'))
  if (before.nextBillingAt !== null && before.nextBillingAt <= now) await renewDue(context, [subscriptionId])
  const plan = await getPlan(db, business.id, request.plan_id)
  let quote: ChangeQuote | undefined
  const undo = new Error('A preview keeps nothing.')
  await db
    .begin(async tx => {
      const row = (await store.lockSubscription(tx, business.id, subscriptionId)) ?? fail(notFound('Subscription'))
      check(row, plan, request)
      await refuseOpenChange(tx, business.id, row.id)
      const on = changeDate(row, localDate(now, business.timeZone))
      const { terms, addons, coupon } = await resolve(tx, context, row, plan, request, on)
      quote = (await prepare(tx, context, row, { terms, addons, coupon, on, request })).quote
      throw undo
    })
    .catch(error => {
      if (error !== undo) throw error
    })
  return quote!
}

const underWay = () =>
  conflict('change_in_progress', 'A change of this subscription waits for its payment. Try again when it is settled.')

/** No act on a subscription may run into a change whose card is being charged. */
export async function refuseOpenChange(tx: Tx, businessId: string, subscriptionId: string): Promise<void> {
  if (await changes.findOpen(tx, businessId, subscriptionId)) throw underWay()
}

async function chooseMethod(
  { db, business }: Context,
  row: SubscriptionRow,
  request: PlanChangeRequest,
): Promise<MethodRow | undefined> {
  if (request.payment_mode === 'offline') return undefined
  const id = request.card_id || row.paymentMethodId
  if (!id)
    throw unprocessable(
      'payment_method_missing',
      'The subscription has no card. Give card_id, or set payment_mode to offline.',
      [{ field: 'card_id', message: 'is required when the subscription has no card' }],
    )
  return getMethodOf(db, business.id, { customerId: row.customerId, id, field: 'card_id' })
}

interface Started {
  invoiceId: string | undefined
  payment: TransactionRow | undefined
}

async function start(
  tx: Tx,
  context: Context,
  asked: {
    subscriptionId: string
    plan: PlanRow
    request: PlanChangeRequest
    method: MethodRow | undefined
    idempotencyKey: string | null
  },
): Promise<Started> {
  const { business, now } = context
  const { plan, request, method } = asked
  const row = (await store.lockSubscription(tx, business.id, asked.subscriptionId)) ?? fail(notFound('Subscription'))
  check(row, plan, request)
  await lockPlanForSale(tx, business.id, plan)
  const today = localDate(now, business.timeZone)
  if (row.status === 'unpaid' && (row.periodEnd === null || row.periodEnd <= today))
    throw unprocessable('subscription_unpaid', 'The term is over and unpaid. Pay what is due first.')
  await refuseOpenChange(tx, business.id, row.id)
  const on = changeDate(row, today)
  const { terms, addons, coupon, redeemed } = await resolve(tx, context, row, plan, request, on)
  if (request.activated_at_val === 'eot') {
    await schedule(tx, context, row, { terms, addons, coupon, request, redeemed, idempotencyKey: asked.idempotencyKey })
    return { invoiceId: undefined, payment: undefined }
  }
  const { quote, invoice } = await prepare(tx, context, row, { terms, addons, coupon, on, request })
  const changeId = newId()
  const how = chargeNow(method?.gateway ?? 'offline', quote.chargeMinor, row.currency)
  if (how !== 'charge') {
    const carried = { ...invoice, row: { ...invoice.row, carried: how === 'carry' } }
    const after = await applyChange(tx, context, row, { quote, invoice: carried, changeId })
    await keepChange(tx, context, {
      changeId,
      quote,
      invoiceId: invoice.row.id,
      state: 'applied',
      redeemed,
      key: asked.idempotencyKey,
    })
    await tellClosed(tx, context, after, quote.uses)
    return { invoiceId: invoice.row.id, payment: undefined }
  }
  await holdChange(tx, context, { quote, invoice })
  await keepChange(tx, context, {
    changeId,
    quote,
    invoiceId: invoice.row.id,
    state: 'open',
    redeemed,
    key: asked.idempotencyKey,
  })
  const payment = await openPayment(tx, business.id, invoice.row, { method: method!, now })
  return { invoiceId: invoice.row.id, payment }
}

const keepChange = (
  tx: Tx,
  { business, now }: Context,
  change: {
    changeId: string
    quote: ChangeQuote
    invoiceId: string
    state: 'open' | 'applied'
    redeemed: string | null
    key: string | null
  },
) =>
  changes.insertChange(
    tx,
    business.id,
    {
      id: change.changeId,
      subscriptionId: change.quote.subscription.id,
      state: change.state,
      updateType: change.quote.updateType,
      planId: change.quote.subscription.planId,
      terms: rememberChange(change.quote, change.redeemed) as unknown as Record<string, unknown>,
      invoiceId: change.invoiceId,
      transactionId: null,
      createdAt: now,
      updatedAt: now,
    },
    change.key,
  )

async function finish(context: Context, payment: TransactionRow): Promise<{ invoiceId: string }> {
  const outcome = await sendPayment(context, payment, { customerPresent: true })
  return answer(await settlePayment(context, payment.id, outcome))
}

/** Until it is paid the old plan stays; a decline leaves nothing behind. */
function answer(payment: TransactionRow): { invoiceId: string } {
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
  return { invoiceId: payment.invoiceId }
}

/** A repeat of a request that began this change and did not get to its end. */
async function resume(context: Context, change: changes.ChangeRow): Promise<{ invoiceId: string | undefined }> {
  const { db, business } = context
  if (change.state === 'applied' || change.state === 'scheduled' || change.invoiceId === null)
    return { invoiceId: change.invoiceId ?? undefined }
  const open = await transactions.findOpenPayment(db, business.id, change.invoiceId)
  if (open && (open.state === 'created' || open.state === 'unknown')) return finish(context, open)
  const last = open ?? (await transactions.paymentsOf(db, business.id, change.invoiceId)).at(-1)
  return last ? answer(last) : { invoiceId: change.invoiceId }
}
