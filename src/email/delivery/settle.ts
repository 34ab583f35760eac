import type { Database, Tx } from '../../platform/database.ts'
import { beginWithRetry } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { type Activity, recordActivities } from '../subscribers/activity.ts'
import { suppressAddresses } from '../suppressions/suppressions.ts'
import { type Batch, rangeOf } from './batch.ts'
import { sendIdOf } from './send-id.ts'
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
 * the subscribers' part. Killed before the commit, the block is claimed again and counted then; it is never counted
 * twice. It is counted from the log, inside the database: only who bounced is looked at one by one.
 */
export async function settleBlock(db: Database, batch: Batch, counting: Counting): Promise<boolean> {
  const { businessId, block } = batch
  if (!block) return false
  return beginWithRetry(db, async tx => {
    const claim = { sendId: block.sendId, first: block.first, workerId: counting.workerId }
    if (!(await store.lockBlock(tx, businessId, claim))) return false
    const range = rangeOf(block)
    const [results, deferred] = await Promise.all([
      store.countBetween(tx, businessId, range),
      store.deferredBetween(tx, businessId, range),
    ])
    if (results.reduce((sum, one) => sum + one.all, deferred) < block.people) return false
    await store.finishBlock(tx, businessId, block)
    const progress = await store.addTally(tx, businessId, block.sendId, tallyOf(results, counting), counting.now)
    if (!progress) return true
    const mailed = results.filter(one => one.state === 'sent' && one.first > 0)
    const servers = mailed.flatMap(one => (counting.tellsDelivery(one.serverId) ? [one.serverId ?? ''] : []))
    if (mailed.length > 0) await store.addSentBetween(tx, businessId, range, servers)
    const bounces = results.some(one => one.state === 'bounced' && one.first > 0)
      ? await store.bouncesBetween(tx, businessId, range)
      : []
    await tell(tx, businessId, block.sendId, { progress, finals: bounces, counting })
    return true
  })
}

function tallyOf(results: readonly store.ResultCount[], { tellsDelivery }: Counting): store.Tally {
  const sum = (test: (one: store.ResultCount) => boolean) =>
    results.reduce((total, one) => total + (test(one) ? one.first : 0), 0)
  return {
    sent: sum(one => one.state === 'sent'),
    delivered: sum(one => one.state === 'sent' && !tellsDelivery(one.serverId)),
    bounced: sum(one => one.state === 'bounced'),
    suppressed: sum(one => one.state === 'suppressed'),
    failed: sum(one => one.state === 'failed'),
    unknown: sum(one => one.state === 'unknown'),
    cancelled: sum(one => one.state === 'cancelled'),
    hardBounces: sum(isHard),
  }
}

/** Counts deferrals that came to an end. Who deletes the deferral counts it. */
export async function settleDeferrals(db: Database, batch: Batch, counting: Counting): Promise<void> {
  const { businessId } = batch
  const ids = batch.deferrals.map(one => one.deliveryId).sort()
  await beginWithRetry(db, async tx => {
    const ended = await store.endDeferrals(tx, businessId, ids)
    for (const sendId of [...new Set(ended.map(row => sendIdOf(row.deliveryId)))].sort()) {
      const finals = ended.filter(row => sendIdOf(row.deliveryId) === sendId)
      const tally = tallyOf(
        finals.map(row => ({ ...row, all: 1, first: 1 })),
        counting,
      )
      const progress = await store.addTally(tx, businessId, sendId, tally, counting.now)
      if (progress) await tell(tx, businessId, sendId, { progress, finals, counting })
    }
  })
}

const isHard = (row: Pick<FinalRow, 'state' | 'class'>) => row.state === 'bounced' && row.class === 'hard'

/** Tells subscribers what became of their mail, and the world when a send is over. */
async function tell(
  tx: Tx,
  businessId: string,
  sendId: string,
  { progress, finals, counting }: { progress: store.SendProgress; finals: readonly FinalRow[]; counting: Counting },
): Promise<void> {
  const { now, tellsDelivery } = counting
  const activities = finals.flatMap(row =>
    activitiesOf(row, progress, { delivered: !tellsDelivery(row.serverId), hard: isHard(row) }),
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
