import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { beginWithRetry, retryLostRace } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { Problem } from '../../platform/problem.ts'
import type { Channel } from '../channel/channel.ts'
import { channelOf } from '../channel/channels.ts'
import { paceOf } from '../channel/pace.ts'
import { sharesOf } from '../channel/share.ts'
import type { Contact } from '../contacts/contacts.ts'
import { callOnce, sendPath } from '../messages/deliver.ts'
import { failMessage, flagUnknown, followEffect } from '../messages/fail.ts'
import { judge } from '../messages/judge.ts'
import { requireConsent, requireNotHalted } from '../messages/send.ts'
import type { MessageRow } from '../messages/store.ts'
import { type Acceptance, recordAccepted } from '../messages/store-intents.ts'
import { forgetRecentSetting, recentSetting, type Setting } from '../settings/settings.ts'
import { useMarketingEndpoint } from '../settings/store.ts'
import { addToTallies } from '../store.ts'
import { tallyNames } from '../tally.ts'
import { templateById } from '../templates/store.ts'
import type { Template } from '../templates/template.ts'
import { pauseBroadcast } from './broadcasts.ts'
import { shownBroadcast } from './report.ts'
import * as store from './store.ts'

const batchSize = 200
const leaseSeconds = 60
/** Messages that would have to wait longer go back to the queue, so that they do not hold a lease for nothing. */
const patienceMs = 5_000
/** How soon a message that waits for its turn hears that its broadcast was stopped. */
const lookAgainMs = 500

interface Batch {
  platform: Platform
  business: Business
  broadcast: store.BroadcastRow
  setting: Setting
  template: Template
  channel: Channel
  contacts: Map<string, Contact>
  accepted: Acceptance[]
  stillSending(): Promise<boolean>
}

/** Sends what is due of a broadcast, a batch at most. Answers how many messages it took. */
export async function sendBatch(platform: Platform, business: Business, id: string): Promise<number> {
  const { db } = platform
  const broadcast = await store.broadcastById(db, business.id, id)
  if (broadcast?.status !== 'sending') return 0
  const setting = await recentSetting(platform, business.id)
  const template = await templateById(db, business.id, broadcast.templateId)
  const now = await nowFor(db, business)
  const obstacle = findObstacle(setting, template)
  if (obstacle || !template) {
    await pauseBroadcast(db, business.id, id, { reason: obstacle ?? 'The template is gone.', now })
    return 0
  }
  const messages = await claim(platform, business, id, { limit: batchLimit(setting), now })
  if (messages.length === 0) {
    await finishIfDone(platform, business, id, now)
    return 0
  }
  const contacts = await store.contactsOf(
    db,
    business.id,
    messages.map(message => message.conversationId),
  )
  const batch: Batch = {
    platform,
    business,
    broadcast,
    setting,
    template,
    channel: channelOf(platform, setting),
    contacts: new Map(contacts.map(contact => [contact.id, contact])),
    accepted: [],
    stillSending: recently(async () => (await store.broadcastById(db, business.id, id))?.status === 'sending'),
  }
  const ended = await Promise.allSettled(messages.map(message => sendOne(batch, message)))
  if (batch.accepted.length > 0) await retryLostRace(async () => await recordAccepted(db, business.id, batch.accepted))
  // Thrown only now: a fault of one must not lose the outcomes of the others.
  for (const one of ended) if (one.status === 'rejected') throw one.reason
  return messages.length
}

/** No more than goes out in a few seconds, so that little is under way when somebody pauses. */
const batchLimit = ({ type, messagesPerSecond }: Setting) =>
  type === 'sandbox' ? batchSize : Math.min(batchSize, Math.ceil((messagesPerSecond * patienceMs) / 2000))

/** Asks at most four times a second, however many want to know. */
function recently(ask: () => Promise<boolean>): () => Promise<boolean> {
  let known: { at: number; answer: Promise<boolean> } | undefined
  return () => {
    if (!known || performance.now() - known.at > 250) known = { at: performance.now(), answer: ask() }
    return known.answer
  }
}

const claim = (platform: Platform, business: Business, id: string, { limit, now }: { limit: number; now: Date }) =>
  beginWithRetry(platform.db, async tx => {
    const messages = await store.claimQueued(tx, business.id, id, { limit, leaseSeconds })
    if (messages.length === 0) return messages
    const fresh = await store.touchConversations(tx, business.id, messages, now)
    if (fresh > 0) await addToTallies(tx, business.id, [[tallyNames.conversations, fresh]])
    return messages
  })

function findObstacle(setting: Setting, template: Template | undefined): string | undefined {
  if (template && template.status !== 'APPROVED') return `The template is ${template.status}.`
  try {
    requireNotHalted(setting, { template, number: '' })
    return undefined
  } catch (error) {
    if (error instanceof Problem) return error.message
    throw error
  }
}

