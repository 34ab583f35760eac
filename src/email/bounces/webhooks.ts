import { createHash, createHmac, createPublicKey, timingSafeEqual, verify, X509Certificate } from 'node:crypto'
import type { Platform } from '../../platform/platform.ts'
import { Problem } from '../../platform/problem.ts'
import { classify, isOurs } from '../delivery/classify.ts'
import type { TrackedEvent } from '../tracking/record.ts'

/**
 * What providers tell by webhook. Each proves itself in its own way, and each gives our mark back: the id of the
 * delivery, which every message carries in a header of that provider's choosing.
 */
export const providers = ['ses', 'sendgrid', 'postmark', 'mailgun'] as const
export type Provider = (typeof providers)[number]

export interface Notice {
  body: Buffer
  headers: Record<string, string | string[] | undefined>
  /** what the provider and we share: topic address, public key, user:password, signing key */
  secret: string
}

/** The header that makes a provider give our mark back. */
export const markHeader: Record<Provider, (deliveryId: string) => string> = {
  ses: id => `X-SES-MESSAGE-TAGS: pennypost=${id}\r\n`,
  sendgrid: id => `X-SMTPAPI: {"unique_args":{"pennypost":"${id}"}}\r\n`,
  postmark: id => `X-PM-Metadata-pennypost: ${id}\r\n`,
  mailgun: id => `X-Mailgun-Variables: {"pennypost":"${id}"}\r\n`,
}

/** Answers undefined when the notice does not prove itself. */
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

// biome-ignore lint/suspicious/noExplicitAny: bodies of others, looked into with care
type Json = any

function json(body: Buffer): Json {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

const header = (notice: Notice, name: string) => String(notice.headers[name] ?? '')
const sameBytes = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b)
const isDeliveryId = (id: unknown): id is string => typeof id === 'string' && /^[0-9a-f]{24}$/.test(id)
const timeOf = (value: unknown) => {
  const at = typeof value === 'number' ? new Date(value * 1000) : new Date(String(value))
  return Number.isNaN(at.getTime()) ? new Date() : at
}

/** Drops what is not ours, and gives each the id that makes a repeat harmless. */
function event(
  provider: Provider,
  key: unknown,
  told: Omit<TrackedEvent, 'id' | 'deliveryId'> & { deliveryId: unknown },
): TrackedEvent[] {
  if (!isDeliveryId(told.deliveryId)) return []
  const id = createHash('sha256')
    .update(`${provider}:${told.kind}:${told.deliveryId}:${String(key)}`)
    .digest('hex')
  return [{ ...told, deliveryId: told.deliveryId, id: id.slice(0, 24) }]
}

const causeOf = (text: string) => classify({ code: 550, text }, 'RCPT').class
const isHard = (text: string) => causeOf(text) === 'hard'
const blamesUs = (text: string) => text !== '' && isOurs(causeOf(text))

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

// Amazon SES, through SNS: a signature with a certificate that only Amazon can publish.

const snsHost = /^sns\.[a-z0-9-]{3,}\.amazonaws\.com(\.cn)?$/

/** A certificate from anywhere else would let anyone sign. */
export function isAmazonAddress(address: unknown): address is string {
  if (typeof address !== 'string' || !URL.canParse(address)) return false
  const url = new URL(address)
  return url.protocol === 'https:' && snsHost.test(url.hostname) && url.port === '' && url.username === ''
}

export function snsText(message: Json): string {
  const names =
    message.Type === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
  return names.flatMap(name => (typeof message[name] === 'string' ? [`${name}\n${message[name]}\n`] : [])).join('')
}

const certificates = new Map<string, X509Certificate>()

/** Undefined where the address holds no certificate; what is kept has proven to be one. */
async function certificateAt(
  address: string,
  { outbound }: Pick<Platform, 'outbound'>,
): Promise<X509Certificate | undefined> {
  const known = certificates.get(address)
  if (known) return known
  const answer = await outbound
    .fetch(address, { maxBytes: 65_536, timeoutMs: 10_000, maxRedirects: 0 })
    .catch(() => undefined)
  // Amazon tells it again when it hears that it is our fault.
  if (answer?.status !== 200)
    throw new Problem(
      503,
      'certificate_unavailable',
      'The certificate of this notice can’t be fetched now; tell it again.',
    )
  try {
    const certificate = new X509Certificate(answer.body)
    if (certificates.size > 100) certificates.clear()
    certificates.set(address, certificate)
    return certificate
  } catch {
    return undefined
  }
}

async function readSns(notice: Notice, outside: Pick<Platform, 'outbound'>): Promise<TrackedEvent[] | undefined> {
  const message = json(notice.body)
  if (typeof message !== 'object' || message === null || message.TopicArn !== notice.secret) return undefined
  if (!isAmazonAddress(message.SigningCertURL) || !new URL(message.SigningCertURL).pathname.endsWith('.pem'))
    return undefined
  const certificate = await certificateAt(message.SigningCertURL, outside)
  if (!certificate) return undefined
  const algorithm = message.SignatureVersion === '2' ? 'sha256' : 'sha1'
  const signature = Buffer.from(String(message.Signature), 'base64')
  if (!verify(algorithm, Buffer.from(snsText(message)), certificate.publicKey, signature)) return undefined
  if (message.Type === 'SubscriptionConfirmation' && isAmazonAddress(message.SubscribeURL)) {
    await outside.outbound.fetch(message.SubscribeURL, { maxBytes: 65_536, timeoutMs: 10_000 })
    return []
  }
  return message.Type === 'Notification' ? sesEvents(json(Buffer.from(String(message.Message))), message.MessageId) : []
}

export function sesEvents(one: Json, key: unknown): TrackedEvent[] {
  const deliveryId = one?.mail?.tags?.pennypost?.[0]
  const tell = (at: unknown, more: Omit<TrackedEvent, 'id' | 'deliveryId' | 'at'>) =>
    event('ses', key, { deliveryId, at: timeOf(at), ...more })
  switch (one?.eventType ?? one?.notificationType) {
    case 'Delivery':
      return tell(one.delivery?.timestamp, { kind: 'delivered' })
    case 'Bounce': {
      const reason = String(one.bounce?.bouncedRecipients?.[0]?.diagnosticCode ?? one.bounce?.bounceSubType ?? '')
      if (one.bounce?.bounceType === 'Transient') return []
      const hard =
        one.bounce?.bounceType === 'Permanent' &&
        one.bounce?.bounceSubType !== 'Suppressed' &&
        isHard(reason || '5.1.1')
      return tell(one.bounce?.timestamp, { kind: 'bounce', reason, hard, blamesUs: !hard && blamesUs(reason) })
    }
    case 'Complaint':
      return tell(one.complaint?.timestamp, {
        kind: 'complaint',
        reason: String(one.complaint?.complaintFeedbackType ?? 'Complaint'),
      })
    case 'Open':
      return tell(one.open?.timestamp, { kind: 'open', userAgent: String(one.open?.userAgent ?? '') })
    case 'Click':
      return tell(one.click?.timestamp, { kind: 'click', userAgent: String(one.click?.userAgent ?? '') })
    case 'Subscription':
      return tell(one.subscription?.timestamp, { kind: 'unsubscribe' })
    default:
      return []
  }
}

/** An old notice that was overheard is not taken again. */
const isRecent = (seconds: number) => Math.abs(Date.now() / 1000 - seconds) < 12 * 3_600
