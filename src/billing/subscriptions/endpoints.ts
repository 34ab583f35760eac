import { Type } from 'typebox'
import { type Call, endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { Choice, Nullable, PageQuery } from '../../platform/schema.ts'
import { chargeDue } from '../clock/charge-due.ts'
import { type Context, contextOf } from '../context.ts'
import { createCustomer, findCustomerByEmail, getCustomer, showCustomer } from '../customers/customers.ts'
import { CustomerFields, CustomerPath, CustomerSchema } from '../customers/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { readFlag } from '../fields.ts'
import { InvoiceSchema } from '../invoices/schema.ts'
import { keptSubscription, showInvoiceWith } from '../invoices/show.ts'
import { getPlans, showPlan } from '../plans/plans.ts'
import { PlanSchema } from '../plans/schema.ts'
import { productsByIds, showProduct } from '../products/products.ts'
import { ProductSchema } from '../products/schema.ts'
import { cancelSubscription, pauseSubscription, resumeSubscription } from './cancel.ts'
import { changePlan, previewChange } from './change-plan.ts'
import { type Created, createSubscription } from './create.ts'
import { PlanChangePreview, PlanChangePreviewRequest, showPreview } from './preview.ts'
import { renewDue } from './renew.ts'
import { getScheduled, removeScheduled } from './scheduled.ts'
import {
  CancelRequest,
  NewSubscription,
  NewSubscriptionSchema,
  NewSubscriptionWithCustomer,
  PlanChangeRequest,
  ScheduledChangeSchema,
  SubscriptionPath,
  SubscriptionSchema,
  UserSchema,
} from './schema.ts'
import { showSubscription, showSubscriptions, showWith } from './show.ts'
import type { SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import { creditByCustomer } from './usage.ts'
import { showUser } from './user.ts'

async function getSubscription({ db, business }: Context, id: string): Promise<SubscriptionRow> {
  return (await store.findSubscription(db, business.id, id)) ?? fail(notFound('Subscription'))
}

async function showCreated(context: Context, made: Created) {
  const row = await getSubscription(context, made.id)
  const shown = await showSubscription(context.db, context.business.id, row)
  if (made.actionUrl === undefined) return ok('Subscription created', shown)
  return ok('Subscription created; the customer must confirm the payment', {
    ...shown,
    next_action: { type: 'redirect' as const, url: made.actionUrl },
  })
}

export const createWithCustomer = endpoint({
  summary: 'Create a subscription for a customer, who is made if the email address is new',
  body: Type.Object({ ...NewSubscriptionWithCustomer.properties, email_id: CustomerFields.properties.email_id }),
  answer: envelope(NewSubscriptionSchema),
  effects: 'outside',
  run: async call => {
    const context = await contextOf(call)
    const { db, business, body } = call
    const known = await findCustomerByEmail(db, business.id, body.email_id)
    const customer = known ?? (await db.begin(tx => createCustomer(tx, business, body)))
    return showCreated(context, await createSubscription(context, customer, body, call.idempotencyKey))
  },
})

export const create = endpoint({
  summary: 'Create a subscription for a customer',
  params: CustomerPath,
  body: NewSubscription,
  answer: envelope(NewSubscriptionSchema),
  effects: 'outside',
  run: async call => {
    const context = await contextOf(call)
    const customer = await getCustomer(call.db, call.business.id, call.params.customer_id)
    return showCreated(context, await createSubscription(context, customer, call.body, call.idempotencyKey))
  },
})

const one = (context: Context, row: SubscriptionRow) => showSubscription(context.db, context.business.id, row)

export const get = endpoint({
  summary: 'One subscription',
  params: SubscriptionPath,
  answer: envelope(SubscriptionSchema),
  run: async call => {
    const context = await contextOf(call)
    return ok('Subscription', await one(context, await getSubscription(context, call.params.subscription_id)))
  },
})

const ListQuery = Type.Object({ ...PageQuery, status: Type.Optional(Choice(store.statuses)) })

async function pageOf({ db, business, query }: Call<unknown, Type.Static<typeof ListQuery>>, customerId?: string) {
  const page = pageRequest(query)
  const { rows, total } = await store.pageOfSubscriptions(db, business.id, { customerId, status: query.status }, page)
  return okPage('Subscriptions', await showSubscriptions(db, business.id, rows), page, total)
}

export const list = endpoint({
  summary: 'All subscriptions, newest first',
  query: ListQuery,
  answer: pageEnvelope(SubscriptionSchema),
  run: call => pageOf(call),
})

export const listOfCustomer = endpoint({
  summary: "A customer's subscriptions, newest first",
  params: CustomerPath,
  query: ListQuery,
  answer: pageEnvelope(SubscriptionSchema),
  run: async call => {
    const customer = await getCustomer(call.db, call.business.id, call.params.customer_id)
    return pageOf(call, customer.id)
  },
})

export const cancel = endpoint({
  summary: 'Cancel a subscription, now or at the end of its term',
  params: SubscriptionPath,
  body: Type.Optional(CancelRequest),
  answer: envelope(SubscriptionSchema),
  run: async call => {
    const context = await contextOf(call)
    const { cancel_at_end = false, cancel_reason = '' } = call.body ?? {}
    const options = { atEnd: readFlag(cancel_at_end), reason: cancel_reason }
    const row = await cancelSubscription(context, call.params.subscription_id, options)
    return ok(row.status === 'canceled' ? 'Subscription canceled' : 'Cancellation scheduled', await one(context, row))
  },
})

export const pause = endpoint({
  summary: 'Halt a live subscription',
  params: SubscriptionPath,
  answer: envelope(SubscriptionSchema),
  run: async call => {
    const context = await contextOf(call)
    return ok('Subscription paused', await one(context, await pauseSubscription(context, call.params.subscription_id)))
  },
})

export const resume = endpoint({
  summary: 'Go on with a paused subscription, or withdraw its cancellation',
  params: SubscriptionPath,
  answer: envelope(SubscriptionSchema),
  effects: 'outside',
  run: async call => {
    const context = await contextOf(call)
    const row = await resumeSubscription(context, call.params.subscription_id)
    if (row.nextBillingAt !== null && row.nextBillingAt <= context.now) {
      await renewDue(context, [row.id])
      await chargeDue(context)
    }
    return ok('Subscription resumed', await one(context, await getSubscription(context, row.id)))
  },
})

export const getScheduledChange = endpoint({
  summary: 'The change that the end of the term will bring',
  params: SubscriptionPath,
  answer: envelope(ScheduledChangeSchema),
  run: async call => ok('Scheduled change', await getScheduled(await contextOf(call), call.params.subscription_id)),
})

export const removeScheduledChange = endpoint({
  summary: 'Take back the change that the end of the term would bring',
  params: SubscriptionPath,
  answer: envelope(ScheduledChangeSchema),
  run: async call =>
    ok('Scheduled change removed', await removeScheduled(await contextOf(call), call.params.subscription_id)),
})

const PlanChangeSchema = Type.Object({
  user: UserSchema,
  customer: CustomerSchema,
  product: ProductSchema,
  plan: PlanSchema,
  subscription: SubscriptionSchema,
  invoice: Nullable(InvoiceSchema),
})

export const upgradeDowngrade = endpoint({
  summary: 'Upgrade or downgrade a subscription, immediately or at the end of its term',
  description: 'A change at the end of the term (eot) has no invoice yet. A declined card keeps the old plan: 402.',
  params: SubscriptionPath,
  body: PlanChangeRequest,
  answer: envelope(PlanChangeSchema),
  effects: 'outside',
  run: async call => {
    const context = await contextOf(call)
    const { db, business, params, body } = call
    const [changed, user] = await Promise.all([
      changePlan(context, params.subscription_id, body, call.idempotencyKey),
      showUser(db, business),
    ])
    const { subscription, invoice, around } = changed
    const [credit, [product], [plan]] = await Promise.all([
      creditOf(context, subscription.customerId),
      changed.product ? [changed.product] : productsByIds(db, business.id, [subscription.productId]),
      // The plan asked for; of a change at the end of the term it is not the subscription's yet.
      around.plans.has(body.plan_id) ? [around.plans.get(body.plan_id)] : getPlans(db, business.id, [body.plan_id]),
    ])
    return ok(invoice ? `Subscription ${subscription.updateType}d` : 'Change scheduled for the end of the term', {
      user,
      customer: showCustomer(around.customers.get(subscription.customerId)!, credit),
      product: showProduct(product!),
      plan: showPlan(plan!),
      subscription: showWith(subscription, around),
      invoice: invoice ? showInvoiceWith(invoice, keptSubscription(invoice, around)) : null,
    })
  },
})

export const previewUpgradeDowngrade = endpoint({
  summary: 'What an immediate change of plan would come to; nothing is changed or charged',
  params: SubscriptionPath,
  body: PlanChangePreviewRequest,
  answer: envelope(PlanChangePreview),
  readOnly: true,
  run: async call => {
    const context = await contextOf(call)
    const { subscription_id } = call.params
    const quote = await previewChange(context, subscription_id, { payment_mode: 'credit_card', ...call.body })
    return ok(`The subscription would be ${quote.updateType}d`, showPreview(quote, call.business.timeZone))
  },
})

async function creditOf({ db, business }: Context, customerId: string) {
  const credit = await creditByCustomer(db, business.id, { customerIds: [customerId], currency: business.currency })
  const minor = credit.get(customerId)
  return minor === undefined ? null : { minor, currency: business.currency }
}
