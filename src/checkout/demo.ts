import { contextOf } from '../billing/context.ts'
import { pageOfCustomers } from '../billing/customers/customers.ts'
import { checkoutPage, pageOfMultiplans } from '../billing/multiplans/multiplans.ts'
import { createSubscription } from '../billing/subscriptions/create.ts'
import { outboxLink } from '../email/outbox/outbox.ts'
import type { Business } from '../platform/business.ts'
import type { Platform } from '../platform/platform.ts'
import type { DemoLine } from '../platform/service.ts'
import { enterPath } from './portal/session.ts'

/** The pages of the demo shop: one to buy on, and the account of somebody who bought before. */
export async function demoLines(platform: Platform, business: Business): Promise<DemoLine[]> {
  const { db, config, secrets } = platform
  const one = { page: 1, limit: 1, offset: 0 }
  const [multiplans, customers] = await Promise.all([
    pageOfMultiplans(db, business.id, undefined, one),
    pageOfCustomers(db, business.id, one),
  ])
  const [multiplan] = multiplans.rows
  const [customer] = customers.rows
  if (!multiplan || !customer) return []
  const plan = multiplan.plans.find(({ trialPeriod }) => trialPeriod === 0) ?? multiplan.plans[0]
  const card = { number: '4242424242424242', exp_month: 12, exp_year: 2099, cvc: '123' }
  const context = await contextOf({ platform, db, business }, 'checkout')
  if (plan) await createSubscription(context, customer, { plan_id: plan.id, gateway_type: 'test', card }, 'demo')
  return [
    {
      label: 'Buy on the checkout page of the demo shop, with card 4242 4242 4242 4242',
      text: checkoutPage(config.publicUrl, multiplan.id),
    },
    {
      label: 'The account of one of its customers, where the plan can be changed (the link works for a day)',
      text: config.publicUrl + enterPath(secrets, business.id, customer.id),
    },
    { label: 'The mail that it sends, receipts among it', text: outboxLink(platform, business.id) },
  ]
}
