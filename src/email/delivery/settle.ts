import type { Database, Tx } from '../../platform/database.ts'
import { beginWithRetry } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { type Activity, recordActivities } from '../subscribers/activity.ts'
import { suppressAddresses } from '../suppressions/suppressions.ts'
import type { Batch } from './batch.ts'
import { deliveryIdOf, sendIdOf } from './send-id.ts'
import { watchRates } from './stop-rules.ts'
import * as store from './store-settle.ts'
import type { FinalRow } from './store-work.ts'

export interface Counting {
  workerId: string
  now: Date
  /** servers whose provider tells deliveries by webhook: for them acceptance is not delivery yet */
  tellsDelivery(serverId: string | null): boolean
}

/**
 * Counts a block once all of it has results: one transaction marks the block done, adds to the send's totals and tells
 * the subscribers' part. Killed before the commit, the block is claimed again and counted then; it is never counted twice.
 */
export async function settleBlock(db: Database, batch: Batch, counting: Counting): Promise<boolean> {
  const { businessId, block } = batch
  if (!block) return false
  return beginWithRetry(db, async tx => {
    const claim = { sendId: block.sendId, first: block.first, workerId: counting.workerId }
    const locked = await store.lockBlock(tx, businessId, claim)
    if (!locked) return false
    const range = {
      from: deliveryIdOf(block.sendId, block.first),
      to: deliveryIdOf(block.sendId, block.first + locked.people - 1),
    }
    const finals = await store.finalsBetween(tx, businessId, range)
    const deferred = await store.deferredBetween(tx, businessId, range)
    if (finals.length + deferred < locked.people) return false
    await store.finishBlock(tx, businessId, block)
    await count(
      tx,
      businessId,
      block.sendId,
      finals.filter(row => !row.retried),
      counting,
    )
    return true
  })
}

/** Counts deferrals that came to an end. Who deletes the deferral counts it. */
export async function settleDeferrals(db: Database, batch: Batch, counting: Counting): Promise<void> {
  const { businessId } = batch
  const ids = batch.deferrals.map(one => one.deliveryId).sort()
  await beginWithRetry(db, async tx => {
    const finals = await store.endDeferrals(tx, businessId, ids)
    for (const sendId of [...new Set(finals.map(row => sendIdOf(row.deliveryId)))].sort())
      await count(
        tx,
        businessId,
        sendId,
        finals.filter(row => sendIdOf(row.deliveryId) === sendId),
        counting,
      )
  })
}

async function count(
  tx: Tx,
  businessId: string,
  sendId: string,
  finals: readonly FinalRow[],
  { now, tellsDelivery }: Counting,
): Promise<void> {
  const number = (state: FinalRow['state']) => finals.filter(row => row.state === state).length
  const isDelivered = (row: FinalRow) => row.state === 'sent' && !tellsDelivery(row.serverId)
  const isHard = (row: FinalRow) => row.state === 'bounced' && row.class === 'hard'
  const progress = await store.addTally(
    tx,
    businessId,
    sendId,
    {
      sent: number('sent'),
      delivered: finals.filter(isDelivered).length,
      bounced: number('bounced'),
      suppressed: number('suppressed'),
      failed: number('failed'),
      unknown: number('unknown'),
      cancelled: number('cancelled'),
      hardBounces: finals.filter(isHard).length,
    },
    now,
  )
  if (!progress) return
  const activities = finals.flatMap(row =>
    activitiesOf(row, progress, { delivered: isDelivered(row), hard: isHard(row) }),
  )
  await recordActivities(tx, businessId, activities)
  // Addresses that are nobody's subscription are suppressed too: they don't exist for the next send either.
  const strangers = finals.filter(row => isHard(row) && !row.subscriberId)
  await suppressAddresses(
    tx,
    businessId,
    strangers.map(row => ({ email: row.email, type: 'bounced', reason: `${row.code} ${row.reply}` })),
    now,
  )
  if (progress.isComplete) await tellComplete(tx, businessId, sendId, progress, now)
  else await watchRates(tx, businessId, { ...progress, sendId, now })
}

function activitiesOf(
  row: FinalRow,
  send: { campaignId: string; campaignName: string },
  facts: { delivered: boolean; hard: boolean },
): Activity[] {
  if (!row.subscriberId) return []
  const base = {
    subscriberId: row.subscriberId,
    at: row.at,
    campaignId: send.campaignId,
    campaignName: send.campaignName,
    isFirst: true,
    isMachine: false,
  }
  if (row.state === 'sent')
    return facts.delivered
      ? [
          { ...base, kind: 'sent' },
          { ...base, kind: 'delivered' },
        ]
      : [{ ...base, kind: 'sent' }]
  if (row.state === 'bounced')
    return [{ ...base, kind: 'bounce', hard: facts.hard, reason: `${row.code} ${row.reply}`.trim() }]
  return []
}

const tellComplete = (tx: Tx, businessId: string, sendId: string, progress: store.SendProgress, now: Date) =>
  emit(tx, {
    businessId,
    type: 'campaign_send_complete',
    source: 'scheduler',
    objectId: sendId,
    data: {
      sendId,
      campaignId: progress.campaignId,
      campaignName: progress.campaignName,
      queued: progress.queued,
      sent: progress.sent,
    },
    at: now,
  })
