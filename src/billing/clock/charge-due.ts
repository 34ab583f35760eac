import type { Tx } from '../../platform/database.ts'
import type { Context } from '../context.ts'
import { gatewayFor } from '../gateways/registry.ts'
import * as invoices from '../invoices/store.ts'
import * as methods from '../payment-methods/store.ts'
import { chargeFailed } from '../subscriptions/dunning.ts'
import { settlePayment } from '../subscriptions/settle.ts'
import * as subscriptions from '../subscriptions/store.ts'
import { gatewayKey, openPayment, safely, sendPayment } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import * as store from './store.ts'

/** Collects what is to be charged: each attempt is committed before the gateway is asked, a few at a time. */
const batchSize = 200
const concurrency = 8

export async function chargeDue(context: Context): Promise<number> {
  const { db, business, now } = context
  const due = await store.chargeableInvoices(db, business.id, now, batchSize)
  const queue = [...due]
  const lane = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await chargeOne(context, next)
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, due.length) }, lane))
  return due.length
}

async function chargeOne(context: Context, due: store.OverdueInvoice): Promise<void> {
  const { db, business } = context
  const open = await transactions.findOpenPayment(db, business.id, due.id)
  // A confirmation that was not given in time counts as a failure, once the gateway promised to take nothing any more.
  if (open) return cancelWaiting(context, open)
  const payment = await db.begin(tx => decide(tx, context, due))
  if (!payment) return
  const outcome = await sendPayment(context, payment, { customerPresent: false })
  await settlePayment(context, payment.id, outcome)
}

/** Under lock: the invoice may have been paid or voided since it was found. */
async function decide(tx: Tx, context: Context, due: store.OverdueInvoice): Promise<TransactionRow | undefined> {
  const { business, now } = context
  const subscription = await subscriptions.lockSubscription(tx, business.id, due.subscriptionId)
  const invoice = await invoices.lockInvoice(tx, business.id, due.id)
  if (!subscription || !invoice?.chargeAt || invoice.chargeAt > now) return undefined
  const row = { ...invoice, chargeAt: null, updatedAt: now }
  await invoices.saveInvoice(tx, business.id, row)
  if (row.dueMinor === 0n || row.status !== 'sent') return undefined
  const id = subscription.paymentMethodId
  const method = id === null ? undefined : await methods.findMethod(tx, business.id, id)
  if (!method) {
    await chargeFailed(tx, context, subscription, row)
    return undefined
  }
  return openPayment(tx, business.id, row, { method, now })
}

export async function cancelWaiting(context: Context, open: TransactionRow): Promise<void> {
  const { db, business, now } = context
  await db.begin(async tx => {
    await subscriptions.lockSubscription(tx, business.id, open.subscriptionId)
    const invoice = await invoices.lockInvoice(tx, business.id, open.invoiceId)
    if (invoice?.chargeAt) await invoices.saveInvoice(tx, business.id, { ...invoice, chargeAt: null, updatedAt: now })
  })
  if (open.state !== 'action_required' || open.gatewayRef === null) return
  const gateway = await gatewayFor(context, open.gateway)
  const ref = open.gatewayRef
  const outcome = await safely(() => gateway.cancel({ key: gatewayKey(business.id, open.id), ref }))
  await settlePayment(context, open.id, outcome)
}
