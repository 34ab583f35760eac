import type { SmtpReply } from './smtp-replies.ts'

/**
 * Whose fault a refusal is. Only `hard` is the recipient's, and only it suppresses:
 * hard (no such mailbox) · soft (full, or a passing fault there) · block (our address is listed) · policy (our domain is
 * not authenticated) · content (the message is refused) · rate (too much) · network (nobody answered).
 */
export type ReplyClass = 'hard' | 'soft' | 'block' | 'policy' | 'content' | 'rate' | 'network'

/** Of these the recipient's mailbox is the cause; all others are the sender's to mend. */
export const isOurs = (cause: ReplyClass) => cause !== 'hard' && cause !== 'soft'

export interface Verdict {
  class: ReplyClass
  /** the server said "later", or it is worth a later try; otherwise this is the end */
  retry: boolean
}

/** Layer 1: enhanced status codes (RFC 3463 and the registry) by subject.detail. */
const byEnhancedCode: Readonly<Record<string, ReplyClass>> = {
  '1.0': 'hard',
  '1.1': 'hard',
  '1.2': 'hard',
  '1.3': 'hard',
  '1.4': 'hard',
  '1.6': 'hard',
  '1.10': 'hard',
  '1.7': 'policy',
  '1.8': 'policy',
  '1.9': 'policy',
  '2.0': 'soft',
  '2.1': 'hard',
  '2.2': 'soft',
  '2.3': 'content',
  '2.4': 'hard',
  '3.1': 'soft',
  '3.2': 'soft',
  '3.4': 'content',
  '4.1': 'network',
  '4.2': 'network',
  '4.3': 'network',
  '4.4': 'hard',
  '4.5': 'rate',
  '4.6': 'network',
  '4.7': 'network',
  '6.0': 'content',
  '6.1': 'content',
  '6.3': 'content',
  '6.7': 'hard',
  '7.0': 'policy',
  '7.1': 'policy',
  '7.2': 'policy',
  '7.3': 'policy',
  '7.5': 'policy',
  '7.8': 'policy',
  '7.9': 'policy',
  '7.13': 'hard',
  '7.17': 'hard',
  '7.20': 'policy',
  '7.21': 'policy',
  '7.22': 'policy',
  '7.23': 'policy',
  '7.24': 'policy',
  '7.25': 'policy',
  '7.26': 'policy',
  '7.27': 'policy',
  '7.28': 'rate',
  '7.29': 'policy',
  '7.30': 'policy',
  '7.31': 'policy',
  '7.32': 'policy',
  '7.40': 'policy',
  '7.509': 'policy',
  '7.515': 'policy',
  '7.606': 'block',
}

/**
 * Layer 2: what servers say in words. Tried before the code where the code is known to be used for anything (x.7.1,
 * x.0.0, x.3.0, x.4.0, x.5.0) or missing; the first rule that fits wins, so what blames us stands before what blames them.
 */
