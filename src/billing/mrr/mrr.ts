import type { Static } from 'typebox'
import { sendAlong, type Tx } from '../../platform/database.ts'
import { invalidField } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import { currencySymbol } from '../currencies.ts'
import { type LocalDate, localDate } from '../dates.ts'
import { sum, toMajor } from '../money.ts'
import type { MovementSchema, MrrSchema } from './schema.ts'
import * as store from './store.ts'

/**
 * Monthly recurring revenue: what the subscriptions in force bring a month, at the prices they were sold for, with
 * recurring add-ons, before coupons and tax. Every act that changes it writes down the movement in its transaction.
 *
 * Spec silent: `live`, `dunning` and `non_renewing` are in force; who is `unpaid` or `paused` has churned, and comes back
 * as a reactivation.
 */
export async function noteMrr(
  tx: Tx,
  { business, now }: Pick<Context, 'business' | 'now'>,
  subscriptionIds: readonly string[],
): Promise<void> {
  if (subscriptionIds.length === 0) return
  const day = localDate(now, business.timeZone)
  await sendAlong(tx, store.noteMovements(tx, business.id, subscriptionIds, { now, day }))
}

/** How it moved in these days, by currency; without days, in the month so far. */
export async function mrrOf(
  { db, business, now }: Context,
  given: { from?: LocalDate; to?: LocalDate },
): Promise<Static<typeof MrrSchema>[]> {
  const today = localDate(now, business.timeZone)
  const to = readDay(given.to, 'to') ?? today
  const from = readDay(given.from, 'from') ?? `${to.slice(0, 7)}-01`
  if (from > to) throw invalidField('from', 'must not be after to')
  const sums = await store.sumsOf(db, business.id, { from, to })
  return [...new Set(sums.map(one => one.currency))].map(currency => {
    const own = sums.filter(one => one.currency === currency)
    const amount = (type: store.MovementType | null) =>
      toMajor(own.find(one => one.type === type)?.minor ?? 0n, currency)
    return {
      currency_code: currency,
      currency_symbol: currencySymbol(currency),
      from,
      to,
      opening: amount(null),
      new: amount('new'),
      expansion: amount('expansion'),
      contraction: amount('contraction'),
      churn: amount('churn'),
      reactivation: amount('reactivation'),
      closing: toMajor(sum(own.map(one => one.minor)), currency),
    }
  })
}

function readDay(text: string | undefined, field: string): LocalDate | undefined {
  if (text === undefined) return undefined
  try {
    return Temporal.PlainDate.from(text, { overflow: 'reject' }).toString()
  } catch {
    throw invalidField(field, 'must be a date such as 2026-12-31')
  }
}

export const showMovement = (row: store.MovementRow): Static<typeof MovementSchema> => ({
  subscription_id: row.subscriptionId,
  customer_id: row.customerId,
  type: row.type,
  amount: toMajor(row.amountMinor, row.currency),
  mrr: toMajor(row.mrrMinor, row.currency),
  currency_code: row.currency,
  currency_symbol: currencySymbol(row.currency),
  createdAt: row.createdAt,
})
