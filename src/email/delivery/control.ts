import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import { type QueuedSend, queueResend } from './queue-send.ts'
import * as queue from './store-queue.ts'
import * as store from './store-report.ts'

/**
 * A send is `sending` until everyone has a result, then `complete`. It can be `paused` (by a person, or by itself when
 * too many bounce or complain) and resumed, or `cancelled`: then who has no result yet gets the result `cancelled`.
 * What is with a server at that moment is finished; nobody's mail is cut off in the middle.
 */
export type Act = 'pause' | 'resume' | 'cancel'

const changes: Record<Act, { from: string[]; to: string; reason: string; otherwise: string }> = {
  pause: { from: ['sending'], to: 'paused', reason: 'Paused by request.', otherwise: 'is not being sent' },
  resume: { from: ['paused'], to: 'sending', reason: '', otherwise: 'is not paused' },
  cancel: { from: ['sending', 'paused'], to: 'cancelled', reason: '', otherwise: 'is not being sent' },
}

/** Applies to all sends of the campaign that are under way; answers how many. */
export async function changeSending(db: Database, business: Business, campaignId: string, act: Act): Promise<number> {
  const campaign = (await store.campaignExists(db, business.id, campaignId)) ?? fail(notFound('Campaign'))
  const { from, to, reason, otherwise } = changes[act]
  const now = await nowFor(db, business)
  return db.begin(async tx => {
    const changed = await store.changeState(tx, business.id, { campaignId, from, to, reason, now })
    if (changed.length === 0)
      throw unprocessable(`campaign_${act}_impossible`, `Campaign "${campaign.name}" ${otherwise}.`)
    await queue.markDue(tx, business.id)
    return changed.length
  })
}

/** Mails again to whom it did not reach: failures, unknown outcomes and passing bounces; never to who got it since. */
export async function resendToFailures(
  db: Database,
  platform: Platform,
  business: Business,
  wish: { campaignId: string; sendId?: string },
): Promise<QueuedSend> {
  const { campaignId } = wish
  if (!(await store.campaignExists(db, business.id, campaignId))) throw notFound('Campaign')
  const send = wish.sendId
    ? await store.sendOf(db, business.id, { campaignId, sendId: wish.sendId })
    : await store.newestSend(db, business.id, campaignId)
  if (!send)
    throw wish.sendId ? notFound('Send') : unprocessable('campaign_not_sent', 'This campaign was not sent yet.')
  const now = await nowFor(db, business)
  return db.begin(async tx => {
    const failed = { campaignId, sendId: send.id, states: ['failed', 'unknown', 'bounced'] }
    return queueResend(tx, platform, business, { campaignId, now }, store.failedPeople(tx, business.id, failed))
  })
}
