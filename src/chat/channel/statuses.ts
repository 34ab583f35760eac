/**
 * What the platform reports of a message we sent. Reports come late, twice and in any order, so a message keeps the first
 * moment of each kind of report, and its status follows from which of them exist: read over delivered over failed over
 * sent. So every order of the same reports ends in the same state, and a failure never hides a proof of delivery.
 */
import type { MessageError, MessageRow, MessageStatus } from '../messages/store.ts'

export interface StatusReport {
  platformId: string
  status: 'sent' | 'delivered' | 'read' | 'failed'
  at: Date
  /** our message and its attempt, where the platform echoes them */
  messageId: string | undefined
  attempt: number | undefined
  error: MessageError | undefined
  pricing: Record<string, unknown> | undefined
  element: Record<string, unknown>
}

const known = new Map([
  ['sent', 'sent'],
  ['delivered', 'delivered'],
  ['read', 'read'],
  // A voice message that was played was read.
  ['played', 'read'],
  ['failed', 'failed'],
] as const)

/** Throws where the element is none; the caller keeps it aside. */
export function readStatus(element: unknown): StatusReport {
  const raw = (typeof element === 'object' && element !== null ? element : {}) as Record<string, unknown>
  const status = known.get(raw.status as 'sent')
  if (typeof raw.id !== 'string' || raw.id === '' || raw.id.length > 512)
    throw new Error('The status names no message.')
  if (!status) throw new Error(`The status "${String(raw.status)}" is not known.`)
  const seconds = Number(raw.timestamp)
  if (!Number.isFinite(seconds) || seconds <= 0 || seconds > 8.64e12) throw new Error('The status has no time.')
  const [, messageId, attempt] = /^([0-9a-f]{24})\.(\d{1,4})$/.exec(String(raw.biz_opaque_callback_data ?? '')) ?? []
  return {
    platformId: raw.id,
    status,
    at: new Date(seconds * 1000),
    messageId,
    attempt: attempt === undefined ? undefined : Number(attempt),
    error: status === 'failed' ? readError(raw.errors) : undefined,
    pricing:
      typeof raw.pricing === 'object' && raw.pricing !== null ? (raw.pricing as Record<string, unknown>) : undefined,
    element: raw,
  }
}

function readError(errors: unknown): MessageError {
  const raw = (Array.isArray(errors) ? (errors[0] ?? {}) : {}) as Record<string, unknown>
  const data = raw.error_data as { details?: unknown } | undefined
  return {
    code: Number.isInteger(raw.code) ? Number(raw.code) : 0,
    title: String(raw.title ?? raw.message ?? 'Failed').slice(0, 1000),
    details: String(data?.details ?? raw.message ?? '').slice(0, 4000),
  }
}

export type Reported = Pick<
  MessageRow,
  'status' | 'sentAt' | 'deliveredAt' | 'readAt' | 'failedAt' | 'error' | 'pricing' | 'platformId'
>

/** Whether the report is of this message: by its platform id, or by our own id and the attempt that is under way. */
export const belongs = (message: Pick<MessageRow, 'id' | 'platformId' | 'attempt'>, report: StatusReport) =>
  message.platformId === report.platformId ||
  (message.platformId === null && message.id === report.messageId && message.attempt === report.attempt)

const earlier = (known: Date | null, reported: Date) => (known && known <= reported ? known : reported)

export function applyReport<T extends Reported>(message: T, report: StatusReport): T {
  const after = { ...message, platformId: message.platformId ?? report.platformId }
  if (report.status === 'sent') after.sentAt = earlier(message.sentAt, report.at)
  if (report.status === 'delivered') after.deliveredAt = earlier(message.deliveredAt, report.at)
  if (report.status === 'read') after.readAt = earlier(message.readAt, report.at)
  if (report.status === 'failed') after.failedAt = earlier(message.failedAt, report.at)
  if (report.pricing) after.pricing = report.pricing
  after.status = statusOf(after)
  if (report.status === 'failed') after.error = report.error ?? message.error
  if (after.status !== 'failed') after.error = null
  return after
}

function statusOf(message: Reported): MessageStatus {
  if (message.readAt) return 'read'
  if (message.deliveredAt) return 'delivered'
  if (message.failedAt) return 'failed'
  if (message.sentAt) return 'sent'
  return message.status
}