async function sendOne(batch: Batch, message: MessageRow): Promise<void> {
  const { platform, business, setting, template, channel } = batch
  const contact = batch.contacts.get(message.conversationId) ?? {
    id: message.conversationId,
    mobile: message.recipient,
  }
  const refusal = refusalNow(batch, message)
  if (refusal)
    return failMessage(platform, platform.db, business, {
      id: message.id,
      contact,
      error: refusal,
      effect: { do: 'nothing' },
    })
  if (!(await awaitTurn(batch, message))) return
  const path = sendPath({ setting, template })
  const now = await nowFor(platform.db, business)
  const outcome = await callOnce(channel, message, { path, attempt: message.attempt, now })
  const judgement = judge(outcome, message.attempt)
  switch (judgement.verdict) {
    case 'accepted':
      batch.accepted.push({
        id: message.id,
        platformId: judgement.outcome.platformId,
        answer: judgement.outcome.answer,
        now,
      })
      return
    case 'unknown':
      return flagUnknown(platform.db, business, message.id)
    case 'switch_endpoint':
      await useMarketingEndpoint(platform.db, business.id)
      forgetRecentSetting(platform, business.id)
      await store.requeue(platform.db, business.id, message.id, { delayMs: 0, called: true })
      return
    case 'again':
      return tryLater(batch, message, judgement)
    case 'failed':
      return failOrStop(batch, message, contact, judgement)
  }
}

/** Asked again when the message goes out: a STOP that came after the freezing counts. */
function refusalNow(batch: Batch, message: MessageRow) {
  const contact = batch.contacts.get(message.conversationId)
  if (!contact) return { code: 'contact_gone', title: 'The contact is gone', details: '' }
  try {
    requireConsent(contact, batch.template)
    requireNotHalted(batch.setting, { template: batch.template, number: contact.mobile })
    return undefined
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { code: error.code, title: 'Not allowed', details: error.message }
  }
}

/** Whether the message may go now. While it waited for its turn the broadcast may have been paused or cancelled. */
async function awaitTurn(batch: Batch, message: MessageRow): Promise<boolean> {
  const { platform, business, setting } = batch
  if (setting.type === 'sandbox') return true
  const waitMs = paceOf(platform).reserve({
    number: setting.id,
    recipient: message.recipient,
    perSecond: setting.messagesPerSecond * sharesOf(platform).of(setting),
    patienceMs,
  })
  if (waitMs > patienceMs) {
    await store.requeue(platform.db, business.id, message.id, { delayMs: waitMs - patienceMs / 2, called: false })
    return false
  }
  const due = performance.now() + waitMs
  for (let left = waitMs; left > 0; left = due - performance.now()) {
    await pause(Math.min(left, lookAgainMs))
    if (await batch.stillSending()) continue
    paceOf(platform).giveBack({ number: setting.id, recipient: message.recipient })
    await store.requeue(platform.db, business.id, message.id, { delayMs: 0, called: false })
    return false
  }
  return true
}

async function tryLater(
  { platform, business, setting }: Batch,
  message: MessageRow,
  { delayMs, pause: scope, giveUp }: Extract<ReturnType<typeof judge>, { verdict: 'again' }>,
): Promise<void> {
  if (Number.isFinite(delayMs)) {
    if (scope === 'number') paceOf(platform).pauseNumber(setting.id, delayMs)
    if (scope === 'recipient') paceOf(platform).pauseRecipient(setting.id, message.recipient, delayMs)
    await store.requeue(platform.db, business.id, message.id, { delayMs, called: true })
    return
  }
  const error =
    giveUp.as === 'unavailable' && !giveUp.error
      ? { code: 'not_sent', title: 'The platform could not be reached', details: giveUp.reason }
      : giveUp.error!
  await failMessage(platform, platform.db, business, {
    id: message.id,
    contact: { id: message.conversationId, mobile: message.recipient },
    error,
    effect: { do: 'nothing' },
  })
}

/** What the platform stops is stopped for all: the message goes back to the queue, and the broadcast waits for a person. */
async function failOrStop(
  { platform, business, broadcast }: Batch,
  message: MessageRow,
  contact: { id: string; mobile: string },
  { error, effect }: Extract<ReturnType<typeof judge>, { verdict: 'failed' }>,
): Promise<void> {
  const now = await nowFor(platform.db, business)
  const stops = (effect.do === 'halt' && effect.scope !== 'country') || effect.do === 'pause_broadcast'
  if (!stops) return failMessage(platform, platform.db, business, { id: message.id, contact, error, effect })
  await beginWithRetry(platform.db, async tx => {
    await store.requeue(tx, business.id, message.id, { delayMs: 0, called: true })
    await followEffect(platform, tx, business, { contact, error, effect, now })
    await pauseBroadcast(tx, business.id, broadcast.id, { reason: `(${error.code}) ${error.title}`, now })
  })
  forgetRecentSetting(platform, business.id)
}

async function finishIfDone(platform: Platform, business: Business, id: string, now: Date): Promise<void> {
  const { db } = platform
  if (await store.hasOpenMessages(db, business.id, id)) return
  await beginWithRetry(db, async tx => {
    const finished = await store.setStatus(tx, business.id, id, { from: ['sending'], to: 'finished', reason: '', now })
    if (!finished) return
    await emit(tx, {
      businessId: business.id,
      type: 'broadcast_finished',
      source: 'scheduler',
      objectId: id,
      data: await shownBroadcast(tx, business.id, finished),
      at: now,
    })
  })
}
