import type { Outcome, PlatformError } from '../channel/channel.ts'
import { actionFor, isThrottle, mayBeBadRequest } from '../channel/errors.ts'

/** What follows from an outcome. Whoever sends decides how long it may wait; a lost answer is never tried again. */
export type Judgement =
  | { verdict: 'accepted'; outcome: Extract<Outcome, { result: 'accepted' }> }
  | { verdict: 'unknown'; reason: string }
  | { verdict: 'failed'; error: PlatformError; effect: Effect }
  | { verdict: 'again'; delayMs: number; pause: 'number' | 'recipient' | 'none'; giveUp: GiveUp }
  | { verdict: 'switch_endpoint'; error: PlatformError }

export type Effect =
  | { do: 'nothing' }
  | { do: 'opt_out' }
  | { do: 'sync_template' }
  | { do: 'pause_broadcast' }
  | { do: 'halt'; scope: 'number' | 'account' | 'marketing' | 'templates' | 'country' | 'marketing_endpoint' }

/** What it counts as when there is no more time or no further attempt. */
export type GiveUp =
  | { as: 'throttled'; error: PlatformError; retryAfterMs: number }
  | { as: 'refused'; error: PlatformError }
  | { as: 'unavailable'; reason: string; error?: PlatformError }

const notSentDelayMs = 300
const notSentAttempts = 3
const pairAttempts = 6

export function judge(outcome: Outcome, attempt: number): Judgement {
  if (outcome.result === 'accepted') return { verdict: 'accepted', outcome }
  if (outcome.result === 'unknown') return { verdict: 'unknown', reason: outcome.reason }
  if (outcome.result === 'not_sent') {
    const giveUp: GiveUp = { as: 'unavailable', reason: outcome.reason }
    const delayMs = attempt >= notSentAttempts ? Number.POSITIVE_INFINITY : notSentDelayMs * attempt
    return { verdict: 'again', delayMs, pause: 'none', giveUp }
  }
  return judgeRefusal(outcome.error, attempt)
}

/** What a code means beyond its own message, also where it is told later, by a status. */
export function effectOf(code: number): Effect {
  const action = actionFor(code)
  if (action.act === 'stop') return { do: 'halt', scope: action.scope }
  return { do: action.act === 'final' ? (action.follow ?? 'nothing') : 'nothing' }
}

function judgeRefusal(error: PlatformError, attempt: number): Judgement {
  const action = actionFor(error.code)
  switch (action.act) {
    case 'stop':
    case 'final':
      return { verdict: 'failed', error, effect: effectOf(error.code) }
    case 'switch_endpoint':
      return attempt > 1
        ? { verdict: 'failed', error, effect: { do: 'nothing' } }
        : { verdict: 'switch_endpoint', error }
    case 'pair': {
      const delayMs = attempt > pairAttempts ? Number.POSITIVE_INFINITY : 1_000 * 4 ** (attempt - 1)
      return again(error, { delayMs, pause: 'recipient' })
    }
    case 'retry': {
      const spent = attempt >= action.attempts
      const delayMs = spent ? Number.POSITIVE_INFINITY : (error.retryAfterMs ?? action.delayMs * attempt)
      return again(error, { delayMs, pause: action.slows ?? 'none' })
    }
  }
}

function again(
  error: PlatformError,
  { delayMs, pause }: { delayMs: number; pause: 'number' | 'recipient' | 'none' },
): Judgement {
  const retryAfterMs = Number.isFinite(delayMs) ? delayMs : 60_000
  const giveUp: GiveUp = isThrottle(error.code)
    ? { as: 'throttled', error, retryAfterMs }
    : mayBeBadRequest(error.code)
      ? { as: 'refused', error }
      : { as: 'unavailable', reason: `${error.title} (${error.code})`, error }
  return { verdict: 'again', delayMs, pause, giveUp }
}
