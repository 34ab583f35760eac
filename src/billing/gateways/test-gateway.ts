import { randomBytes } from 'node:crypto'
import type { Database } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { unprocessable } from '../../platform/problem.ts'
import { exponentOf } from '../currencies.ts'
import type { Card, ChargeInput, Gateway, Outcome } from './gateway.ts'
import * as store from './store.ts'

/**
 * A gateway inside the house for trying things out: cards by magic number, and books of its own that are written
 * beside our transactions, so that it remembers what it did even when we crash in the middle, like a real one.
 */
const cards: Record<string, { method: string; brand: string }> = {
  '4242424242424242': { method: 'succeeds', brand: 'visa' },
  '5555555555554444': { method: 'succeeds', brand: 'mastercard' },
  '4000000000000002': { method: 'declines:card_declined', brand: 'visa' },
  '4000000000009995': { method: 'declines:insufficient_funds', brand: 'visa' },
  '4000002500003155': { method: 'asks', brand: 'visa' },
  '4000000000000119': { method: 'times_out', brand: 'visa' },
}

export const testGateway = (db: Database, businessId: string, confirmUrl: string): Gateway => ({
  id: 'test',
  caps: { refund: true, webhooks: false, minCharge: smallestCharge },
  async saveMethod({ card, now }) {
    if (!card) throw unprocessable('card_missing', 'The test gateway needs a card. Try number 4242424242424242.')
    const number = card.number.replaceAll(/[\s-]/g, '')
    const known = cards[number]
    if (!known)
      throw unprocessable(
        'not_a_test_card',
        `The test gateway knows these card numbers only: ${Object.keys(cards).join(', ')}.`,
      )
    checkExpiry(card, now)
    return {
      ref: known.method,
      customer: '',
      brand: known.brand,
      last4: number.slice(-4),
      expMonth: card.exp_month,
      expYear: card.exp_year,
    }
  },
  charge: input => charge(db, businessId, confirmUrl, input),
  async cancel({ ref }) {
    const row = await store.cancelTestCharge(db, businessId, ref)
    return row ? { kind: 'declined', ref, code: 'canceled', retryable: true } : asOutcome(await find(ref), confirmUrl)

    function find(ref: string) {
      return store.findTestCharge(db, businessId, { ref })
    }
  },
  async refund({ key, ref, amountMinor, currency }) {
    const row = await store.refundTestCharge(db, businessId, {
      key,
      parentRef: ref,
      ref: `tr_${newId()}`,
      amountMinor,
      currency,
    })
    return row ? asOutcome(row, confirmUrl) : { kind: 'declined', code: 'refund_exceeds_charge', retryable: false }
  },
  async fetchState({ key }) {
    const row = await store.findTestCharge(db, businessId, { key })
    return row ? asOutcome(row, confirmUrl) : { kind: 'absent' }
  },
  readWebhook: () => [],
})

function checkExpiry(card: Card, now: Date): void {
  const lastMonth = card.exp_year * 12 + card.exp_month
  if (lastMonth < now.getUTCFullYear() * 12 + now.getUTCMonth() + 1)
    throw unprocessable('card_expired', 'The card has expired. Use another one.', [
      { field: 'card.exp_year', message: 'lies in the past' },
    ])
}

/** Half a major unit, 50 where there are no decimals, as card networks have it. */
export const smallestCharge = (currency: string): bigint => {
  const exponent = exponentOf(currency)
  return exponent === 0 ? 50n : 5n * 10n ** BigInt(exponent - 1)
}

async function charge(db: Database, businessId: string, confirmUrl: string, input: ChargeInput): Promise<Outcome> {
  const { key, amountMinor, currency, method } = input
  const [behaviour = '', code] = method.ref.split(':')
  const state = behaviour === 'declines' ? 'declined' : behaviour === 'asks' ? 'action_required' : 'succeeded'
  const row = await store.keepTestCharge(db, businessId, {
    key,
    // Names the page where the customer confirms, so it must not be guessed.
    ref: `tc_${randomBytes(12).toString('hex')}`,
    state,
    code: code ?? null,
    currency,
    amountMinor,
  })
  if (behaviour === 'times_out') return { kind: 'unknown', reason: 'The gateway did not answer in time.' }
  return asOutcome(row, confirmUrl)
}

function asOutcome(row: store.TestCharge | undefined, confirmUrl: string): Outcome {
  if (!row) return { kind: 'not_sent', reason: 'unknown to the test gateway' }
  switch (row.state) {
    case 'succeeded':
      return { kind: 'succeeded', ref: row.ref, amountMinor: row.amountMinor }
    case 'action_required':
      return { kind: 'action_required', ref: row.ref, url: `${confirmUrl}/${row.ref}` }
    case 'canceled':
      return { kind: 'declined', ref: row.ref, code: 'authentication_canceled', retryable: true }
    case 'declined':
      return { kind: 'declined', ref: row.ref, code: row.code ?? 'card_declined', retryable: true }
  }
}
