import type { PlatformError } from './channel.ts'

/**
 * What the platform's error codes mean for us. A code decides, even where the HTTP status says something else.
 * stop: the named scope sends nothing more until a person has looked. retry: later, within the attempts named.
 * pair: only this recipient waits. final: failed, no further try.
 */
export type Action =
  | { act: 'stop'; scope: 'number' | 'account' | 'marketing' | 'templates' | 'country' | 'marketing_endpoint' }
  | { act: 'retry'; attempts: number; delayMs: number; slows?: 'number' }
  | { act: 'pair' }
  | { act: 'final'; follow?: 'opt_out' | 'sync_template' | 'pause_broadcast' }
  | { act: 'switch_endpoint' }

const stop = (scope: Extract<Action, { act: 'stop' }>['scope']): Action => ({ act: 'stop', scope })
const final: Action = { act: 'final' }
const soon: Action = { act: 'retry', attempts: 3, delayMs: 500 }

const actions: Record<number, Action> = {
  0: stop('number'),
  190: stop('number'),
  3: stop('number'),
  10: stop('number'),
  131005: stop('number'),
  33: stop('number'),
  131037: stop('number'),
  131042: stop('number'),
  131045: stop('number'),
  133010: stop('number'),
  368: stop('account'),
  131031: stop('account'),
  130497: stop('country'),
  131048: stop('marketing'),
  131064: stop('templates'),
  134102: stop('marketing_endpoint'),
  4: { act: 'retry', attempts: 10, delayMs: 60_000, slows: 'number' },
  80007: { act: 'retry', attempts: 10, delayMs: 60_000, slows: 'number' },
  130429: { act: 'retry', attempts: 10, delayMs: 1_000, slows: 'number' },
  131056: { act: 'pair' },
  2: soon,
  131016: soon,
  133004: soon,
  1: soon,
  131000: soon,
  131057: { act: 'retry', attempts: 5, delayMs: 60_000 },
  132069: { act: 'retry', attempts: 5, delayMs: 60_000 },
  134101: { act: 'retry', attempts: 3, delayMs: 600_000 },
  131050: { act: 'final', follow: 'opt_out' },
  132001: { act: 'final', follow: 'sync_template' },
  132012: { act: 'final', follow: 'sync_template' },
  132015: { act: 'final', follow: 'pause_broadcast' },
  132016: { act: 'final', follow: 'pause_broadcast' },
  131063: { act: 'switch_endpoint' },
}
for (let code = 200; code <= 299; code++) actions[code] = stop('number')

/** A code we do not know failed for a reason we cannot mend. */
export const actionFor = (code: number): Action => actions[code] ?? final

/** The throttling codes, answered as 429. */
export const isThrottle = (code: number) => [4, 80007, 130429, 131056].includes(code)

/** These say that the request itself may be at fault: after the retries they count as a refusal. */
export const mayBeBadRequest = (code: number) => code === 1 || code === 131000

/** Titles for what the sandbox and the fake platform answer; the real one sends its own. */
export const titles: Record<number, string> = {
  0: 'AuthException',
  1: 'API Unknown',
  2: 'API Service',
  3: 'API Method',
  4: 'API Too Many Calls',
  10: 'Permission Denied',
  33: 'Parameter value is not valid',
  100: 'Invalid parameter',
  190: 'Access token has expired',
  368: 'Temporarily blocked for policies violations',
  80007: 'Rate limit issues',
  130429: 'Rate limit hit',
  130472: "User's number is part of an experiment",
  130497: 'Business account is restricted from messaging users in this country',
  131000: 'Something went wrong',
  131005: 'Access denied',
  131008: 'Required parameter is missing',
  131009: 'Parameter value is not valid',
  131016: 'Service unavailable',
  131021: 'Recipient cannot be sender',
  131026: 'Message undeliverable',
  131030: 'Recipient phone number not in allowed list',
  131031: 'Account has been locked',
  131037: 'Display name approval needed',
  131042: 'Business eligibility payment issue',
  131045: 'Incorrect certificate',
  131047: 'Re-engagement message',
  131048: 'Spam rate limit hit',
  131049: 'Message was not delivered to maintain healthy ecosystem engagement',
  131050: 'User stopped marketing messages',
  131051: 'Message type is not supported',
  131052: 'Media download error',
  131053: 'Media upload error',
  131055: 'Method not allowed',
  131056: 'Pair rate limit hit',
  131057: 'Account in maintenance mode',
  131062: 'Business-scoped user id recipients are not supported for this message',
  131063: 'Marketing messages are switched off on this endpoint',
  131064: 'Messaging limit after category violations',
  132000: 'Template parameter count mismatch',
  132001: 'Template does not exist',
  132005: 'Template hydrated text too long',
  132007: 'Template format character policy violated',
  132012: 'Template parameter format mismatch',
  132015: 'Template is paused',
  132016: 'Template is disabled',
  132018: 'Template parameter value is not valid',
  132068: 'Flow is blocked',
  132069: 'Flow is throttled',
  133004: 'Server temporarily unavailable',
  133010: 'Phone number not registered',
  134100: 'Only marketing messages are supported',
  134101: 'Template is syncing',
  134102: 'Template is unavailable',
  135000: 'Generic user error',
  137000: 'Identity key mismatch',
}

/** Those that the platform reports by webhook after it accepted the message. */
export const reportedLater = new Set([131026, 131047, 131049, 131050, 131053, 130472])

export const describeError = ({ code, title, details }: Pick<PlatformError, 'code' | 'title' | 'details'>) =>
  `(${code}) ${title}${details && details !== title ? `: ${details}` : ''}`
