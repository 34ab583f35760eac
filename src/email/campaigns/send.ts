import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Tx } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { badRequest, fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import { type QueuedSend, queueIndividualSend, queueListSend, type SendRequest } from '../delivery/queue-send.ts'
import { checkTemplate } from '../delivery/template.ts'
import { findServer } from '../delivery-servers/delivery-servers.ts'
import { isEmail } from '../subscribers/email-address.ts'
import { fetchAttachments } from './attachments.ts'
import { resolveAudience } from './resolve-audience.ts'
import type { SendToIndividual, SendToList } from './schema.ts'
import * as store from './store.ts'

export interface Queued {
  campaignId: string
  campaignName: string
  totalEmails: number
  queued: number
  message: string
}

export async function sendToIndividual(
  platform: Platform,
  db: Database,
  business: Business,
  given: SendToIndividual,
): Promise<Queued> {
  const wrong = given.emails.flatMap((email, i) =>
    isEmail(email) ? [] : [{ field: `emails[${i}]`, message: 'must be a valid email address' }],
  )
  if (wrong[0]) throw badRequest('validation_failed', `${wrong[0].field} ${wrong[0].message}.`, wrong.slice(0, 20))
  return launch(platform, db, business, given, (tx, send) =>
    queueIndividualSend(tx, platform, business, send, given.emails),
  )
}

export const sendToList = (platform: Platform, db: Database, business: Business, given: SendToList): Promise<Queued> =>
  launch(platform, db, business, given, async (tx, send) => {
    const named = { included: given.includedList, excluded: given.excludedList ?? [] }
    return queueListSend(tx, platform, business, send, await resolveAudience(tx, business.id, named))
  })

/** Everything that can be refused is refused before the first row; `queued` is answered after the rows are committed. */
async function launch(
  platform: Platform,
  db: Database,
  business: Business,
  given: SendToIndividual | SendToList,
  queue: (tx: Tx, send: SendRequest) => Promise<QueuedSend>,
): Promise<Queued> {
  if (given.senderEmail !== undefined && !isEmail(given.senderEmail))
    throw invalidField('senderEmail', 'must be a valid email address')
  const campaign = (await store.find(db, business.id, given.campaignId)) ?? fail(notFound('Campaign'))
  if (campaign.status !== 'live')
    throw unprocessable(
      'campaign_not_live',
      `Campaign "${campaign.name}" is ${campaign.status === 'draft' ? 'a draft' : 'scheduled'}; only a live campaign can be sent.`,
    )
  const serverId = given.deliveryServerId ?? campaign.deliveryServerId
  if (serverId) await findServer(db, business.id, serverId)
  if (given.subject !== undefined) checkTemplate(given.subject, 'subject')
  const attachments = await fetchAttachments(platform.outbound, given.attachments ?? [])
  const now = await nowFor(db, business)
  const { deliveryServerId, senderEmail, fromName, subject } = given
  const sent = await db.begin(tx =>
    queue(tx, { campaignId: campaign.id, deliveryServerId, senderEmail, fromName, subject, attachments, now }),
  )
  return {
    campaignId: campaign.id,
    campaignName: campaign.name,
    totalEmails: sent.totalEmails,
    queued: sent.queued,
    message: messageOf(sent),
  }
}

const emails = (count: number) => (count === 1 ? '1 email' : `${count} emails`)
const messageOf = ({ totalEmails, queued }: QueuedSend) =>
  queued === totalEmails
    ? `${emails(queued)} queued for sending.`
    : `${emails(queued)} queued for sending; ${totalEmails - queued} left out because the address is suppressed.`
