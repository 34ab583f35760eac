import { createHash } from 'node:crypto'
import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { type Audience, audienceOf } from '../subscribers/audience.ts'
import { campaign as campaignLane, individual } from './lanes.ts'
import { newSendId } from './send-id.ts'
import * as store from './store-queue.ts'

/** What a caller may say about one launch of a campaign. */
export interface SendRequest {
  campaignId: string
  /** named: then no other server takes over when it fails */
  deliveryServerId?: string
  senderEmail?: string
  fromName?: string
  subject?: string
  attachments?: { filename: string; contentType: string; content: Buffer }[]
  now: Date
}

export interface QueuedSend {
  sendId: string
  totalEmails: number
  queued: number
}

export const individualLane = individual
/** People to a block: as many as a worker takes at once. */
export const blockSize = 500

/** Queues a campaign to single addresses; they overtake every campaign to a list. */
export async function queueIndividualSend(
  tx: Tx,
  platform: Platform,
  business: Business,
  send: SendRequest,
  emails: readonly string[],
): Promise<QueuedSend> {
  const people = await store.mailableAddresses(tx, business.id, emails)
  const total = new Set(emails.map(email => email.toLowerCase())).size
  const sendId = await openSend(tx, platform, business, send, { lane: individualLane, total, queued: people.length })
  for (let at = 0; at < people.length; at += blockSize) {
    const block = people.slice(at, at + blockSize)
    await store.insertBlock(tx, business.id, {
      sendId,
      first: at + 1,
      lane: individualLane,
      emails: block.map(person => person.email),
      subscriberIds: block.map(person => person.subscriberId),
    })
  }
  if (people.length > 0) await store.markDue(tx, business.id)
  return { sendId, totalEmails: total, queued: people.length }
}

/** Queues a campaign to lists and segments. Who is in them now is who gets it, whatever changes until it is sent. */
export async function queueListSend(
  tx: Tx,
  platform: Platform,
  business: Business,
  send: SendRequest,
  audience: Audience,
): Promise<QueuedSend> {
  const sendId = await openSend(tx, platform, business, send, { lane: campaignLane, total: 0, queued: 0 })
  const { people } = await audienceOf(tx, business.id, audience, send.now)
  return fillSend(tx, business, sendId, people, send.now)
}

/** Queues a campaign to people who are known by a statement: those whom an earlier send did not reach. */
export async function queueResend(
  tx: Tx,
  platform: Platform,
  business: Business,
  send: SendRequest,
  people: Parameters<typeof store.freezeAudience>[3],
): Promise<QueuedSend> {
  const sendId = await openSend(tx, platform, business, send, { lane: campaignLane, total: 0, queued: 0 })
  return fillSend(tx, business, sendId, people, send.now)
}

async function fillSend(
  tx: Tx,
  business: Business,
  sendId: string,
  people: Parameters<typeof store.freezeAudience>[3],
  now: Date,
): Promise<QueuedSend> {
  const queued = await store.freezeAudience(tx, business.id, { sendId, lane: campaignLane, blockSize }, people)
  await store.setSendTotals(tx, business.id, sendId, queued, now)
  if (queued > 0) await store.markDue(tx, business.id)
  return { sendId, totalEmails: queued, queued }
}

/** Freezes what is said: later edits of the campaign change later sends only. */
async function openSend(
  tx: Tx,
  _platform: Platform,
  business: Business,
  send: SendRequest,
  size: { lane: number; total: number; queued: number },
): Promise<string> {
  const campaign = (await store.campaignToSend(tx, business.id, send.campaignId)) ?? fail(notFound('Campaign'))
  const content = {
    builderType: campaign.builderType,
    source: campaign.content,
    preheader: campaign.preheader,
    footer: size.lane === campaignLane,
  }
  const contentId = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 24)
  await store.keepContent(tx, business.id, { id: contentId, ...content, now: send.now })
  const sendId = newSendId()
  await store.insertSend(tx, business.id, {
    id: sendId,
    campaignId: campaign.id,
    campaignName: campaign.name,
    contentId,
    lane: size.lane,
    subject: send.subject ?? campaign.subject,
    fromName: send.fromName ?? (campaign.senderName || business.name),
    senderEmail: send.senderEmail ?? campaign.senderEmail,
    deliveryServerId: send.deliveryServerId ?? campaign.deliveryServerId,
    total: size.total,
    queued: size.queued,
    now: send.now,
  })
  for (const [position, attachment] of (send.attachments ?? []).entries())
    await store.insertAttachment(tx, business.id, sendId, { position, ...attachment })
  return sendId
}
