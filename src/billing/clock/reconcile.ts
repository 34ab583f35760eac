import type { Context } from '../context.ts'
import type { Outcome } from '../gateways/gateway.ts'
import { gatewayFor } from '../gateways/registry.ts'
import { settlePayment } from '../subscriptions/settle.ts'
import { gatewayKey, nextCheck, safely, sendPayment } from '../transactions/attempt.ts'
import { sendRefund, settleRefund } from '../transactions/settle-refund.ts'
import type { TransactionRow } from '../transactions/store.ts'
import * as transactions from '../transactions/store.ts'
import { cancelWaiting } from './charge-due.ts'

/**
 * Asks gateways what became of payments and refunds whose outcome is open: after 5 minutes, an hour, then daily. One
 * that never arrived is sent again under the same key, so that it can't count twice.
 */
const batchSize = 100
/** A customer who does not confirm a first payment or a change within a day does not want it. */
const confirmMs = 24 * 3_600_000

export async function reconcile(context: Context): Promise<number> {
  const { db, business, now } = context
  const due = await db.begin(async tx => {
    const rows = await transactions.claimChecks(tx, business.id, now, batchSize)
    // Whoever claimed it asks now; were this worker to die, another asks at the next turn.
    for (const row of rows)
      await transactions.saveTransaction(tx, business.id, { ...row, checkAt: nextCheck(Math.max(1, row.checks), now) })
    return rows
  })
  for (const row of due) await ask(context, row)
  return due.length
}

async function ask(context: Context, row: TransactionRow): Promise<void> {
  const waited = context.now.getTime() - row.createdAt.getTime()
  if (row.type === 'payment' && row.state === 'action_required' && waited >= confirmMs)
    return cancelWaiting(context, row)
  const state = await fetchState(context, row)
  if (row.type === 'refund') {
    const outcome = state.kind === 'absent' ? await sendRefund(context, row) : state
    await settleRefund(context, row.id, outcome)
    return
  }
  const outcome = state.kind === 'absent' ? await sendPayment(context, row, { customerPresent: false }) : state
  await settlePayment(context, row.id, outcome)
}

async function fetchState(context: Context, row: TransactionRow): Promise<Outcome | { kind: 'absent' }> {
  const gateway = await gatewayFor(context, row.gateway)
  let absent = false
  const outcome = await safely(async () => {
    const state = await gateway.fetchState({
      kind: row.type,
      key: gatewayKey(context.business.id, row.id),
      ref: row.gatewayRef,
    })
    if (state.kind !== 'absent') return state
    absent = true
    return { kind: 'unknown', reason: 'absent' }
  })
  return absent ? { kind: 'absent' } : outcome
}
