import type { Tx } from '../../platform/database.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import { tellSubscription } from '../events-lifecycle.ts'
import { running } from '../invoices/receive.ts'
import * as invoices from '../invoices/store.ts'
import { post } from '../ledger/ledger.ts'
import { noteMrr } from '../mrr/mrr.ts'
import * as transactions from '../transactions/store.ts'
import { refuseOpenChange } from './change-plan.ts'
import { stopped, timed } from './periods.ts'
import { earned } from './renewal-step.ts'
import type { SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'

/** Ends, halts and goes on. Nothing is given back for the time that is left: that is what refunds are for. */

const overStatuses = new Set(['canceled', 'expired'])

async function lock(tx: Tx, context: Context, id: string): Promise<SubscriptionRow> {
  const row = (await store.lockSubscription(tx, context.business.id, id)) ?? fail(notFound('Subscription'))
  await refuseOpenChange(tx, context.business.id, id)
  if (overStatuses.has(row.status))
    throw unprocessable('subscription_ended', `The subscription is ${row.status} already.`)
  return row
}

export function cancelSubscription(
  context: Context,
  id: string,
  options: { atEnd: boolean; reason: string },
): Promise<SubscriptionRow> {
  const { db, business, now } = context
  return db.begin(async tx => {
    const row = await lock(tx, context, id)
    const reason = options.reason || row.cancelReason
    const running = row.nextBillingAt !== null && ['live', 'dunning', 'non_renewing', 'trial'].includes(row.status)
    if (options.atEnd && running) {
      const status = row.status === 'trial' || row.status === 'dunning' ? row.status : 'non_renewing'
      const after: SubscriptionRow = {
        ...row,
        status,
        cancelAtEnd: true,
        cancelReason: reason,
        remindAt: null,
        updatedAt: now,
      }
      await store.saveSubscription(tx, business.id, after)
      await tellSubscription(tx, context, ['subscription_cancel_scheduled'], after)
      return after
    }
    return cancelNow(tx, context, { ...row, cancelReason: reason })
  })
}

async function cancelNow(tx: Tx, context: Context, row: SubscriptionRow): Promise<SubscriptionRow> {
  const { business, now } = context
  const pending = await invoices.lockPendingInvoices(tx, business.id, row.id)
  for (const draft of pending) {
    if (await transactions.findOpenPayment(tx, business.id, draft.id))
      throw unprocessable('payment_in_progress', 'The first payment is under way. Cancel when it is settled.')
    const due = draft.dueMinor
    await invoices.saveInvoice(tx, business.id, {
      ...draft,
      status: 'void',
      dueMinor: 0n,
      writtenOffMinor: due,
      updatedAt: now,
    })
  }
  // What is owed stays owed, but no card is charged after the end.
  for (const invoice of await invoices.lockDueInvoices(tx, business.id, [row.id]))
    if (invoice.chargeAt) await invoices.saveInvoice(tx, business.id, { ...invoice, chargeAt: null, updatedAt: now })
  if (row.deferredMinor > 0n) await post(tx, business.id, [earned(row, now)])
  const after = stopped({ ...row, canceledAt: now, cancelAtEnd: false, deferredMinor: 0n }, 'canceled', now)
  await store.saveSubscription(tx, business.id, after)
  if (pending.length > 0 && row.couponId) await store.releaseCoupon(tx, business.id, row.couponId)
  await changes.dropScheduled(tx, business.id, row.id, now)
  await tellSubscription(tx, context, ['subscription_cancel'], after)
  await noteMrr(tx, context, [after.id])
  return after
}

export function pauseSubscription(context: Context, id: string): Promise<SubscriptionRow> {
  const { db, business, now } = context
  return db.begin(async tx => {
    const row = await lock(tx, context, id)
    if (row.status !== 'live')
      throw unprocessable('subscription_not_live', `The subscription is ${row.status}; only a live one can be paused.`)
    const after = stopped(row, 'paused', now)
    await store.saveSubscription(tx, business.id, after)
    await tellSubscription(tx, context, ['subscription_pause'], after)
    await noteMrr(tx, context, [after.id])
    return after
  })
}

/**
 * A paused subscription goes on in its term, or begins a new one today when the term is over; one that was to end
 * goes on; a trial that ended without a card starts, if there is one now.
 */
export function resumeSubscription(context: Context, id: string): Promise<SubscriptionRow> {
  const { db, business, now } = context
  return db.begin(async tx => {
    const row = await lock(tx, context, id)
    const at = { now, timeZone: business.timeZone }
    const after = resumed(row, at)
    await store.saveSubscription(tx, business.id, after)
    await tellSubscription(tx, context, ['subscription_resume'], after)
    await noteMrr(tx, context, [after.id])
    return after
  })
}

function resumed(row: SubscriptionRow, at: { now: Date; timeZone: string }): SubscriptionRow {
  const base = { ...row, cancelAtEnd: false, updatedAt: at.now }
  if (row.status === 'paused') return running({ ...base, status: 'live' }, at)
  if (row.status === 'non_renewing') return timed({ ...base, status: 'live' }, at)
  if (row.cancelAtEnd && (row.status === 'trial' || row.status === 'dunning')) return timed(base, at)
  if (row.status === 'trial_expired') {
    if (row.gateway !== 'offline' && row.paymentMethodId === null)
      throw unprocessable('payment_method_missing', 'Save a card for the customer first, then resume.')
    return running({ ...base, status: 'live' }, at)
  }
  throw unprocessable('subscription_not_paused', `The subscription is ${row.status}; there is nothing to resume.`)
}
