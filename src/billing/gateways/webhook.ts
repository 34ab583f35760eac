import type { Context } from '../context.ts'
import { settlePayment } from '../subscriptions/settle.ts'
import { recordGatewayRefund } from '../transactions/refund.ts'
import { settleRefund } from '../transactions/settle-refund.ts'
import * as transactions from '../transactions/store.ts'
import type { GatewayEvent, Outcome } from './gateway.ts'
import * as store from './store.ts'

/**
 * Webhooks come late, twice and in any order. Each is kept once; what it says is applied through the same door as an
 * answer, which only lets states move forward.
 */
export async function takeEvents(context: Context): Promise<void> {
  const { db, business } = context
  const open = await db.begin(tx => store.openGatewayEvents(tx, business.id, 1_000))
  for (const { gateway, eventId, data } of open) {
    const event = revive(data)
    const error = await apply(context, gateway, event)
    await store.closeGatewayEvent(db, business.id, { gateway, eventId, error })
  }
}

/** Amounts were kept as text, because JSON has no exact ones. */
function revive(data: Record<string, unknown>): GatewayEvent {
  const event = data as unknown as GatewayEvent
  const { outcome } = event
  return outcome.kind === 'succeeded'
    ? { ...event, outcome: { ...outcome, amountMinor: BigInt(String(outcome.amountMinor)) } }
    : event
}

async function apply(context: Context, gateway: string, event: GatewayEvent): Promise<string | null> {
  const { db, business } = context
  const known = await transactions.findTransactionByRef(db, business.id, { gateway, type: event.about, ref: event.ref })
  if (known) {
    if (event.about === 'payment') await settlePayment(context, known.id, event.outcome)
    else await settleRefund(context, known.id, event.outcome)
    return null
  }
  if (event.about === 'payment' || event.outcome.kind !== 'succeeded' || !event.paymentRef)
    return 'nothing known by this reference'
  return adopt(context, gateway, event, event.outcome)
}

/** A refund that was made at the gateway by hand is recorded here, once. */
async function adopt(
  context: Context,
  gateway: string,
  event: GatewayEvent,
  outcome: Extract<Outcome, { kind: 'succeeded' }>,
): Promise<string | null> {
  const { db, business } = context
  const ref = event.paymentRef ?? ''
  const payment = await transactions.findTransactionByRef(db, business.id, { gateway, type: 'payment', ref })
  if (!payment) return 'no payment by this reference'
  // One of ours whose reference is not written yet: its own answer will tell it.
  if (payment.refundPendingMinor > 0n) {
    const open = await transactions.openRefundsOf(db, business.id, payment.id)
    const ours = open.find(refund => refund.amountMinor === outcome.amountMinor)
    if (ours) {
      await settleRefund(context, ours.id, outcome)
      return null
    }
  }
  await recordGatewayRefund(context, payment, { ref: event.ref, amountMinor: outcome.amountMinor })
  return null
}
