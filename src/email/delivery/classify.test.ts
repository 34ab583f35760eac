import { expect, test } from 'vitest'
import { classify } from './classify.ts'
import { deferralMs } from './defer.ts'

const minute = 60_000

test.each([
  [550, '5.1.1 The email account that you tried to reach does not exist', 'hard', false],
  [550, '5.1.10 RESOLVER.ADR.RecipientNotFound', 'hard', false],
  [550, 'No such user here', 'hard', false],
  [554, 'delivery error: dd This user doesn’t have a yahoo.com account', 'content', false],
  [554, "delivery error: dd This user doesn't have a yahoo.com account", 'hard', false],
  [550, '5.7.1 [203.0.113.5] Our system has detected that this message is likely unsolicited mail', 'content', false],
  [554, '5.7.1 Service unavailable; Client host [203.0.113.5] blocked using zen.spamhaus.org', 'block', false],
  [550, '5.1.1 your IP is listed in our blocklist', 'block', false],
  [550, '5.7.26 This mail is unauthenticated', 'policy', false],
  [
    550,
    '5.7.515 Access denied, sending domain example.com does not meet the required authentication level',
    'policy',
    false,
  ],
  [550, '5.7.1 refused', 'policy', false],
  [552, '5.2.2 The email account that you tried to reach is over quota', 'soft', true],
  [452, '4.2.2 mailbox full', 'soft', true],
  [421, '4.7.28 Our system has detected an unusual rate of unsolicited mail', 'rate', true],
  [421, '4.7.0 [TSS04] Messages from 203.0.113.5 temporarily deferred', 'rate', true],
  [451, '4.7.1 Greylisting in action, please come back later', 'soft', true],
  [421, 'Service not available, closing transmission channel', 'rate', true],
  [450, '4.1.1 unknown user for now', 'soft', true],
  [552, '5.3.4 message size exceeds fixed limit', 'content', false],
  [554, '5.6.0 malformed message', 'content', false],
  [550, '5.7.1 Message rejected due to virus', 'content', false],
] as const)('%i %s is %s', (code, text, expected, retry) => {
  expect(classify({ code, text }, 'RCPT')).toEqual({ class: expected, retry })
})

test('a word-less 550 is a hard bounce at RCPT only', () => {
  expect(classify({ code: 550, text: 'no' }, 'RCPT').class).toBe('hard')
  expect(classify({ code: 550, text: 'no' }, 'end').class).toBe('content')
})

test('greylisting is met again soon, everything else later and later, with a spread', () => {
  const greylisted = { class: 'soft' as const, reply: 'greylisted' }
  const full = { class: 'soft' as const, reply: 'mailbox full' }
  expect([0, 1].map(spread => deferralMs(1, greylisted, spread))).toEqual([5 * minute, 10 * minute])
  expect([1, 2, 3, 4, 5, 6, 7].map(tries => deferralMs(tries, full, 0) / minute)).toEqual([
    20, 40, 80, 160, 240, 240, 240,
  ])
})
