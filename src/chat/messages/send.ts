import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { beginWithRetry, type Database, type Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { notFound, unprocessable } from '../../platform/problem.ts'
import { newContact, requireKnownNames, saveContact, withDetails } from '../contacts/contacts.ts'
import type { ContactDetails } from '../contacts/schema.ts'
import * as contactStore from '../contacts/store.ts'
import { tellContacts } from '../events.ts'
import { ensureLists } from '../lists/lists.ts'
import { isOurs } from '../media/content.ts'
import { platformMediaId } from '../media/media.ts'
import { dialingCode, readNumber } from '../phone.ts'
import { recentSetting, type Setting, windowEnforced } from '../settings/settings.ts'
import { countContacts } from '../tally.ts'
import { isMarketing, type Template } from '../templates/template.ts'
import { requireApproved } from '../templates/templates.ts'
import { chooseKind } from './choose-kind.ts'
import { deliver } from './deliver.ts'
import type { CommonBody, Content, Kind } from './kind.ts'
import { answerFromRow, type Sent } from './sent.ts'
import * as store from './store.ts'
import { writesOf } from './writes.ts'

/**
 * A message is `sending` from the commit of its row until the outcome of the call is stored, so nothing leaves that is not
 * written down. Then `accepted`, and from there on what its webhooks say: `sent`, `delivered`, `read`; or `failed` where the
 * platform refused; or `unknown` where the answer got lost. Messages of a broadcast begin as `queued`.
 */
export const leaseSeconds = 30

interface Request {
  body: Record<string, unknown>
  idempotencyKey: string | undefined
  /** a reply goes to the person of this conversation, whatever name the platform knows them by */
  conversation?: store.Recipient
}

export async function sendMessage(
  platform: Platform,
  db: Database,
  business: Business,
  request: Request,
): Promise<Sent> {
  const earlier = request.idempotencyKey && (await store.messageByKey(db, business.id, request.idempotencyKey))
  if (earlier) return answerFromRow(earlier)
  const now = await nowFor(db, business)
  const setting = await recentSetting(platform, business.id)
  const { kind, template } = await chooseKind(db, business.id, request.body)
  const given = kind.read(request.conversation ? { ...request.body, to: '0000000' } : request.body)
  const number = request.conversation ? request.conversation.mobile : readNumber('to', given.to)
  if (template) requireApproved(template)
  const { mediaId } = given as { mediaId?: string }
  const body = mediaId ? await withPlatformMedia(platform, business, setting, given, { kind, mediaId }) : given
  // Kinds without a template never look at it.
  const content = kind.build(body, { template: template as Template, number, now })
  requireNotHalted(setting, { template, number })
  if (body.contact) await requireKnownNames(db, business.id, body.contact)

  const ours = mediaId && isOurs(mediaId) ? mediaId : null
  const draft = {
    kind,
    body,
    content,
    template,
    number,
    now,
    setting,
    mediaId: ours,
    idempotencyKey: request.idempotencyKey,
  }
  const message = await write(platform, business, draft, request.conversation)
  if ('earlier' in message) return answerFromRow(message.earlier)
  return deliver(platform, db, business, { ...message, setting, kind, template })
}

interface Draft {
  kind: Kind
  body: CommonBody
  content: Content
  template: Template | undefined
  number: string
  now: Date
  setting: Setting
  /** the file it carries, where it is one of ours */
  mediaId: string | null
  idempotencyKey: string | undefined
}

async function withPlatformMedia(
  platform: Platform,
  business: Business,
  setting: Setting,
  body: CommonBody,
  { kind, mediaId }: { kind: Kind; mediaId: string },
): Promise<CommonBody> {
  const wanted = kind.type === 'template' ? undefined : kind.type
  return {
    ...body,
    mediaId: await platformMediaId(platform, business, setting, { mediaId, kind: wanted }),
  } as CommonBody
}

export interface Written {
  id: string
  contact: { id: string; mobile: string }
  recipient: string
  payload: object
}

type Outcome = Written | { earlier: store.MessageRow }

async function write(
  platform: Platform,
  business: Business,
  draft: Draft,
  conversation: store.Recipient | undefined,
): Promise<Outcome> {
  const known = !conversation && !draft.body.contact && (await writeToKnown(platform, business, draft))
  return known || writeWithContact(platform, business, draft, conversation)
}

/** The usual case, a contact that stays as it is: everything in one statement. Undefined where the number is no contact's own. */
async function writeToKnown(platform: Platform, business: Business, draft: Draft): Promise<Outcome | undefined> {
  const { number, now, setting, template } = draft
  const windowFrom = template || !windowEnforced(setting) ? null : new Date(now.getTime() - windowMs)
  const marketing = template !== undefined && isMarketing(template)
  const payload = payloadOf(draft, undefined)
  const message = { ...rowOf(draft), id: newId(), number, payload, marketing, windowFrom }
  const intended = await writesOf(platform).intend(business.id, message)
  if (!intended) return undefined
  const contact = { id: intended.contactId, mobile: number }
  if (intended.written) return { id: message.id, contact, recipient: number, payload }
  requireConsent(intended, template)
  if (!template) await requireWindow(platform.db, business.id, draft, intended)
  return findEarlier(platform.db, business.id, draft)
}

/** The message that the key stands for; a key whose day is over is freed, and undefined answered. */
async function findEarlier(db: Database, businessId: string, { idempotencyKey: key }: Draft) {
  if (key === undefined) return undefined
  const earlier = await store.messageByKey(db, businessId, key)
  if (earlier) return { earlier }
  await store.releaseOldKey(db, businessId, key)
  return undefined
}

/** Contact and message in one commit. Begins again where another request made or deleted the contact at the same moment. */
async function writeWithContact(
  { db }: Platform,
  business: Business,
  draft: Draft,
  conversation: store.Recipient | undefined,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    const recipient = conversation ?? (await store.findRecipient(db, business.id, draft.number))
    requireConsent(consentAfter(recipient, draft.body.contact), draft.template)
    if (draft.template === undefined) await requireWindow(db, business.id, draft, recipient)
    try {
      const written = await beginWithRetry(db, async tx => {
        if (!recipient) return writeMessage(tx, business.id, draft, await createRecipient(tx, business, draft))
        // The conversation before the contact, in the order of all others, or two of them wait for each other.
        const message = await writeMessage(tx, business.id, draft, recipient)
        if (message && draft.body.contact) await changeRecipient(tx, business, recipient.id, draft)
        return message
      })
      const outcome = written ?? (await findEarlier(db, business.id, draft))
      if (outcome) return outcome
    } catch (error) {
      if (conversation && store.isContactGone(error)) throw notFound('Conversation')
      const changedMeanwhile = error instanceof NumberTakenMeanwhile || store.isContactGone(error)
      if (!changedMeanwhile || attempt === 5) throw error
    }
  }
}

