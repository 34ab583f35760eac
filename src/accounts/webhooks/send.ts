import type { Outbound } from '../../platform/outbound.ts'
import { OutboundRefused } from '../../platform/outbound-refused.ts'
import { type Message, requestHeaders, type Target } from './sign.ts'

export const defaultTimeoutMs = 10_000
/** Of an answer only the beginning is kept, to show what the receiver said. */
const keptBytes = 4_096

export interface Outcome {
  succeeded: boolean
  at: Date
  durationMs: number
  status: number | null
  answer: string | null
  /** a sentence, where there was no success */
  error: string | null
  /** the receiver asks not to be tried sooner */
  retryAfterMs: number
}

/** One attempt. Every failure is an outcome; it never throws. Redirects are not followed: they would take the event elsewhere. */
export async function send(
  outbound: Outbound,
  target: Target,
  message: Message,
  { at, timeoutMs = defaultTimeoutMs }: { at: Date; timeoutMs?: number },
): Promise<Outcome> {
  const started = performance.now()
  try {
    const answer = await outbound.fetch(target.url, {
      method: 'POST',
      headers: requestHeaders(target, message, at),
      body: message.body,
      timeoutMs,
      maxBytes: keptBytes,
      whenTooLarge: 'cut',
      maxRedirects: 0,
    })
    const { status, body, durationMs, headers } = answer
    const succeeded = status >= 200 && status < 300
    return {
      succeeded,
      at,
      durationMs,
      status,
      answer: body.toString().replaceAll('\u0000', ''),
      error: succeeded ? null : failure(status),
      retryAfterMs: status === 429 || status === 503 ? readRetryAfter(headers['retry-after'], at) : 0,
    }
  } catch (error) {
    return {
      succeeded: false,
      at,
      durationMs: Math.round(performance.now() - started),
      status: null,
      answer: null,
      error: error instanceof OutboundRefused ? error.message : 'The request could not be made.',
      retryAfterMs: 0,
    }
  }
}

const failure = (status: number) =>
  status >= 300 && status < 400
    ? `It answered ${status}; redirects are not followed.`
    : `It answered ${status} instead of a status from 200 to 299.`

const maxRetryAfterMs = 3_600_000
function readRetryAfter(text: string | undefined, at: Date): number {
  if (!text) return 0
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - at.getTime()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), maxRetryAfterMs) : 0
}
