import type { Tx } from '../../platform/database.ts'
import type { Context } from '../context.ts'
import { write } from '../deed.ts'
import { gatewayFor, minCharge } from '../gateways/registry.ts'
import { isRenewal } from '../invoices/receive.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { sum } from '../money.ts'
import type { MethodRow } from '../payment-methods/store.ts'
import * as methods from '../payment-methods/store.ts'
import { saveInvoice, sceneOf, tellSubscription } from '../scene.ts'
import { chargeFailed } from '../subscriptions/dunning.ts'
import { type Answered, settlePayment, settlePayments } from '../subscriptions/settle.ts'
import { byId } from '../subscriptions/show.ts'
import * as subscriptions from '../subscriptions/store.ts'
import { carriedTo, gatewayKey, paymentWithCarried, safely, sendPayment } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import * as store from './store.ts'

/**
 * Collects what is to be charged. The attempts of a batch are committed before the gateway is asked, a few at a time;
 * answers that came in meanwhile are settled together.
 */
const batchSize = 500
const concurrency = 8

export async function chargeDue(context: Context): Promise<number> {
  const { db, business, now } = context
  const found = await store.chargeableInvoices(db, business.id, now, batchSize)
  // One invoice a subscription at a time: two attempts must not both take along what was carried.
  const due = [...new Map(found.map(one => [one.subscriptionId, one])).values()]
  if (due.length === 0) return 0
  const { attempts, open } = await db.begin(tx => decide(tx, context, due))
  // A confirmation that was not given in time counts as a failure, once the gateway promised to take nothing any more.
  for (const payment of open) await cancelWaiting(context, payment)
  await sendAll(context, attempts)
  return due.length
}

interface Attempt {
  payment: TransactionRow
  method: MethodRow
}

/** Under lock: an invoice may have been paid or voided since it was found. */
async function decide(
  tx: Tx,
  context: Context,
  due: readonly store.OverdueInvoice[],
): Promise<{ attempts: Attempt[]; open: TransactionRow[] }> {
  const { business, now } = context
  const ids = due.map(one => one.id)
  const subscriptionIds = due.map(one => one.subscriptionId)
  const [locked, owed, open] = await Promise.all([
    subscriptions.lockSubscriptions(tx, business.id, subscriptionIds),
    invoices.lockNamedAndDue(tx, business.id, { subscriptionIds, ids }),
    transactions.openPaymentsOf(tx, business.id, ids),
  ])
  const methodIds = locked.map(row => row.paymentMethodId).filter(id => id !== null)
  const [scene, cards] = await Promise.all([
    sceneOf(tx, context, { subscriptions: locked, invoices: owed, changes: [] }),
    methods.currentMethods(tx, business.id, methodIds),
  ])
  const cardsById = byId(cards)
  const busy = new Set(open.map(payment => payment.invoiceId))
  const attempts: Attempt[] = []
  for (const { id } of due) {
    const invoice = scene.invoices.get(id)
    if (!invoice) continue
    const subscription = scene.subscriptions.get(invoice.subscriptionId)
    if (!subscription || busy.has(invoice.id) || !invoice.chargeAt || invoice.chargeAt > now) continue
    const method = cardsById.get(subscription.paymentMethodId ?? '')
    const owes = owed.filter(one => one.subscriptionId === subscription.id)
    const waits = invoice.carried && (!method || !isEnough(invoice, owes, method))
    const row = { ...invoice, chargeAt: null, carried: waits, updatedAt: now }
    saveInvoice(scene, row)
    if (row.dueMinor === 0n || row.status !== 'sent') continue
    if (waits) {
      if (isRenewal(row)) tellSubscription(scene, ['subscription_renew'], subscription)
    } else if (!method) chargeFailed(scene, subscription, row)
    else attempts.push({ method, payment: paymentWithCarried(row, owes, { method, now }) })
  }
  const payments = attempts.map(attempt => attempt.payment)
  if (payments.length > 0) await transactions.insertPayments(tx, business.id, payments)
  await write(tx, context, scene.deed)
  return { attempts, open }
}

/** Less than the gateway takes waits, until there is enough of it. */
const isEnough = (invoice: InvoiceRow, owes: readonly InvoiceRow[], { gateway }: MethodRow): boolean =>
  invoice.dueMinor + sum(carriedTo(invoice, owes).map(row => row.dueMinor)) >= minCharge(gateway, invoice.currency)

/** Lanes ask the gateway; whoever comes back when nobody settles settles all that has come in. */
async function sendAll(context: Context, attempts: readonly Attempt[]): Promise<void> {
  const queue = [...attempts]
  let answers: Answered[] = []
  let settling: Promise<void> | undefined
  const settleAll = async () => {
    while (answers.length > 0) {
      const batch = answers
      answers = []
      await settlePayments(context, batch)
    }
    settling = undefined
  }
  const lane = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { payment, method } = next
      answers.push({ payment, outcome: await sendPayment(context, payment, { customerPresent: false, method }) })
      settling ??= settleAll()
    }
    await settling
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, attempts.length) }, lane))
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
