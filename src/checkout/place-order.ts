import type { Context } from '../billing/context.ts'
import { createCustomer, findCustomerByEmail, updateCustomer } from '../billing/customers/customers.ts'
import type { CustomerRow } from '../billing/customers/store.ts'
import type { Card } from '../billing/gateways/gateway.ts'
import { majorText } from '../billing/money.ts'
import { removeMethod } from '../billing/payment-methods/payment-methods.ts'
import { cancelSubscription } from '../billing/subscriptions/cancel.ts'
import { createSubscription } from '../billing/subscriptions/create.ts'
import { findByKey } from '../billing/subscriptions/store.ts'
import type { Form } from '../platform/endpoint.ts'
import { fail, notFound, Problem } from '../platform/problem.ts'
import { noteTry } from '../platform/site/tries.ts'
import { type Choice, couponFault } from './choice.ts'
import type { Faults, Method, Person } from './entry.ts'
import { cardLimit } from './limits.ts'
import type { Offer } from './offer.ts'
import { sendReceipt } from './receipt-mail.ts'
import * as store from './store.ts'
import type { Texts } from './texts/en.ts'

/** Turns a filled form into customer, subscription, invoice and receipt; however often it is sent, once. */

export interface OrderForm {
  id: string
  offer: Offer
  choice: Choice
  person: Person
  method: Method
  card: Card | undefined
  /** a payment method that the payment provider collected on its own page */
  token: string | undefined
  /** what was typed, without the card */
  entry: Form
  session: string
  ip: string
  texts: Texts
}

/** Where an order stands that was taken on: done, waiting for the customer's bank, or in other hands. */
export type Standing = { kind: 'placed'; subscriptionId: string } | { kind: 'confirm'; url: string } | { kind: 'busy' }
export type Placed = Standing | { kind: 'refused'; faults: Faults }

const holdSeconds = 90

export async function placeOrder(context: Context, form: OrderForm): Promise<Placed> {
  const { db, business } = context
  const { multiplan } = form.offer
  const held = await store.holdOrder(db, business.id, {
    id: form.id,
    multiplanId: multiplan.id,
    entry: form.entry,
    language: form.texts.language,
    seconds: holdSeconds,
  })
  if (!held) return stateOfOrder(context, form.id)
  const key = keyOf(held)
  const { customer, before } = await takeCustomer(context, form.person)
  try {
    const made = await createSubscription(context, customer, orderOf(form), key)
    if (made.actionUrl !== undefined) {
      await store.setOrder(db, business.id, { id: form.id, state: 'confirming', subscriptionId: made.id })
      return { kind: 'confirm', url: made.actionUrl }
    }
    await finishOrder(context, form.id, made.id)
    return { kind: 'placed', subscriptionId: made.id }
  } catch (error) {
    if (error instanceof Problem && error.status === 504) return doubtful(context, form.id, key)
    await refuse(context, form, { key, error, before })
    return { kind: 'refused', faults: faultsOf(error, form.texts) }
  }
}

export const keyOf = (order: Pick<store.OrderRow, 'id' | 'attempt'>) => `checkout:${order.id}:${order.attempt}`

/** Somebody else placed it, or is about to: another tab, the first of two clicks. */
async function stateOfOrder(context: Context, orderId: string): Promise<Standing> {
  const order = (await store.findOrder(context.db, context.business.id, orderId)) ?? fail(notFound('Order'))
  if (order.subscriptionId !== null) return { kind: 'placed', subscriptionId: order.subscriptionId }
  return { kind: 'busy' }
}

/** The gateway did not say what became of it: the customer must not try again; we ask, and write when we know. */
async function doubtful(context: Context, orderId: string, key: string): Promise<Placed> {
  const { db, business } = context
  const made = (await findByKey(db, business.id, key)) ?? fail(notFound('Subscription'))
  await store.setOrder(db, business.id, { id: orderId, state: 'confirming', subscriptionId: made.id })
  return { kind: 'placed', subscriptionId: made.id }
}

