import { isUniqueViolation, sendAlong, type Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { invalidField, outcomeUnknown, paymentRequired, unprocessable } from '../../platform/problem.ts'
import { getAddons } from '../addons/addons.ts'
import { noteDue } from '../clock/due.ts'
import type { Context } from '../context.ts'
import { findUsableCoupon, redeemCoupon } from '../coupons/redeem.ts'
import { lockCustomerForSale } from '../customers/customers.ts'
import type { CustomerRow } from '../customers/store.ts'
import { localDate, startOfDay } from '../dates.ts'
import { tellInvoices, tellSubscription } from '../events-lifecycle.ts'
import { writeDraft } from '../invoices/issue.ts'
import * as invoices from '../invoices/store.ts'
import { toMinor } from '../money.ts'
import { noteMrr } from '../mrr/mrr.ts'
import { addMethod, getMethodOf, methodsOf } from '../payment-methods/payment-methods.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import { getPlan, lockPlanForSale } from '../plans/plans.ts'
import type { PlanRow } from '../plans/store.ts'
import { openPayment, sendPayment } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { chargeNow, firstBill, inTrial, issuePurchase, taxesOf } from './purchase.ts'
import type { NewSubscription } from './schema.ts'
import { settlePayment } from './settle.ts'
import type { SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import { cyclesOf, invoicesOf, readAddons, readQuantity, sellAddons, trialDaysOf } from './terms.ts'

/**
 * A new subscription is `future` (it starts later), `trial`, `live` (nothing to charge, or paid offline by its term),
 * or `pending` while its first bill is a draft and the card is charged.
 */
export interface Created {
  id: string
  /** where the customer confirms the payment, when the card asks for it */
  actionUrl: string | undefined
}

export async function createSubscription(
  context: Context,
  customer: CustomerRow,
  order: NewSubscription,
  idempotencyKey: string | undefined,
): Promise<Created> {
  const { db, business } = context
  if (idempotencyKey !== undefined) {
    const made = await store.findByKey(db, business.id, idempotencyKey)
    if (made) return resume(context, made)
  }
  const plan = await getPlan(db, business.id, order.plan_id)
  if (!plan.planActive)
    throw unprocessable('plan_inactive', `The plan "${plan.planName}" is not sold at the moment.`, [
      { field: 'plan_id', message: 'names an inactive plan' },
    ])
  const method = await chooseMethod(context, customer, order)
  const row = newRow(context, customer, plan, order, method)
  const payment = await db.begin(tx => insert(tx, context, { customer, plan, order, method, row, idempotencyKey }))
  await noteDue(db, business)
  return payment ? finish(context, row.id, payment) : { id: row.id, actionUrl: undefined }
}

/** The card to charge; undefined for offline. */
async function chooseMethod(
  context: Context,
  customer: CustomerRow,
  order: NewSubscription,
): Promise<MethodRow | undefined> {
  const { db, business } = context
  if (order.gateway_type === 'offline') return undefined
  if (order.payment_method)
    return getMethodOf(db, business.id, { customerId: customer.id, id: order.payment_method, field: 'payment_method' })
  if (order.card || order.token)
    return addMethod(context, customer, {
      gateway_type: order.gateway_type ?? (order.card ? 'test' : 'stripe'),
      card: order.card,
      token: order.token,
    })
  const [saved] = (await methodsOf(db, business.id, customer.id)).filter(
    one => order.gateway_type === undefined || one.gateway === order.gateway_type,
  )
  if (!saved)
    throw unprocessable(
      'payment_method_missing',
      'The customer has no card. Save one with POST /paymentmethod, or set gateway_type to offline.',
      [{ field: 'payment_method', message: 'is required unless gateway_type is offline' }],
    )
  return saved
}

export function newRow(
  context: Context,
  customer: Pick<CustomerRow, 'id'>,
  plan: PlanRow,
  order: NewSubscription,
  method: MethodRow | undefined,
): SubscriptionRow {
  const { now, business } = context
  const today = localDate(now, business.timeZone)
  const startsAt = order.starts_at ? new Date(order.starts_at) : now
  const start = localDate(startsAt, business.timeZone)
  if (start < today) throw unprocessable('starts_in_past', 'starts_at lies in the past. Leave it out to start now.')
  if (start > '2200-01-01') throw invalidField('starts_at', 'must be before the year 2200')
  const price = order.price === undefined || order.price === '' ? undefined : order.price
  const row: SubscriptionRow = {
    id: newId(),
    customerId: customer.id,
    productId: plan.productId,
    planId: plan.id,
    status: 'pending',
    currency: plan.currencyCode,
    quantity: readQuantity(order.quantity) ?? 1,
    planType: plan.planType,
    unitPriceMinor: price === undefined ? plan.priceMinor : toMinor(price, plan.currencyCode, 'price'),
    setupFeeMinor: plan.setupFeeMinor,
    setupFeeDue: plan.setupFeeMinor > 0n,
    periodUnit: plan.billingPeriod,
    periodCount: plan.billingPeriodNum,
    cyclesLeft: cyclesOf(plan),
    trialDays: trialDaysOf(plan, start),
    anchorDate: start,
    anchorPeriodNo: 1,
    periodNo: 0,
    periodStart: null,
    periodEnd: null,
    nextBillingAt: null,
    remindAt: null,
    startsAt,
    activationAt: null,
    trialStart: null,
    trialExpiryAt: null,
    expiryAt: null,
    lastBillingAt: null,
    canceledAt: null,
    cancelAtEnd: false,
    cancelReason: '',
    gateway: method?.gateway ?? 'offline',
    paymentMethodId: method?.id ?? null,
    paymentTerm: order.payment_term ?? 'net0',
    customFields: order.custom_fields ?? [],
    couponId: null,
    couponLeft: null,
    updateReason: '',
    updateType: '',
    deferredMinor: 0n,
    activated: false,
    parkedError: null,
    createdAt: now,
    updatedAt: now,
  }
  if (start > today) return { ...row, status: 'future', nextBillingAt: startOfDay(start, business.timeZone) }
  return row.trialDays > 0 ? inTrial(row, start, { now, timeZone: business.timeZone }) : row
}

interface Order {
  customer: CustomerRow
  plan: PlanRow
  order: NewSubscription
  method: MethodRow | undefined
  row: SubscriptionRow
  idempotencyKey: string | undefined
}

/** Writes everything of the sale; answers the payment that is to be sent, if any. */
async function insert(tx: Tx, context: Context, sale: Order): Promise<TransactionRow | undefined> {
  const { business, now } = context
  const { customer, plan, order, method } = sale
  await lockCustomerForSale(tx, business.id, customer.id)
  await lockPlanForSale(tx, business.id, plan)
  const choices = readAddons(order.addons) ?? []
  const ids = choices.map(choice => choice.addonId)
  const addons = sellAddons(choices, await getAddons(tx, business.id, ids), plan, sale.row.anchorDate)
  const coupon = order.coupon_code
    ? await redeemCoupon(
        tx,
        business.id,
        (await findUsableCoupon(tx, business, { plan, code: order.coupon_code, now })).id,
      )
    : undefined
  const row: SubscriptionRow = {
    ...sale.row,
    couponId: coupon?.id ?? null,
    couponLeft: coupon ? invoicesOf(coupon) : null,
  }
  const key = sale.idempotencyKey ?? null
  const save = async (made: SubscriptionRow, madeAddons: typeof addons) => {
    try {
      await tx.savepoint(inner => store.insertSubscription(inner as Tx, business.id, made, key))
    } catch (error) {
      throw isUniqueViolation(error, 'billing_subscription_key') ? keyInUse() : error
    }
    await sendAlong(tx, ...store.replaceAddons(tx, business.id, made.id, madeAddons))
    await tellSubscription(tx, context, ['subscription_create'], made)
  }
  if (row.status !== 'pending') {
    await save(row, addons)
    return undefined
  }
  const rates = await taxesOf(tx, business.id, customer)
  const purchase = firstBill(context, { row, addons, plan, customer, coupon, rates })
  const how = chargeNow(row.gateway, purchase.invoice.row.dueMinor, row.currency)
  if (how !== 'charge') {
    await save(purchase.subscription, purchase.addons)
    await issuePurchase(tx, context, purchase, how)
    await noteMrr(tx, context, [purchase.subscription.id])
    return undefined
  }
  await save(row, purchase.addons)
  await sendAlong(tx, ...writeDraft(tx, business.id, purchase.invoice))
  await tellInvoices(tx, context, 'invoice_pending', [purchase.invoice.row])
  return openPayment(tx, business.id, purchase.invoice.row, { method: method!, now })
}

const keyInUse = () =>
  unprocessable('idempotency_key_reused', 'This Idempotency-Key has made a subscription before. Use a new key.')

/** Charges and says what became of it. The same attempt may come here again after a crash; the gateway knows its key. */
async function finish(context: Context, subscriptionId: string, payment: TransactionRow): Promise<Created> {
  const outcome = await sendPayment(context, payment, { customerPresent: true })
  const settled = await settlePayment(context, payment.id, outcome)
  return answer(subscriptionId, settled)
}

function answer(subscriptionId: string, payment: TransactionRow): Created {
  if (payment.state === 'failed')
    throw paymentRequired(
      payment.code ?? 'card_declined',
      `The payment failed (${payment.code}). Subscription ${subscriptionId} waits for it: ` +
        `pay its invoice with POST /invoice/collect/${payment.invoiceId} and another card, or cancel it.`,
    )
  if (payment.state === 'unknown')
    throw outcomeUnknown(
      'payment_outcome_unknown',
      `The gateway did not say what became of the payment. Subscription ${subscriptionId} is settled as soon as it does; don't order again.`,
    )
  const actionUrl = payment.state === 'action_required' ? (payment.actionUrl ?? '') : undefined
  return { id: subscriptionId, actionUrl }
}

/** A repeat of a request that made this subscription and then did not get to its end. */
async function resume(context: Context, row: SubscriptionRow): Promise<Created> {
  if (row.status !== 'pending') return { id: row.id, actionUrl: undefined }
  const { db, business } = context
  const [draft] = await db.begin(tx => invoices.lockPendingInvoices(tx, business.id, row.id))
  if (!draft) return { id: row.id, actionUrl: undefined }
  const open = await transactions.findOpenPayment(db, business.id, draft.id)
  if (open && (open.state === 'created' || open.state === 'unknown')) return finish(context, row.id, open)
  const last = open ?? (await transactions.paymentsOf(db, business.id, draft.id)).at(-1)
  return last ? answer(row.id, last) : { id: row.id, actionUrl: undefined }
}
