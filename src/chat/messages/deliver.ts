import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { badGateway, type Problem, tooMany } from '../../platform/problem.ts'
import type { Channel, PlatformAnswer, PlatformError, SendPath } from '../channel/channel.ts'
import { channelOf } from '../channel/channels.ts'
import { paceOf } from '../channel/pace.ts'
import { sharesOf } from '../channel/share.ts'
import { addIdentity } from '../contacts/store.ts'
import { forgetRecentSetting, type Setting } from '../settings/settings.ts'
import { useMarketingEndpoint } from '../settings/store.ts'
import { isMarketing, type Template } from '../templates/template.ts'
import { failMessage, flagUnknown } from './fail.ts'
import { type GiveUp, judge } from './judge.ts'
import type { Kind } from './kind.ts'
import { answerFromRow, rejected, type Sent, sentResult, unknownOutcome } from './sent.ts'
import * as store from './store.ts'
import { writesOf } from './writes.ts'

/** How long a request waits for its turn or for another try, besides the call itself. */
export const patienceMs = 2_000
const leaseSeconds = 30

export interface Outgoing {
  id: string
  contact: { id: string; mobile: string }
  recipient: string
  payload: object
  setting: Setting
  kind: Kind
  template: Template | undefined
}

/** Calls the platform for a message that is written and claimed, and stores the outcome before it answers. */
export async function deliver(platform: Platform, db: Database, business: Business, message: Outgoing): Promise<Sent> {
  const channel = channelOf(platform, message.setting)
  let path = sendPath(message)
  let waited = await awaitTurn(platform, db, business, message)
  for (let attempt = 1; ; attempt++) {
    const judgement = judge(
      await callOnce(channel, message, { path, attempt, now: await nowFor(db, business) }),
      attempt,
    )
    switch (judgement.verdict) {
      case 'accepted':
        return recordAccepted(platform, business, message, judgement.outcome)
      case 'unknown':
        await flagUnknown(db, business, message.id)
        throw unknownOutcome(message.id)
      case 'failed':
        await failMessage(platform, db, business, { ...message, error: judgement.error, effect: judgement.effect })
        throw rejected(judgement.error)
      case 'switch_endpoint':
        await useMarketingEndpoint(db, business.id)
        forgetRecentSetting(platform, business.id)
        path = 'marketing_messages'
        break
      case 'again': {
        const { delayMs, giveUp } = judgement
        if (judgement.pause === 'number') paceOf(platform).pauseNumber(message.setting.id, Math.min(delayMs, 60_000))
        if (judgement.pause === 'recipient')
          paceOf(platform).pauseRecipient(message.setting.id, message.recipient, Math.min(delayMs, 60_000))
        waited += delayMs
        if (waited > patienceMs) throw await surrender(platform, db, business, message, giveUp)
        await pause(delayMs)
      }
    }
    const claimed = await store.claimNextAttempt(db, business.id, message.id, { attempt: attempt + 1, leaseSeconds })
    if (!claimed) return answerFromRow((await store.messageById(db, business.id, message.id))!)
  }
}

/** Marketing goes to an endpoint of its own where the number is switched over. */
export const sendPath = ({ setting, template }: Pick<Outgoing, 'setting' | 'template'>): SendPath =>
  template && isMarketing(template) && setting.marketingEndpoint ? 'marketing_messages' : 'messages'

/** Our id and the number of the attempt come back with every status: they tell whose it is when the answer got lost. */
export function callOnce(
  channel: Channel,
  message: Pick<Outgoing, 'id' | 'payload'>,
  { path, attempt, now }: { path: SendPath; attempt: number; now: Date },
) {
  return channel.send({ ...message.payload, biz_opaque_callback_data: `${message.id}.${attempt}` }, { path, now })
}

async function awaitTurn(platform: Platform, db: Database, business: Business, message: Outgoing): Promise<number> {
  const { setting, recipient } = message
  // The sandbox has nobody to protect.
  if (setting.type === 'sandbox') return 0
  const waitMs = paceOf(platform).reserve({
    number: setting.id,
    recipient,
    perSecond: setting.messagesPerSecond * sharesOf(platform).of(setting),
    patienceMs,
  })
  if (waitMs > patienceMs) {
    const error = { code: 'paced', title: 'Sending limit reached', details: 'Nothing was sent.' }
    await failMessage(platform, db, business, { ...message, error, effect: { do: 'nothing' } })
    throw tooMany(
      'channel_paced',
      'The number, or this recipient, is at its sending limit. Wait and try again.',
      waitMs / 1000,
    )
  }
  if (waitMs > 0) await pause(waitMs)
  return waitMs
}

async function recordAccepted(
  platform: Platform,
  business: Business,
  message: Outgoing,
  { platformId, answer }: { platformId: string; answer: PlatformAnswer },
): Promise<Sent> {
  const now = await nowFor(platform.db, business)
  try {
    await writesOf(platform).recordAccepted(business.id, { id: message.id, platformId, answer, now })
    await rememberRewrittenNumber(platform.db, business.id, message, answer)
  } catch (error) {
    // Accepted, but we could not write it down: to the caller the outcome is unknown, because a repeat would send twice.
    throw Object.assign(unknownOutcome(message.id), { cause: error })
  }
  return sentResult(
    { recipient: message.recipient, conversationId: message.contact.id, payload: message.payload },
    answer,
  )
}

/** For some countries the platform knows people by another form of their number; they write to us under that one. */
async function rememberRewrittenNumber(
  db: Database,
  businessId: string,
  message: Outgoing,
  answer: PlatformAnswer,
): Promise<void> {
  const known = answer.contacts?.[0]?.wa_id
  if (typeof known !== 'string' || known === message.recipient || known === message.contact.mobile) return
  if (/^\d{7,15}$/.test(known))
    await addIdentity(db, businessId, { kind: 'phone', value: known, contactId: message.contact.id })
}

/** Nothing was accepted and there is no more time: the message failed, and the caller may try again. */
async function surrender(
  platform: Platform,
  db: Database,
  business: Business,
  message: Outgoing,
  giveUp: GiveUp,
): Promise<Problem> {
  const error: PlatformError | store.MessageError =
    giveUp.as === 'unavailable' && !giveUp.error
      ? { code: 'not_sent', title: 'The platform could not be reached', details: giveUp.reason }
      : giveUp.error!
  await failMessage(platform, db, business, { ...message, error, effect: { do: 'nothing' } })
  if (giveUp.as === 'throttled')
    return tooMany('channel_throttled', `The platform asks to wait: ${error.title}.`, giveUp.retryAfterMs / 1000)
  if (giveUp.as === 'refused') return rejected(error)
  return badGateway(
    'channel_unreachable',
    `The platform could not take the message: ${giveUp.reason} Nothing was sent.`,
  )
}
