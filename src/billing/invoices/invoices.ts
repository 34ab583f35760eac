import type { Tx } from '../../platform/database.ts'
import { fail, invalidField, notFound, outcomeUnknown, paymentRequired, unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import { localDate } from '../dates.ts'
import { write } from '../deed.ts'
import { tellInvoices } from '../events-lifecycle.ts'
import { post, takeBack } from '../ledger/ledger.ts'
import { majorText, sum, toMinor } from '../money.ts'
import { getMethodOf } from '../payment-methods/payment-methods.ts'
import { type Scene, sceneOf } from '../scene.ts'
import { refuseOpenChange } from '../subscriptions/change-plan.ts'
import { completePurchase } from '../subscriptions/purchase.ts'
import { settlePayment } from '../subscriptions/settle.ts'
import type { SubscriptionRow } from '../subscriptions/store.ts'
import * as subscriptions from '../subscriptions/store.ts'
import { inProgress, newPayment, openPayment, sendPayment } from '../transactions/attempt.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { receive, recover } from './receive.ts'
import type { RecordPayment } from './schema.ts'
import type { InvoiceRow } from './store.ts'
import * as store from './store.ts'
import { returnCredit } from './store-credit.ts'

/** What people do with invoices: record money that came by hand, charge a card now, cancel. */

export async function getInvoice({ db, business }: Context, id: string): Promise<InvoiceRow> {
  return (await store.findInvoice(db, business.id, id)) ?? fail(notFound('Invoice'))
}

/** Subscription before invoice, the order in which everyone locks. */
async function lock(
  tx: Tx,
  businessId: string,
  id: string,
): Promise<{ subscription: SubscriptionRow; invoice: InvoiceRow }> {
  const known = (await store.findInvoice(tx, businessId, id)) ?? fail(notFound('Invoice'))
  const subscription =
    (await subscriptions.lockSubscription(tx, businessId, known.subscriptionId)) ?? fail(notFound('Subscription'))
  await refuseOpenChange(tx, businessId, subscription.id)
  return { subscription, invoice: (await store.lockInvoice(tx, businessId, id)) ?? fail(notFound('Invoice')) }
}

/** With all that the subscription owes. */
async function sceneAround(
  tx: Tx,
  context: Context,
  subscription: SubscriptionRow,
  ...others: InvoiceRow[]
): Promise<Scene> {
  const owed = await store.lockDueInvoices(tx, context.business.id, [subscription.id])
  return sceneOf(tx, context, { subscriptions: [subscription], invoices: [...others, ...owed], changes: [] })
}

function requireDue(invoice: InvoiceRow): void {
  if (invoice.status === 'void') throw unprocessable('invoice_void', 'The invoice is void; nothing is due on it.')
  if (invoice.dueMinor === 0n) throw unprocessable('invoice_paid', 'Nothing is due on this invoice.')
}

export function recordPayment(context: Context, id: string, request: RecordPayment): Promise<InvoiceRow> {
  const { db, business, now } = context
  return db.begin(async tx => {
    const { subscription, invoice } = await lock(tx, business.id, id)
    requireDue(invoice)
    if (await transactions.findOpenPayment(tx, business.id, id)) throw inProgress()
    const given = request.amount === undefined || request.amount === '' ? undefined : request.amount
    const amountMinor = given === undefined ? invoice.dueMinor : toMinor(given, invoice.currency, 'amount')
    const due = majorText(invoice.dueMinor, invoice.currency)
    if (amountMinor === 0n) throw invalidField('amount', 'must be greater than 0')
    if (amountMinor > invoice.dueMinor)
      throw unprocessable('payment_exceeds_due', `Only ${due} ${invoice.currency} are due on this invoice.`, [
        { field: 'amount', message: `must be at most ${due}` },
      ])
    const scene = await sceneAround(tx, context, subscription, invoice)
    let current = subscription
    if (invoice.status === 'pending') {
      if (amountMinor < invoice.dueMinor)
        throw unprocessable('first_payment_partial', `The first payment must be complete: ${due} ${invoice.currency}.`)
      current = completePurchase(scene, current, draftInTime(context, invoice))
    }
    const payment: TransactionRow = {
      ...newPayment(invoice, { gateway: 'offline', methodId: null, amountMinor, now }),
      state: 'succeeded',
      checkAt: null,
      description: [request.payment_mode, request.payment_note].filter(Boolean).join(': '),
      reference: request.transaction ?? '',
    }
    await transactions.insertTransactions(tx, business.id, [payment])
    receive(scene, current, payment)
    await write(tx, context, scene.deed)
    return scene.deed.invoices.get(id)!
  })
}

/** A first bill for a time that is over can't be paid any more: the customer would pay for nothing. */
function draftInTime(context: Context, invoice: InvoiceRow): InvoiceRow {
  if (invoice.periodEnd !== null && invoice.periodEnd <= localDate(context.now, context.business.timeZone))
    throw unprocessable(
      'order_expired',
      'The time this first invoice is for is over. Cancel the subscription and order anew.',
    )
  return invoice
}

/** Charges what is due now, with another card if one is given; that card then stays with the subscription. */
export async function collect(context: Context, id: string, cardId: string | undefined): Promise<InvoiceRow> {
  const { db, business, now } = context
  const payment = await db.begin(async tx => {
    const { subscription, invoice } = await lock(tx, business.id, id)
    requireDue(invoice)
    if (invoice.status === 'pending') draftInTime(context, invoice)
    const methodId = cardId || subscription.paymentMethodId
    if (!methodId)
      throw unprocessable('payment_method_missing', 'The subscription has no card. Give card_id.', [
        { field: 'card_id', message: 'is required when the subscription has no card' },
      ])
    const method = await getMethodOf(tx, business.id, {
      customerId: invoice.customerId,
      id: methodId,
      field: 'card_id',
    })
    if (method.id !== subscription.paymentMethodId)
      await subscriptions.setPaymentMethod(tx, business.id, subscription.id, method)
    await store.saveInvoice(tx, business.id, { ...invoice, chargeAt: null, carried: false, updatedAt: now })
    return openPayment(tx, business.id, { ...invoice, carried: false }, { method, now })
  })
  const settled = await settlePayment(
    context,
    payment.id,
    await sendPayment(context, payment, { customerPresent: true }),
  )
  if (settled.state === 'failed')
    throw paymentRequired(
      settled.code ?? 'card_declined',
      `The card was not charged (${settled.code}). Try another card.`,
    )
  if (settled.state === 'action_required')
    throw paymentRequired('authentication_required', `The customer must confirm the payment at ${settled.actionUrl}.`)
  if (settled.state === 'unknown')
    throw outcomeUnknown(
      'payment_outcome_unknown',
      'The gateway did not say what became of the payment. It is settled as soon as it does; don’t ask again.',
    )
  return getInvoice(context, id)
}

/** Cancels what is due by reversing entries; the number is kept. Credit that it used up comes back. */
export function voidInvoice(context: Context, id: string): Promise<InvoiceRow> {
  const { db, business, now } = context
  return db.begin(async tx => {
    const { subscription, invoice } = await lock(tx, business.id, id)
    if (invoice.status === 'void') throw unprocessable('invoice_void', 'The invoice is void already.')
    if (await transactions.findOpenPayment(tx, business.id, id)) throw inProgress()
    if (invoice.paidMinor > 0n || invoice.dueMinor === 0n)
      throw unprocessable('invoice_paid', 'Money was received for this invoice. Refund the payment instead.')
    const voided: InvoiceRow = {
      ...invoice,
      status: 'void',
      dueMinor: 0n,
      creditAppliedMinor: 0n,
      writtenOffMinor: invoice.writtenOffMinor + invoice.dueMinor + invoice.creditAppliedMinor,
      chargeAt: null,
      carried: false,
      updatedAt: now,
    }
    await store.saveInvoice(tx, business.id, voided)
    if (invoice.number !== null) await reverse(tx, context, subscription, invoice)
    await tellInvoices(tx, context, 'invoice_void', [voided])
    return voided
  })
}

async function reverse(tx: Tx, context: Context, subscription: SubscriptionRow, invoice: InvoiceRow): Promise<void> {
  const { business, now } = context
  const lines = await store.linesOf(tx, business.id, invoice)
  const netMinor = sum(lines.map(line => line.netMinor - line.creditedNetMinor))
  const taxMinor = sum(lines.map(line => line.taxMinor - line.creditedTaxMinor))
  const back = takeBack(subscription.deferredMinor, netMinor)
  if (invoice.creditAppliedMinor > 0n) await returnCredit(tx, business.id, invoice.id)
  await post(tx, business.id, [
    {
      sourceKey: `void:${invoice.id}`,
      at: now,
      customerId: invoice.customerId,
      subscriptionId: invoice.subscriptionId,
      currency: invoice.currency,
      accounts: {
        ...back,
        tax: taxMinor,
        receivable: -invoice.dueMinor,
        customerCredit: -invoice.creditAppliedMinor,
      },
    },
  ])
  const after = { ...subscription, deferredMinor: subscription.deferredMinor - back.deferred, updatedAt: now }
  await subscriptions.saveSubscription(tx, business.id, after)
  const scene = await sceneAround(tx, context, after)
  recover(scene, after)
  await write(tx, context, scene.deed)
}
