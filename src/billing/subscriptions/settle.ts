import type { Tx } from '../../platform/database.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { noteDue } from '../clock/store.ts'
import type { Context } from '../context.ts'
import { tellPayment } from '../events-lifecycle.ts'
import type { Outcome } from '../gateways/gateway.ts'
import { receive } from '../invoices/receive.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { nextCheck } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { applyOpenChange, dropOpenChange } from './apply-change.ts'
import { chargeFailed, nextTry } from './dunning.ts'
import { completePurchase } from './purchase.ts'
import type { SubscriptionRow } from './store.ts'
import * as store from './store.ts'

/**
 * What a payment's outcome means for invoice and subscription. The only way in: requests, renewals, webhooks and
 * reconciliation all come here, in any order and as often as they like. A payment goes
 * created → pending, unknown or action_required → succeeded or failed, and never back; only money that arrived after
 * all is believed even then.
 */
export async function settlePayment(context: Context, paymentId: string, outcome: Outcome): Promise<TransactionRow> {
  const { db, business } = context
  const known = (await transactions.findTransaction(db, business.id, paymentId)) ?? fail(notFound('Transaction'))
  return db.begin(async tx => {
    const subscription =
      (await store.lockSubscription(tx, business.id, known.subscriptionId)) ?? fail(notFound('Subscription'))
    const payment = (await transactions.lockTransaction(tx, business.id, paymentId)) ?? fail(notFound('Transaction'))
    const invoice = (await invoices.lockInvoice(tx, business.id, payment.invoiceId)) ?? fail(notFound('Invoice'))
    if (payment.state === 'succeeded' || payment.state === 'voided') return payment
    if (payment.state === 'failed' && outcome.kind !== 'succeeded') return payment
    const deal = { subscription, invoice, payment }
    switch (outcome.kind) {
      case 'succeeded':
        return succeeded(tx, context, deal, outcome.ref)
      case 'declined':
        return failed(tx, context, deal, { code: outcome.code, ref: outcome.ref, message: outcome.message })
      case 'not_sent':
        return failed(tx, context, deal, { code: 'gateway_unavailable', message: outcome.reason })
      default:
        return waiting(tx, context, deal, outcome)
    }
  })
}

interface Deal {
  subscription: SubscriptionRow
  invoice: InvoiceRow
  payment: TransactionRow
}

async function succeeded(tx: Tx, context: Context, deal: Deal, ref: string): Promise<TransactionRow> {
  const { business, now } = context
  const payment: TransactionRow = {
    ...deal.payment,
    state: 'succeeded',
    gatewayRef: ref,
    code: null,
    actionUrl: null,
    checkAt: null,
    updatedAt: now,
  }
  await transactions.saveTransaction(tx, business.id, payment)
  let { subscription } = deal
  if (deal.invoice.status === 'pending')
    subscription =
      deal.invoice.kind === 'change'
        ? await applyOpenChange(tx, context, subscription, deal.invoice)
        : await completePurchase(tx, context, subscription, deal.invoice)
  await receive(tx, context, subscription, payment)
  return payment
}

async function failed(
  tx: Tx,
  context: Context,
  { subscription, invoice, payment }: Deal,
  why: { code: string; ref?: string; message?: string },
): Promise<TransactionRow> {
  const { business, now } = context
  const after: TransactionRow = {
    ...payment,
    state: 'failed',
    gatewayRef: why.ref ?? payment.gatewayRef,
    code: why.code,
    description: why.message ?? payment.description,
    actionUrl: null,
    checkAt: null,
    updatedAt: now,
  }
  await transactions.saveTransaction(tx, business.id, after)
  await tellPayment(tx, context, 'payment_failure', after)
  if (invoice.status === 'pending') {
    if (invoice.kind === 'change') await dropOpenChange(tx, context, subscription, invoice)
  } else if (invoice.dueMinor > 0n && invoice.status === 'sent') await chargeFailed(tx, context, subscription, invoice)
  return after
}

/** In doubt, or waiting for the customer: asked about again later; a renewal's dunning timer runs meanwhile. */
async function waiting(
  tx: Tx,
  context: Context,
  { invoice, payment }: Deal,
  outcome: Extract<Outcome, { kind: 'pending' | 'unknown' | 'action_required' }>,
): Promise<TransactionRow> {
  const { business, now } = context
  const after: TransactionRow = {
    ...payment,
    state: outcome.kind,
    gatewayRef: outcome.ref ?? payment.gatewayRef,
    actionUrl: outcome.kind === 'action_required' ? outcome.url : null,
    checkAt: nextCheck(payment.checks, now),
    checks: payment.checks + 1,
    updatedAt: now,
  }
  await transactions.saveTransaction(tx, business.id, after)
  if (!business.testMode) await noteDue(tx, business.id, after.checkAt!)
  if (outcome.kind === 'action_required' && payment.state !== 'action_required' && invoice.status === 'sent') {
    const chargeAt = nextTry(invoice.dunningStep, now) ?? null
    await invoices.saveInvoice(tx, business.id, { ...invoice, chargeAt, updatedAt: now })
  }
  return after
}
