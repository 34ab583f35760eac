import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { changeConsent } from '../contacts/consent.ts'
import * as contactStore from '../contacts/store.ts'
import { tellMessages } from '../events.ts'
import { isMediaKind } from '../media/limits.ts'
import { insertMedia } from '../media/store.ts'
import { findNumber } from '../phone.ts'
import { addToTallies } from '../store.ts'
import { tallyNames } from '../tally.ts'
import { changePhone, type Names, resolveContact } from './identity.ts'
import { readKeyword } from './keywords.ts'
import { insertIncoming, touchConversation } from './store-incoming.ts'

/** A message that a person wrote, with the profile that came beside it. */
export interface Incoming {
  message: Record<string, unknown>
  profile: Record<string, unknown> | undefined
}

const freeEntryMs = 72 * 3_600_000
const knownTypes = new Set([
  'text',
  'image',
  'video',
  'document',
  'audio',
  'sticker',
  'location',
  'contacts',
  'reaction',
  'interactive',
  'button',
  'order',
  'system',
  'edit',
  'revoke',
])

/** Keeps the message in its conversation and does what it asks for; the same message a second time does nothing. */
export async function receiveMessage(
  tx: Tx,
  business: Business,
  { message, profile }: Incoming,
  now: Date,
): Promise<void> {
  const { id, at, type } = readEnvelope(message)
  const names = readNames(message, profile)
  if (!names.phone && !names.userId) throw new Error('The message names no sender.')
  const contact = await resolveContact(tx, business, names, now)
  const media = contact.incomingBlocked ? undefined : mediaOf(message, type)
  const stored = await insertIncoming(tx, business.id, {
    id: newId(),
    contactId: contact.id,
    // Kept as it came, whatever it is: a type we do not know yet must not be lost.
    kind: knownTypes.has(type) ? type : 'unsupported',
    sender: names.phone ?? names.userId ?? '',
    payload: message,
    platformId: id,
    blocked: contact.incomingBlocked,
    mediaId: media?.id ?? null,
    at,
    now,
  })
  if (!stored) return
  if (media) await insertMedia(tx, business.id, { ...media, messageId: stored.id, now })
  if (type === 'system') await followSystemMessage(tx, business, contact, message, now)
  const counts = !contact.incomingBlocked && type !== 'reaction' && type !== 'system'
  const fresh = await touchConversation(tx, business.id, {
    contactId: contact.id,
    messageId: stored.id,
    messageAt: stored.createdAt,
    // A notice of the platform is nothing the person wrote: it opens no window.
    writtenAt: type === 'system' ? null : at,
    unread: counts ? 1 : 0,
    freeEntryUntil: message.referral ? new Date(at.getTime() + freeEntryMs) : null,
  })
  if (fresh) await addToTallies(tx, business.id, [[tallyNames.conversations, 1]])
  const text = textOf(message)
  const keyword = readKeyword(text)
  if (keyword)
    await changeConsent(tx, business, contact.id, {
      decision: keyword,
      source: 'keyword',
      evidence: text.slice(0, 200),
      saidAt: at,
      now,
    })
  if (!contact.incomingBlocked)
    await tellMessages(tx, business, { type: 'message_received', source: 'channel', now }, [stored])
}

function readEnvelope(message: Record<string, unknown>) {
  const { id, timestamp, type } = message
  if (typeof id !== 'string' || id === '' || id.length > 512) throw new Error('The message has no id.')
  const seconds = Number(timestamp)
  if (!Number.isFinite(seconds) || seconds <= 0 || seconds > 8.64e12) throw new Error('The message has no time.')
  return { id, at: new Date(seconds * 1000), type: typeof type === 'string' ? type : 'unsupported' }
}

/** `from` and `wa_id` are absent, not replaced, where a person hides their number. */
function readNames(message: Record<string, unknown>, profile: Record<string, unknown> | undefined): Names {
  const text = (value: unknown) =>
    typeof value === 'string' && value !== '' && value.length <= 200 ? value : undefined
  const shown = profile?.profile as { name?: unknown } | undefined
  return {
    phone: findNumber(message.from) ?? findNumber(profile?.wa_id),
    userId: text(message.from_user_id) ?? text(profile?.user_id),
    profileName: text(shown?.name) ?? '',
    movesTo: newNumberOf(message),
  }
}

/** The typed fields are read, never the sentence. */
function newNumberOf(message: Record<string, unknown>): string | undefined {
  const system = (message.system ?? {}) as { type?: unknown; wa_id?: unknown }
  return message.type === 'system' && system.type === 'user_changed_number' ? findNumber(system.wa_id) : undefined
}

/** The file that came with it, to be fetched while the platform has it. */
function mediaOf(message: Record<string, unknown>, type: string) {
  const node = message[type] as { id?: unknown; mime_type?: unknown; filename?: unknown } | undefined
  const text = (value: unknown) => (typeof value === 'string' ? value.slice(0, 240) : '')
  if (!isMediaKind(type) || !text(node?.id)) return undefined
  return {
    id: newId(),
    direction: 'in' as const,
    kind: type,
    status: 'waiting' as const,
    mimeType: text(node?.mime_type) || 'application/octet-stream',
    filename: text(node?.filename),
    platformId: text(node?.id),
  }
}

/** Whoever taps a button says its words. */
function textOf(message: Record<string, unknown>): string {
  const { text, button, interactive } = message as {
    text?: { body?: unknown }
    button?: { text?: unknown }
    interactive?: { button_reply?: { title?: unknown }; list_reply?: { title?: unknown } }
  }
  const said = text?.body ?? button?.text ?? interactive?.button_reply?.title ?? interactive?.list_reply?.title
  return typeof said === 'string' ? said : ''
}

/** A new number or user id of someone we know. */
async function followSystemMessage(
  tx: Tx,
  business: Business,
  contact: contactStore.ContactRow,
  message: Record<string, unknown>,
  now: Date,
): Promise<void> {
  const system = (message.system ?? {}) as { type?: unknown; user_id?: unknown }
  const phone = newNumberOf(message)
  if (phone) await changePhone(tx, business, contact, { phone, now })
  if (system.type === 'user_changed_user_id' && typeof system.user_id === 'string' && system.user_id.length <= 200)
    await contactStore.addIdentity(tx, business.id, { kind: 'user', value: system.user_id, contactId: contact.id })
}
