import PostalMime from 'postal-mime'
import type { Secrets } from '../../platform/secrets.ts'
import { classify, type ReplyClass } from '../delivery/classify.ts'
import { type DeliveryName, readBounceToken, readUnsubscribeToken } from '../delivery/tokens.ts'

/** What a mail that came back tells: a bounce (RFC 3464) or a complaint (RFC 5965). */
export type Report =
  | { kind: 'bounce'; class: ReplyClass; permanent: boolean; reason: string }
  | { kind: 'complaint'; reason: string }
  /** an automatic answer, or something nobody can read: changes nothing */
  | { kind: 'none' }

const decode = (content: unknown) =>
  typeof content === 'string' ? content : Buffer.from(content as ArrayBuffer).toString('utf8')

/** Reads a bounce or complaint. `emptySender`: it came from <>, as bounces must. */
export async function readReport(raw: Buffer, options: { emptySender: boolean }): Promise<Report> {
  const mail = await PostalMime.parse(raw, { forceRfc822Attachments: true })
  const part = (type: string) => mail.attachments.find(one => one.mimeType.toLowerCase() === type)
  const feedback = part('message/feedback-report')
  if (feedback) {
    const type = fieldOf(decode(feedback.content), 'Feedback-Type') ?? 'abuse'
    return type.toLowerCase() === 'not-spam' ? { kind: 'none' } : { kind: 'complaint', reason: `Complaint: ${type}` }
  }
  const status = part('message/delivery-status') ?? part('message/global-delivery-status')
  if (status) return readDeliveryStatus(decode(status.content))
  const automatic = mail.headers.some(one => one.key === 'auto-submitted' && /auto-replied/i.test(one.value))
  return options.emptySender && !automatic ? readPlainBounce(mail.text ?? '') : { kind: 'none' }
}

function readDeliveryStatus(text: string): Report {
  // The first group is about the message, each further one about a recipient; we send to one at a time.
  const groups = text
    .replaceAll('\r\n', '\n')
    .trim()
    .split(/\n\s*\n/)
  const recipient = groups.find(group => fieldOf(group, 'Action') !== undefined) ?? ''
  const action = (fieldOf(recipient, 'Action') ?? '').toLowerCase()
  if (action !== 'failed') return { kind: 'none' }
  const enhanced = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(fieldOf(recipient, 'Status') ?? '')?.[1] ?? '5.0.0'
  const said = (fieldOf(recipient, 'Diagnostic-Code') ?? '').replace(/^[\w-]+;\s*/, '')
  return bounceOf(said, enhanced)
}

/** Bounces from before the standard, and from those who never read it. */
function readPlainBounce(text: string): Report {
  const said = /\b[45]\d\d[ -][^\n]{3,300}|[^\n]*\b5\.\d\.\d{1,3}\b[^\n]*/.exec(text)?.[0]
  return said ? bounceOf(said.trim(), '5.0.0') : { kind: 'none' }
}

function bounceOf(said: string, enhanced: string): Report {
  const code = Number(/^\s*([45]\d\d)\b/.exec(said)?.[1] ?? `${enhanced.charAt(0)}50`)
  const words = said.replace(/^\s*[45]\d\d[ -]?/, '')
  const text = /\b[245]\.\d{1,3}\.\d{1,3}\b/.test(words) ? words : `${enhanced} ${words}`
  // A report of failure is final, also where the reply it tells of was temporary: the relay gave up.
  const verdict = classify({ code, text }, 'RCPT')
  return { kind: 'bounce', class: verdict.class, permanent: true, reason: `${code} ${text}`.slice(0, 500) }
}

/** A field of a block of header-like lines, unfolded. */
function fieldOf(block: string, name: string): string | undefined {
  const lines = block
    .replaceAll('\r\n', '\n')
    .replaceAll(/\n[ \t]+/g, ' ')
    .split('\n')
  const found = lines.find(line => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
  return found?.slice(name.length + 1).trim()
}

/** Which delivery an address of ours stands for. */
export function deliveryOfAddress(secrets: Secrets, address: string): DeliveryName | undefined {
  const token = /^b\+([a-z2-7]{52})@/i.exec(address)?.[1]
  return token ? readBounceToken(secrets, token) : undefined
}

/** Complaint loops send to one address for all; the message they quote carries its unsubscribe address. */
export function deliveryInText(secrets: Secrets, raw: Buffer): DeliveryName | undefined {
  // Quoted-printable may have cut the address in two.
  const text = raw.toString('latin1').replaceAll(/=\r?\n/g, '')
  for (const match of text.matchAll(/\/e\/[up]\/([\w-]{48})/g)) {
    const found = readUnsubscribeToken(secrets, match[1] ?? '')
    if (found) return found
  }
  const verp = /b\+([a-z2-7]{52})@/i.exec(text)?.[1]
  return verp ? readBounceToken(secrets, verp) : undefined
}
