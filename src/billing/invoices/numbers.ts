import type { Tx } from '../../platform/database.ts'
import type { Context } from '../context.ts'
import * as store from './store-numbers.ts'

/**
 * Numbers of invoices have no gaps. A few are taken in the transaction that issues them, and whoever else issues one
 * waits for its commit. A batch writes for a fifth of a second: it reserves its numbers beforehand, and those of a batch
 * that failed are used by the next.
 */
const few = 100

/** For a batch of renewals, in ascending order. */
export async function numbersForBatch(tx: Tx, context: Context, count: number): Promise<bigint[]> {
  const { db, platform, business } = context
  const numbers: bigint[] = []
  while (numbers.length < count) {
    const range = await store.claimRange(tx, business.id)
    const missing = count - numbers.length
    if (range) numbers.push(...(await useRange(tx, business.id, range, missing)))
    // Inside a transaction of the caller's, which may hold the counter itself, nothing may wait for it.
    else if (missing < few || db !== platform.db)
      numbers.push(...spread(await store.takeNumbers(tx, business.id, missing), missing))
    else await store.reserveNumbers(platform.db, business.id, missing)
  }
  return numbers
}

const spread = (first: bigint, count: number) => Array.from({ length: count }, (_, i) => first + BigInt(i))

/** What is more than needed stays reserved. */
async function useRange(tx: Tx, businessId: string, { first, last }: store.NumberRange, needed: number) {
  const used = Math.min(Number(last - first) + 1, needed)
  const rest = first + BigInt(used)
  if (rest <= last) await store.returnRange(tx, businessId, { first: rest, last })
  return spread(first, used)
}