async function writeMessage(
  tx: Tx,
  businessId: string,
  draft: Draft,
  contact: contactStore.ContactRow,
): Promise<Written | undefined> {
  const userId = draft.number ? undefined : await contactStore.userIdOf(tx, businessId, contact.id)
  if (!draft.number && !userId)
    throw unprocessable('contact_unreachable', 'The platform knows no number of this contact.')
  const id = newId()
  const payload = payloadOf(draft, userId)
  const recipient = draft.number || userId!
  const message = { ...rowOf(draft), id, contactId: contact.id, recipient, payload }
  const written = (await store.insertOutgoing(tx, businessId, [message])).has(id)
  return written ? { id, contact, recipient, payload } : undefined
}

const payloadOf = (draft: Draft, userId: string | undefined) => ({
  messaging_product: 'whatsapp',
  recipient_type: 'individual',
  ...(draft.number ? { to: `+${draft.number}` } : { recipient: userId }),
  ...draft.content,
  ...(draft.body.replyTo !== undefined && { context: { message_id: draft.body.replyTo } }),
})

const rowOf = ({ kind, idempotencyKey, template, mediaId, now }: Draft) => ({
  kind: kind.name,
  idempotencyKey: idempotencyKey ?? null,
  category: template?.category ?? '',
  templateId: template?.id ?? null,
  templateVersion: template?.version ?? null,
  mediaId,
  leaseSeconds,
  now,
})

