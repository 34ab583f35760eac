import type { Static } from 'typebox'
import type { Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import type { CustomerRow } from '../customers/store.ts'
import { gatewayFor } from '../gateways/registry.ts'
import { lockSubscription, setPaymentMethod } from '../subscriptions/store.ts'
import { type MethodSchema, type NewMethod, readCard } from './schema.ts'
import type { MethodRow } from './store.ts'
import * as store from './store.ts'

/** The gateway keeps the card; we keep what it calls it, and enough to recognise it. */
export async function addMethod(context: Context, customer: CustomerRow, given: NewMethod): Promise<MethodRow> {
  const { db, business, now } = context
  const gateway = await gatewayFor(context, given.gateway_type)
  const id = newId()
  const saved = await gateway.saveMethod({
    card: readCard(given.card),
    token: given.token,
    key: `${business.id}:${id}`,
    email: customer.emailId,
    now,
  })
  const row: MethodRow = {
    id,
    customerId: customer.id,
    gateway: given.gateway_type,
    gatewayMethod: saved.ref,
    gatewayCustomer: saved.customer,
    brand: saved.brand,
    last4: saved.last4,
    expMonth: saved.expMonth,
    expYear: saved.expYear,
    createdAt: now,
    updatedAt: now,
  }
  await db.begin(async tx => {
    await store.insertMethod(tx, business.id, row)
    await store.attachMethod(tx, business.id, row)
  })
  return row
}

export const methodsOf = store.methodsOf

/** A card of this customer, named in a request. */
export async function getMethodOf(
  db: Db,
  businessId: string,
  options: { customerId: string; id: string; field: string },
): Promise<MethodRow> {
  return requireMethodOf(await store.findMethod(db, businessId, options.id), options.customerId, options.field)
}

export function requireMethodOf(method: MethodRow | undefined, customerId: string, field: string): MethodRow {
  if (method?.customerId === customerId) return method
  throw unprocessable('payment_method_not_found', 'The customer has no such payment method.', [
    { field, message: 'is not a payment method of this customer' },
  ])
}

/** From now on the subscription is paid with this card. */
export function payWith({ db, business }: Context, subscriptionId: string, method: MethodRow): Promise<void> {
  return db.begin(async tx => {
    const row = (await lockSubscription(tx, business.id, subscriptionId)) ?? fail(notFound('Subscription'))
    if (row.customerId !== method.customerId) throw notFound('Payment method')
    await setPaymentMethod(tx, business.id, row.id, method)
  })
}

/** Spec silent: subscriptions paid with the card go on with the customer's newest other card of the same gateway. */
export function removeMethod({ db, business, now }: Context, id: string): Promise<MethodRow> {
  return db.begin(async tx => {
    const row = (await store.hideMethod(tx, business.id, id, now)) ?? fail(notFound('Payment method'))
    const others = await store.methodsOf(tx, business.id, row.customerId)
    const next = others.find(other => other.gateway === row.gateway)
    await store.replaceMethod(tx, business.id, { from: row, to: next?.id ?? null })
    return row
  })
}

export const showMethod = (row: MethodRow): Static<typeof MethodSchema> => ({
  id: row.id,
  customer_id: row.customerId,
  gateway_type: row.gateway,
  brand: row.brand,
  last4: row.last4,
  exp_month: row.expMonth,
  exp_year: row.expYear,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})