/** The order is placed for good; its receipt goes out in the same transaction, so exactly once. */
export async function finishOrder(context: Context, orderId: string, subscriptionId: string): Promise<void> {
  const { db, business } = context
  await db.begin(async tx => {
    const language = await store.placeOrder(tx, business.id, { id: orderId, subscriptionId })
    if (language !== undefined) await sendReceipt(tx, context, { subscriptionId, language })
  })
}

async function refuse(
  context: Context,
  form: OrderForm,
  { key, error, before }: { key: string; error: unknown; before: CustomerRow | undefined },
): Promise<void> {
  const { db, business } = context
  const declined = error instanceof Problem && error.status === 402
  if (declined) {
    await noteTry(db, business.id, cardLimit(form), `${form.id} ${key}`)
    await dropPending(context, key)
  }
  if (error instanceof Problem && before) await restoreAddress(context, before)
  await store.reopenOrder(db, business.id, form.id, { tried: declined })
  if (!(error instanceof Problem) || error.status >= 500) throw error
}

/** A refused purchase leaves nothing that could be charged later: no subscription, no card. Its coupon is free again. */
export async function dropPending(context: Context, key: string): Promise<void> {
  const pending = await findByKey(context.db, context.business.id, key)
  if (pending?.status !== 'pending') return
  await cancelSubscription(context, pending.id, { atEnd: false, reason: 'Payment failed at checkout.' })
  if (pending.paymentMethodId !== null) await removeMethod(context, pending.paymentMethodId)
}

/**
 * Spec silent: who buys with the address of an existing customer becomes no second one. The order's billing address is
 * taken over, because it decides the tax of this invoice; names stay, and everything is put back when the card is refused.
 */
async function takeCustomer(
  context: Context,
  person: Person,
): Promise<{ customer: CustomerRow; before: CustomerRow | undefined }> {
  const { db, business } = context
  const fields = {
    email_id: person.email,
    first_name: person.firstName,
    last_name: person.lastName,
    company_name: person.company,
    billing_address: person.address,
    tax_id: person.taxId,
  }
  const known = await findCustomerByEmail(db, business.id, person.email)
  if (!known) {
    try {
      return { customer: await db.begin(tx => createCustomer(tx, business, fields, 'checkout')), before: undefined }
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 409) throw error
      return takeCustomer(context, person)
    }
  }
  const changes = { billing_address: person.address, ...(person.taxId && { tax_id: person.taxId }) }
  return { customer: await updateCustomer(db, business, known.id, changes), before: known }
}

const restoreAddress = ({ db, business }: Context, before: CustomerRow) =>
  updateCustomer(db, business, before.id, { billing_address: before.billingAddress, tax_id: before.taxId })

function orderOf({ choice, method, card, token }: OrderForm) {
  const { plan, quantity, amountMinor, addons, coupon } = choice
  return {
    plan_id: plan.id,
    gateway_type: method === 'card' ? ('test' as const) : method,
    quantity,
    ...(amountMinor !== undefined && { price: majorText(amountMinor, plan.currencyCode) }),
    ...(coupon && { coupon_code: coupon.couponCode }),
    addons: addons.map(({ addon, quantity: count }) => ({ addon_id: addon.id, quantity: count })),
    ...(method === 'card' && { card }),
    ...(method === 'stripe' && { token }),
  }
}

/** What billing refused, in words beside the field it is about. */
function faultsOf(error: unknown, texts: Texts): Faults {
  const { faults } = texts
  if (!(error instanceof Problem)) throw error
  if (error.code.startsWith('coupon_')) return { coupon: couponFault(error.code, texts) }
  switch (error.code) {
    case 'plan_inactive':
    case 'plan_not_found':
      return { plan: faults.planGone }
    case 'insufficient_funds':
      return { card_number: faults.insufficientFunds }
    case 'authentication_failed':
    case 'authentication_canceled':
      return { card_number: faults.authenticationFailed }
    case 'gateway_unavailable':
      return { card_number: faults.gatewayAway }
    case 'card_expired':
      return { card_expiry: faults.cardExpiry }
    case 'not_a_test_card':
      return { card_number: faults.cardNumber }
    default:
      if (error.status === 402) return { card_number: faults.declined }
      throw error
  }
}