/** The recipient's contact, changed by what the send says of it. */
async function changeRecipient(tx: Tx, business: Business, id: string, { now, body }: Draft): Promise<void> {
  const details: ContactDetails = body.contact ?? {}
  const lists = await ensureLists(tx, business.id, { wanted: details.list ?? [], now })
  const before = await contactStore.lockContact(tx, business.id, id)
  if (before)
    await saveContact(tx, business, { before, after: withDetails(before, details, lists), now, source: 'api' })
}

async function createRecipient(
  tx: Tx,
  business: Business,
  { number, now, body }: Draft,
): Promise<contactStore.ContactRow> {
  const details: ContactDetails = body.contact ?? {}
  const lists = await ensureLists(tx, business.id, { wanted: details.list ?? [], now })
  const contact = withDetails(newContact({ mobile: number, source: 'api', now }), details, lists)
  if ((await contactStore.insertContacts(tx, business.id, [contact])).size === 0) throw new NumberTakenMeanwhile()
  await countContacts(tx, business.id, [{ after: contact }])
  await tellContacts(tx, business, { type: 'contact_create', source: 'api', now }, [contact])
  return contact
}

class NumberTakenMeanwhile extends Error {}

/** What the send says of the contact counts for this message already; a STOP only the person lifts. */
const consentAfter = (recipient: store.Recipient | undefined, details: ContactDetails | undefined) => ({
  optin: details?.optin ?? recipient?.optin ?? true,
  stoppedAt: recipient?.stoppedAt ?? null,
})

export function requireConsent(
  contact: Pick<store.Recipient, 'optin' | 'stoppedAt'>,
  template: Template | undefined,
): void {
  if (!template || !isMarketing(template) || (contact.optin && !contact.stoppedAt)) return
  throw unprocessable(
    'contact_opted_out',
    contact.stoppedAt
      ? 'This person stopped marketing messages; only they can start them again, by writing START.'
      : 'This contact has not opted in (optin is false), so it gets no marketing template.',
  )
}

const windowMs = 24 * 3_600_000

async function requireWindow(
  db: Database,
  businessId: string,
  { setting, now }: Draft,
  recipient: Pick<store.Recipient, 'lastIncomingAt' | 'freeEntryUntil'> | undefined,
): Promise<void> {
  if (!windowEnforced(setting)) return
  const open =
    (recipient?.lastIncomingAt && now.getTime() - recipient.lastIncomingAt.getTime() < windowMs) ||
    (recipient?.freeEntryUntil && recipient.freeEntryUntil > now)
  if (open) return
  const names = await store.approvedTemplateNames(db, businessId)
  const hint =
    names.length > 0
      ? `Send a template instead, such as ${names.join(', ')}.`
      : 'Send a template instead; none is approved yet.'
  throw unprocessable(
    'window_closed',
    `This person did not write in the last 24 hours, so only templates reach them. ${hint}`,
  )
}

/** The platform stopped something: what it stopped is not even tried until a person has looked at it. */
export function requireNotHalted(
  setting: Setting,
  { template, number }: { template: Template | undefined; number: string },
): void {
  const scopes = ['account', 'number', `country:${dialingCode(number)}`]
  if (template) scopes.push('templates')
  if (template && isMarketing(template))
    scopes.push('marketing', ...(setting.marketingEndpoint ? ['marketing_endpoint'] : []))
  for (const scope of scopes) {
    const halt = setting.halted[scope]
    if (halt)
      throw unprocessable(
        'channel_halted',
        `The platform stopped this (${scope}): (${halt.code}) ${halt.title}. Mend it there, then save PUT /settings/channel to go on.`,
      )
  }
}