const byWords: readonly (readonly [RegExp, ReplyClass])[] = [
  [
    /\bTSS?0[349]\b|\bTS0[34]\b|\bRL0+\d|rate.?limit|too (many|much|fast)|throttl|try again later.*(rate|volume)|exceeded.*(rate|quota of messages|connections)|temporarily deferred|unusual rate|\b4\.7\.28\b/i,
    'rate',
  ],
  [/greylist|gr[ae]y.?list|postgrey|please (try|retry) (again )?later|deferred due to/i, 'soft'],
  [
    /spamhaus|barracuda|spamcop|sorbs|block.?list|black.?list|\bRBL\b|\bDNSBL\b|\bCBL\b|\bPBL\b|\bS3140\b|listed (in|at|on)|poor reputation|bad reputation|reputation|IP address.*(block|banned|refused|rejected)|your (ip|server|network|host).*(block|ban|listed|reject)|banned sending IP|client host.*blocked|access denied.*(ip|host)|not accept(ed|ing) (mail|connections) from (your|this) (ip|host)/i,
    'block',
  ],
  [
    /\bDMARC\b|\bDKIM\b|\bSPF\b|unauthenticated|not authenticated|authentication (required|checks?|failed|results)|\bPTR\b|reverse dns|sender (verify|address rejected)|relay(ing)? (access )?(denied|not permitted)|not permitted to relay|must issue a STARTTLS|TLS required|domain of sender/i,
    'policy',
  ],
  [
    /\bspam\b|\bUCE\b|unsolicited|virus|malware|phish|content (rejected|filter|refused)|message (content|body).*(reject|refus)|prohibited|suspicious|message (size|too (big|large))|exceeds.*size|malformed|attachment/i,
    'content',
  ],
  [
    /(mailbox|quota|storage|account|inbox).*(full|exceed|over|limit)|over ?quota|insufficient (system )?(storage|disk)|out of (storage|space)|mailbox (is )?(temporarily|busy|locked)/i,
    'soft',
  ],
  [
    /(user|mailbox|recipient|address|account|alias|inbox).*(unknown|not found|not exist|does ?n[o']t exist|unavailable|invalid|disabled|inactive|rejected|undeliverable|no longer|suspended|deactivated|closed|not listed|not our customer)|(no such|unknown|invalid|bad|nonexistent|unrouteable) (user|mailbox|recipient|address|account|local|destination)|does ?n[o']t have (a|an).*(account|mailbox)|no mailbox here|null ?mx|domain (not found|does not exist|does not accept)|host (unknown|not found)|no longer (valid|available|active)|undeliverable address/i,
    'hard',
  ],
  [
    /timed? ?out|connection (refused|reset|closed|lost)|unreachable|dns|resolve|temporary (local )?(problem|failure|error)|try again|service (unavailable|not available)|busy|internal (server )?error|system (problem|error)|maintenance/i,
    'soft',
  ],
]

const vague = new Set(['0.0', '3.0', '4.0', '5.0', '5.1', '5.2', '5.3', '5.4', '7.1', '7.0', '1.0', '2.0'])

/** Enhanced code, then words, then the first digit. A 5xx that says "your address is listed" is our fault, not theirs. */
export function classify(reply: SmtpReply, stage: 'MAIL' | 'RCPT' | 'DATA' | 'end' = 'end'): Verdict {
  const enhanced = /(?:^|[\s\-#(])([245])\.(\d{1,3})\.(\d{1,3})(?=[\s\-:;),.]|$)/.exec(reply.text)
  const temporary = reply.code < 500
  const detail = enhanced ? `${Number(enhanced[2])}.${Number(enhanced[3])}` : undefined
  const coded = detail === undefined ? undefined : byEnhancedCode[detail]
  const worded = byWords.find(([words]) => words.test(reply.text))?.[1]
  // Words that blame us win over a code that blames the recipient: many use 5.1.1 or 5.7.1 for everything.
  const blamesUs = worded === 'block' || worded === 'policy' || worded === 'rate' || worded === 'content'
  const found =
    coded === undefined || vague.has(detail ?? '') || (coded === 'hard' && blamesUs && !sure(reply.text))
      ? (worded ?? coded)
      : coded
  if (reply.code === 421 && (found === undefined || found === 'soft' || found === 'network'))
    return { class: 'rate', retry: true }
  const verdict = found ?? fromDigit(reply.code, stage)
  if (temporary) return { class: verdict === 'hard' ? 'soft' : verdict, retry: true }
  // A full mailbox is often said with 552; it may be empty tomorrow. A blocked route or a rate is retried too.
  return { class: verdict, retry: verdict === 'soft' || verdict === 'rate' || verdict === 'network' }
}

/** Plainly about the mailbox, whatever else is said. */
const sure = (text: string) => /user unknown|no such user|unknown user|does not exist|user not found/i.test(text)

/** Layer 3. A recipient refused without a word is a hard bounce only at RCPT; later it is more likely what we sent. */
function fromDigit(code: number, stage: string): ReplyClass {
  if (code < 500) return 'soft'
  if (code === 552) return 'soft'
  if (code === 554 || stage === 'end' || stage === 'DATA') return 'content'
  return stage === 'RCPT' && (code === 550 || code === 551 || code === 553) ? 'hard' : 'policy'
}
