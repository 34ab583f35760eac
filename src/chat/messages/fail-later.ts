import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { setStatus } from '../broadcasts/store.ts'
import { dialingCode } from '../phone.ts'
import { getSetting } from '../settings/settings.ts'
import { followEffect } from './fail.ts'
import { type Effect, effectOf } from './judge.ts'
import type { MessageRow } from './store.ts'

/** Most failures are told after the platform accepted the message; they mean for the others what they mean at once. */
export async function followReportedFailures(
  platform: Platform,
  tx: Tx,
  business: Business,
  failed: readonly MessageRow[],
  now: Date,
): Promise<void> {
  const followed = new Set<string>()
  for (const message of failed) {
    const { error } = message
    // A failure that names no code is read as 0 and says nothing of the number.
    if (!error || typeof error.code !== 'number' || error.code === 0) continue
    const effect = effectOf(error.code)
    const matter = matterOf(effect, message)
    if (effect.do === 'nothing' || followed.has(matter)) continue
    followed.add(matter)
    if (effect.do === 'halt' && !(await isNews(tx, business, message, effect.scope))) continue
    if (effect.do === 'pause_broadcast' && message.broadcastId)
      await setStatus(tx, business.id, message.broadcastId, {
        from: ['preparing', 'sending'],
        to: 'paused',
        reason: `(${error.code}) ${error.title}`,
        now,
      })
    const contact = { id: message.conversationId, mobile: message.recipient }
    await followEffect(platform, tx, business, { contact, error, effect, now })
  }
}

/** A thousand failures of one batch with one cause are followed once. */
function matterOf(effect: Effect, message: MessageRow): string {
  if (effect.do === 'opt_out') return `opt_out:${message.conversationId}`
  if (effect.do === 'pause_broadcast') return `pause:${message.broadcastId}`
  if (effect.do !== 'halt') return effect.do
  return `halt:${effect.scope}:${effect.scope === 'country' ? dialingCode(message.recipient) : ''}`
}

/** What failed before somebody saved the channel settings was mended by that; the platform tells whole seconds. */
async function isNews(tx: Tx, business: Business, { failedAt, recipient }: MessageRow, scope: string) {
  const { halted, updatedAt } = await getSetting(tx, business.id)
  const isHalted = halted[scope === 'country' ? `country:${dialingCode(recipient)}` : scope] !== undefined
  return !isHalted && failedAt !== null && failedAt.getTime() + 1_000 > updatedAt.getTime()
}
