import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { beginWithRetry, type Database, type Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import type { Platform } from '../../platform/platform.ts'
import type { PlatformError } from '../channel/channel.ts'
import { changeConsent } from '../contacts/consent.ts'
import { tellMessages } from '../events.ts'
import { dialingCode } from '../phone.ts'
import { forgetRecentSetting } from '../settings/settings.ts'
import { halt } from '../settings/store.ts'
import { syncQueue } from '../templates/jobs.ts'
import type { Effect } from './judge.ts'
import * as store from './store.ts'

interface Failure {
  id: string
  contact: { id: string; mobile: string }
  error: PlatformError | store.MessageError
  effect: Effect
}

/** Writes a failure down with everything that follows from it, in one transaction. */
export async function failMessage(
  platform: Platform,
  db: Database,
  business: Business,
  { id, contact, error, effect }: Failure,
): Promise<void> {
  const now = await nowFor(db, business)
  const { code, title, details } = error
  await beginWithRetry(db, async tx => {
    const failed = await store.recordFailed(tx, business.id, id, { error: { code, title, details }, now })
    if (failed) await tellMessages(tx, business, { type: 'message_failed', source: 'api', now }, [failed])
    await followEffect(platform, tx, business, { contact, error, effect, now })
  })
  if (effect.do === 'halt') forgetRecentSetting(platform, business.id)
}

/** What an error means beyond its own message. */
export async function followEffect(
  platform: Platform,
  tx: Tx,
  business: Business,
  { contact, error: { code, title }, effect, now }: Omit<Failure, 'id'> & { now: Date },
): Promise<void> {
  if (effect.do === 'halt')
    await haltScope(tx, business, { scope: effect.scope, code: Number(code), title, number: contact.mobile, now })
  if (effect.do === 'opt_out')
    await changeConsent(tx, business, contact.id, {
      decision: 'stop',
      source: 'platform_error',
      evidence: String(code),
      now,
    })
  if (effect.do === 'sync_template')
    await platform.jobs.enqueue(tx, syncQueue, { businessId: business.id }, { singletonKey: business.id })
}

interface HaltReason {
  scope: string
  code: number
  title: string
  number: string
  now: Date
}

async function haltScope(tx: Tx, business: Business, { scope, code, title, number, now }: HaltReason): Promise<void> {
  const name = scope === 'country' ? `country:${dialingCode(number)}` : scope
  const why = { code, title, at: now.toISOString() }
  await halt(tx, business.id, name, why)
  await emit(tx, {
    businessId: business.id,
    type: 'channel_halted',
    source: 'channel',
    objectId: business.id,
    data: { scope: name, ...why },
    at: now,
  })
}

export async function flagUnknown(db: Database, business: Business, id: string): Promise<void> {
  const now = await nowFor(db, business)
  await beginWithRetry(db, async tx => {
    const unknown = await store.recordUnknown(tx, business.id, id, now)
    if (unknown) await tellMessages(tx, business, { type: 'message_unknown', source: 'channel', now }, [unknown])
  })
}
