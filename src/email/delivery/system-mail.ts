import { createHash } from 'node:crypto'
import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import type { Html } from '../../platform/html.ts'
import { individualLane } from './queue-send.ts'
import { newSendId } from './send-id.ts'
import * as store from './store-queue.ts'

/** A message that a person asked for by what they did: a receipt, a link, a confirmation. It is no campaign's. */
export interface SystemMail {
  to: string
  subject: string
  html: Html
  now: Date
}

export const systemCampaign = { id: '', name: 'System' } as const

/**
 * Queues one message in the caller's transaction, so that it goes out exactly when what it tells of is committed.
 * Answers the id of the send.
 */
export async function queueSystemMail(tx: Tx, business: Business, mail: SystemMail): Promise<string> {
  const source = plainBraces(mail.html.text, '&#123;')
  const id = createHash('sha256').update(`system\n${source}`).digest('hex').slice(0, 24)
  const sendId = newSendId()
  await store.keepContent(tx, business.id, {
    id,
    builderType: 'HTML',
    source,
    preheader: '',
    footer: false,
    now: mail.now,
  })
  await store.insertSend(tx, business.id, {
    id: sendId,
    campaignId: systemCampaign.id,
    campaignName: systemCampaign.name,
    contentId: id,
    lane: individualLane,
    subject: plainBraces(mail.subject, '{ '),
    fromName: business.name,
    senderEmail: '',
    deliveryServerId: null,
    total: 1,
    queued: 1,
    now: mail.now,
  })
  await store.insertBlock(tx, business.id, {
    sendId,
    first: 1,
    lane: individualLane,
    emails: [mail.to],
    subscriberIds: [null],
  })
  await store.markDue(tx, business.id)
  return sendId
}

/** Names that people typed may look like merge tags; here they are only text. */
const plainBraces = (text: string, brace: string) => text.replaceAll(/\{(?=[{%])/g, brace)
