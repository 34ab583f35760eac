import { verify, X509Certificate } from 'node:crypto'
import type { Platform } from '../../platform/platform.ts'
import { Problem } from '../../platform/problem.ts'
import type { TrackedEvent } from '../tracking/record.ts'
import { blamesUs, event, isHard, type Json, json, type Notice, timeOf } from './notice.ts'

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

/** Amazon SES, through SNS: a signature with a certificate that only Amazon can publish. */
export async function readSns(
  notice: Notice,
  outside: Pick<Platform, 'outbound'>,
): Promise<TrackedEvent[] | undefined> {
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
