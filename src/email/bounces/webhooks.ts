import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import type { Platform } from '../../platform/platform.ts'
import type { TrackedEvent } from '../tracking/record.ts'
import { blamesUs, event, isHard, type Json, json, type Notice, type Provider, timeOf } from './notice.ts'
import { readSns } from './ses.ts'

/**
 * What providers tell by webhook. Each proves itself in its own way, and each gives our mark back: the id of the
 * delivery, which every message carries in a header of that provider's choosing.
 * Answers undefined when the notice does not prove itself.
 */
export async function readNotice(
  provider: Provider,
  notice: Notice,
  outside: Pick<Platform, 'outbound'>,
): Promise<TrackedEvent[] | undefined> {
  switch (provider) {
    case 'ses':
      return readSns(notice, outside)
    case 'sendgrid':
      return provesSendGrid(notice) ? sendGridEvents(json(notice.body)) : undefined
    case 'postmark':
      return provesPostmark(notice) ? postmarkEvents(json(notice.body)) : undefined
    case 'mailgun':
      return provesMailgun(notice) ? mailgunEvents(json(notice.body)) : undefined
  }
}

const header = (notice: Notice, name: string) => String(notice.headers[name] ?? '')
const sameBytes = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b)

// SendGrid: ECDSA over timestamp and body.

function provesSendGrid(notice: Notice): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(notice.secret, 'base64'), format: 'der', type: 'spki' })
    const signature = Buffer.from(header(notice, 'x-twilio-email-event-webhook-signature'), 'base64')
    const timestamp = header(notice, 'x-twilio-email-event-webhook-timestamp')
    return (
      isRecent(Number(timestamp)) &&
      verify('sha256', Buffer.concat([Buffer.from(timestamp), notice.body]), key, signature)
    )
  } catch {
    return false
  }
}

function sendGridEvents(body: Json): TrackedEvent[] {
  if (!Array.isArray(body)) return []
  return body.flatMap((one: Json) => {
    const base = { deliveryId: one?.pennypost, at: timeOf(one?.timestamp) }
    const reason = String(one?.reason ?? one?.response ?? '')
    const tell = (more: Omit<TrackedEvent, 'id' | 'deliveryId' | 'at'>) =>
      event('sendgrid', one?.sg_event_id, { ...base, ...more })
    switch (one?.event) {
      case 'delivered':
        return tell({ kind: 'delivered' })
      case 'bounce':
        // "blocked" is a refusal of us, not of the address.
        return one.type === 'blocked'
          ? tell({ kind: 'bounce', reason, blamesUs: true })
          : tell({ kind: 'bounce', reason, hard: isHard(reason), blamesUs: blamesUs(reason) })
      case 'dropped': {
        const hard = /bounced address|invalid/i.test(reason)
        return tell({ kind: 'bounce', reason, hard, blamesUs: !hard })
      }
      case 'spamreport':
        return tell({ kind: 'complaint', reason: 'Reported as spam' })
      case 'unsubscribe':
      case 'group_unsubscribe':
        return tell({ kind: 'unsubscribe' })
      case 'open':
        return tell({ kind: 'open', isMachine: one.sg_machine_open === true, userAgent: String(one.useragent ?? '') })
      case 'click':
        return tell({ kind: 'click', userAgent: String(one.useragent ?? '') })
      default:
        return []
    }
  })
}

// Mailgun: HMAC over timestamp and token.

function provesMailgun(notice: Notice): boolean {
  const { timestamp, token, signature } = json(notice.body)?.signature ?? {}
  if (typeof timestamp !== 'string' || typeof token !== 'string' || typeof signature !== 'string') return false
  const expected = createHmac('sha256', notice.secret)
    .update(timestamp + token)
    .digest()
  return isRecent(Number(timestamp)) && sameBytes(expected, Buffer.from(signature, 'hex'))
}

function mailgunEvents(body: Json): TrackedEvent[] {
  const one = body?.['event-data']
  const base = { deliveryId: one?.['user-variables']?.pennypost, at: timeOf(one?.timestamp) }
  const status = one?.['delivery-status'] ?? {}
  const reason =
    `${status.code ?? ''} ${status['enhanced-code'] ?? ''} ${status.message ?? status.description ?? ''}`.trim()
  const userAgent = String(one?.['client-info']?.['user-agent'] ?? '')
  const tell = (more: Omit<TrackedEvent, 'id' | 'deliveryId' | 'at'>) => event('mailgun', one?.id, { ...base, ...more })
  switch (one?.event) {
    case 'delivered':
      return tell({ kind: 'delivered' })
    case 'failed':
      return one.severity === 'permanent'
        ? tell({ kind: 'bounce', reason, hard: isHard(reason), blamesUs: blamesUs(reason) })
        : []
    case 'complained':
      return tell({ kind: 'complaint', reason: 'Reported as spam' })
    case 'unsubscribed':
      return tell({ kind: 'unsubscribe' })
    case 'opened':
      return tell({ kind: 'open', userAgent })
    case 'clicked':
      return tell({ kind: 'click', userAgent })
    default:
      return []
  }
}

// Postmark: user and password in the address of the webhook.

function provesPostmark(notice: Notice): boolean {
  const given = Buffer.from(header(notice, 'authorization').replace(/^Basic /i, ''), 'base64')
  const hash = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest()
  return notice.secret !== '' && sameBytes(hash(given), hash(notice.secret))
}

/** Of Postmark's many types of bounce, those of the mailbox; the others tell of blocks, policies and automatic answers. */
const mailboxBounces = new Set(['HardBounce', 'BadEmailAddress', 'SoftBounce'])

function postmarkEvents(one: Json): TrackedEvent[] {
  const at = one?.BouncedAt ?? one?.DeliveredAt ?? one?.ReceivedAt ?? one?.ChangedAt
  const base = { deliveryId: one?.Metadata?.pennypost, at: timeOf(at) }
  const reason = `${one?.Type ?? ''} ${one?.Details ?? one?.Description ?? ''}`.trim()
  const tell = (more: Omit<TrackedEvent, 'id' | 'deliveryId' | 'at'>) =>
    event('postmark', `${one?.ID ?? one?.MessageID}:${at}`, { ...base, ...more })
  switch (one?.RecordType) {
    case 'Delivery':
      return tell({ kind: 'delivered' })
    case 'Bounce':
      return tell({
        kind: 'bounce',
        reason,
        hard: one.Type === 'HardBounce' || one.Type === 'BadEmailAddress',
        blamesUs: !mailboxBounces.has(String(one.Type)),
      })
    case 'SpamComplaint':
      return tell({ kind: 'complaint', reason: 'Reported as spam' })
    case 'SubscriptionChange':
      return one.SuppressSending ? tell({ kind: 'unsubscribe' }) : []
    case 'Open':
      return tell({ kind: 'open', userAgent: String(one.UserAgent ?? '') })
    case 'Click':
      return tell({ kind: 'click', userAgent: String(one.UserAgent ?? '') })
    default:
      return []
  }
}

/** An old notice that was overheard is not taken again. */
const isRecent = (seconds: number) => Math.abs(Date.now() / 1000 - seconds) < 12 * 3_600
