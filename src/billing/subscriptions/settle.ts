import { isPassing, type Tx } from '../../platform/database.ts'
import { fail, notFound } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import { write } from '../deed.ts'
import type { Outcome } from '../gateways/gateway.ts'
import { receive } from '../invoices/receive.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { type Scene, saveInvoice, sceneOf, tellPayment } from '../scene.ts'
import { nextCheck } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { applyOpenChange, dropOpenChange } from './apply-change.ts'
import { chargeFailed, nextTry } from './dunning.ts'
import { completePurchase } from './purchase.ts'
import type { Surroundings } from './show.ts'
import type { SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'

/**
 * What a payment's outcome means for invoice and subscription. The only way in: requests, renewals, webhooks and
 * reconciliation all come here, in any order and as often as they like. A payment goes
 * created → pending, unknown or action_required → succeeded or failed, and never back; only money that arrived after
 * all is believed even then.
 */
export async function settlePayment(context: Context, paymentId: string, outcome: Outcome): Promise<TransactionRow> {
  const { db, business } = context
  const payment = (await transactions.findTransaction(db, business.id, paymentId)) ?? fail(notFound('Transaction'))
  return (await settleKnown(context, { payment, outcome }, undefined)).payment
}

/** The same for a payment that was just sent, with what is known around it; answers what it made of invoice and subscription. */
export async function settleKnown(
  context: Context,
  { payment, outcome }: { payment: TransactionRow; outcome: Outcome },
  around: Surroundings | undefined,
): Promise<Settled> {
  const { deals, scene } = await context.db.begin(tx => settle(tx, context, [{ payment, outcome }], around))
  return { ...(deals[0] ?? fail(notFound('Transaction'))), scene }
}

export interface Answered {
  payment: Pick<TransactionRow, 'id' | 'subscriptionId' | 'invoiceId'>
  outcome: Outcome
}

/** Many at once. One that can't be settled must not hold up the others: then each is settled by itself. */
export async function settlePayments(context: Context, answers: readonly Answered[]): Promise<void> {
  if (answers.length === 0) return
  try {
    await context.db.begin(tx => settle(tx, context, answers))
  } catch (error) {
    if (isPassing(error) || answers.length === 1) throw error
    for (const answer of answers) await context.db.begin(tx => settle(tx, context, [answer]))
  }
}

interface Deal {
  subscription: SubscriptionRow
  invoice: InvoiceRow
  payment: TransactionRow
}

export interface Settled extends Deal {
  scene: Scene
}

async function settle(
  tx: Tx,
  context: Context,
  answers: readonly Answered[],
  around?: Surroundings,
): Promise<{ deals: Deal[]; scene: Scene }> {
  const { business } = context
  const subscriptionIds = [...new Set(answers.map(({ payment }) => payment.subscriptionId))]
  const [subscriptions, payments, billed, waiting] = await Promise.all([
    store.lockSubscriptions(tx, business.id, subscriptionIds),
    transactions.lockTransactions(
      tx,
      business.id,
      answers.map(({ payment }) => payment.id),
    ),
    invoices.lockNamedAndDue(tx, business.id, {
      subscriptionIds,
      ids: answers.map(({ payment }) => payment.invoiceId),
    }),
    changes.waitingChanges(tx, business.id, subscriptionIds),
  ])
  const scene = await sceneOf(tx, context, { subscriptions, invoices: billed, changes: waiting }, around)
  const byId = new Map(payments.map(payment => [payment.id, payment]))
  const settled = answers.map(({ payment: { id }, outcome }) => {
    const payment = byId.get(id) ?? fail(notFound('Transaction'))
    const subscription = scene.subscriptions.get(payment.subscriptionId) ?? fail(notFound('Subscription'))
    const invoice = scene.invoices.get(payment.invoiceId) ?? fail(notFound('Invoice'))
    return settleOne(scene, { subscription, invoice, payment }, outcome)
  })
  await write(tx, context, scene.deed)
  const deals = settled.map(payment => ({
    payment,
    subscription: scene.subscriptions.get(payment.subscriptionId)!,
    invoice: scene.deed.invoices.get(payment.invoiceId) ?? scene.invoices.get(payment.invoiceId)!,
  }))
  return { deals, scene }
}

function settleOne(scene: Scene, deal: Deal, outcome: Outcome): TransactionRow {
  const { payment } = deal
  if (payment.state === 'succeeded' || payment.state === 'voided') return payment
  if (payment.state === 'failed' && outcome.kind !== 'succeeded') return payment
  switch (outcome.kind) {
    case 'succeeded':
      return succeeded(scene, deal, outcome.ref)
    case 'declined':
      return failed(scene, deal, { code: outcome.code, ref: outcome.ref, message: outcome.message })
    case 'not_sent':
      return failed(scene, deal, { code: 'gateway_unavailable', message: outcome.reason })
    default:
      return waits(scene, deal, outcome)
  }
}

function succeeded(scene: Scene, { subscription, invoice, payment }: Deal, ref: string): TransactionRow {
  const paid: TransactionRow = {
    ...payment,
    state: 'succeeded',
    gatewayRef: ref,
    code: null,
    actionUrl: null,
    checkAt: null,
    updatedAt: scene.context.now,
  }
  scene.deed.transactions.set(paid.id, paid)
  const begin = invoice.kind === 'change' ? applyOpenChange : completePurchase
  receive(scene, invoice.status === 'pending' ? begin(scene, subscription, invoice) : subscription, paid)
  return paid
}

function failed(
  scene: Scene,
  { subscription, invoice, payment }: Deal,
  why: { code: string; ref?: string | undefined; message?: string | undefined },
): TransactionRow {
  const after: TransactionRow = {
    ...payment,
    state: 'failed',
    gatewayRef: why.ref ?? payment.gatewayRef,
    code: why.code,
    description: why.message ?? payment.description,
    actionUrl: null,
    checkAt: null,
    updatedAt: scene.context.now,
  }
  scene.deed.transactions.set(after.id, after)
  tellPayment(scene, 'payment_failure', after)
  if (invoice.status === 'pending') {
    if (invoice.kind === 'change') dropOpenChange(scene, invoice)
  } else if (invoice.dueMinor > 0n && invoice.status === 'sent') chargeFailed(scene, subscription, invoice)
  return after
}

/** In doubt, or waiting for the customer: asked about again later; a renewal's dunning timer runs meanwhile. */
function waits(
  scene: Scene,
  { invoice, payment }: Deal,
  outcome: Extract<Outcome, { kind: 'pending' | 'unknown' | 'action_required' }>,
): TransactionRow {
  const { context, deed } = scene
  const { now } = context
  const checkAt = nextCheck(payment.checks, now)
  const after: TransactionRow = {
    ...payment,
    state: outcome.kind,
    gatewayRef: outcome.ref ?? payment.gatewayRef,
    actionUrl: outcome.kind === 'action_required' ? outcome.url : null,
    checkAt,
    checks: payment.checks + 1,
    updatedAt: now,
  }
  deed.transactions.set(after.id, after)
  if (deed.checkAt === undefined || checkAt < deed.checkAt) deed.checkAt = checkAt
  if (outcome.kind !== 'action_required' || payment.state === 'action_required') return after
  tellPayment(scene, 'payment_action_required', after)
  if (invoice.status === 'sent')
    saveInvoice(scene, { ...invoice, chargeAt: nextTry(invoice.dunningStep, now) ?? null, updatedAt: now })
  return after
}
