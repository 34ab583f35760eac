import type { Business } from '../platform/business.ts'
import { nowFor } from '../platform/clock.ts'
import type { Platform } from '../platform/platform.ts'
import { billingKeeper } from './clock/due.ts'
import type { Context } from './context.ts'
import type { CustomerRow } from './customers/store.ts'
import type { DemoCatalogue } from './demo-catalogue.ts'
import { recordPayment } from './invoices/invoices.ts'
import { pageOfInvoices } from './invoices/store.ts'
import { backdateCatalogue } from './store-demo.ts'
import { cancelSubscription } from './subscriptions/cancel.ts'
import { changePlan } from './subscriptions/change-plan.ts'
import { createSubscription } from './subscriptions/create.ts'
import type { NewSubscription } from './subscriptions/schema.ts'
import { refundPayment } from './transactions/refund.ts'
import { pageOf } from './transactions/transactions.ts'

const dayMs = 86_400_000
const wholePage = { page: 1, limit: 100, offset: 0 }
const card = { number: '4242424242424242', exp_month: 12, exp_year: 2040, cvc: '123' }

/** Lives the last three months of the demo shop through the rules, day by day: sales, renewals, a change, a refund, debts. */
export async function liveHistory(platform: Platform, business: Business, shop: DemoCatalogue): Promise<void> {
  const { db } = platform
  const today = await nowFor(db, business)
  const keeper = billingKeeper(platform)
  const daysAgo = (days: number): Context => {
    const now = new Date(today.getTime() - days * dayMs)
    return { platform, db, business, now, source: 'checkout' }
  }
  await backdateCatalogue(db, business.id, daysAgo(110).now)
  for (const [days, act] of acts(shop)) {
    await passTime(daysAgo(days).now)
    await act(daysAgo(days))
  }
  await passTime(today)

  async function passTime(until: Date): Promise<void> {
    for (
      let due = await keeper.nextDue(db, business.id);
      due && due <= until;
      due = await keeper.nextDue(db, business.id)
    )
      await keeper.run(business.id, due)
  }
}

type Act = (context: Context) => Promise<void>

/** What happened how many days ago. Few days of sale keep the demo quick: what was sold together renews together. */
function acts({ plans, addonIds, customers, couponCode }: DemoCatalogue): [days: number, act: Act][] {
  const [grace, jonas, amelie, priya, oliver, chloe, noah, mei, , , daniel, hannah] = customers as Twelve
  const sold = new Map<CustomerRow, string>()
  const sell = async (context: Context, customer: CustomerRow, order: NewSubscription) => {
    const paid = order.gateway_type === 'offline' ? order : { gateway_type: 'test' as const, card, ...order }
    sold.set(customer, (await createSubscription(context, customer, paid, undefined)).id)
  }
  return [
    [
      98,
      async context => {
        await sell(context, grace, { plan_id: plans.family.id, quantity: 3, coupon_code: couponCode })
        const addons = [{ addon_id: addonIds.spreads, quantity: 4 }]
        await sell(context, jonas, { plan_id: plans.office.id, addons })
        await sell(context, amelie, { plan_id: plans.small.id })
        await sell(context, priya, { plan_id: plans.small.id })
      },
    ],
    [
      84,
      async context => {
        await sell(context, oliver, { plan_id: plans.family.id, quantity: 2 })
        await sell(context, chloe, { plan_id: plans.course.id })
        await sell(context, noah, { plan_id: plans.instalments.id })
        await sell(context, mei, { plan_id: plans.membership.id, gateway_type: 'offline', payment_term: 'net30' })
      },
    ],
    [75, context => payByTransfer(context, mei)],
    [
      40,
      async context => {
        await changePlan(context, sold.get(grace)!, {
          plan_id: plans.family.id,
          quantity: 5,
          payment_mode: 'credit_card',
          update_reason: 'The grandparents moved in',
        })
        await cancelSubscription(context, sold.get(priya)!, { atEnd: true, reason: 'Moving abroad' })
      },
    ],
    [
      20,
      context => sell(context, hannah, { plan_id: plans.office.id, gateway_type: 'offline', payment_term: 'net15' }),
    ],
    [9, context => giveBack(context, oliver)],
    [5, context => sell(context, daniel, { plan_id: plans.small.id })],
  ]
}

type Twelve = [C, C, C, C, C, C, C, C, C, C, C, C]
type C = CustomerRow

async function payByTransfer(context: Context, customer: CustomerRow): Promise<void> {
  const { rows } = await pageOfInvoices(context.db, context.business.id, { customerId: customer.id }, wholePage)
  for (const invoice of rows)
    if (invoice.dueMinor > 0n)
      await recordPayment(context, invoice.id, { payment_mode: 'bank_transfer', transaction: 'Statement 11, line 4' })
}

async function giveBack(context: Context, customer: CustomerRow): Promise<void> {
  const { rows } = await pageOf(context, customer.id, { status: 'success' }, wholePage)
  const [payment] = rows
  if (payment) await refundPayment(context, payment.id, { amount: 6, description: 'One loaf arrived broken' })
}
