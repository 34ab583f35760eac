import { isPassing, type Tx } from '../../platform/database.ts'
import type { Context } from '../context.ts'
import { lookAround } from './renewal-facts.ts'
import { stepOf } from './renewal-step.ts'
import { writeSteps } from './renewal-write.ts'
import type { SubscriptionRow } from './store.ts'
import * as renewal from './store-renewal.ts'

/**
 * Time passes: what was to start starts, trials end, terms renew, expire or end as canceled. A thousand subscriptions
 * are one transaction: computed here, written with a few statements. A period can't be billed twice, because its
 * number moves on in the same transaction as its invoice, under the row's lock. Charging is a step of its own.
 */
const batchSize = 1_000
const parkedMs = 3_600_000

/** While one batch is computed here, the database writes another. */
const lanes = 3

/** Does everything due for the business (or for the given subscriptions), missed periods one by one and in order. */
export async function renewDue(context: Context, ids?: readonly string[]): Promise<number> {
  let done = await renewBatch(context, { limit: batchSize, ids })
  const lane = async () => {
    for (let count = -1; count !== 0; done += count) count = await renewBatch(context, { limit: batchSize, ids })
  }
  // Most businesses have less than a batch due: then one after the other, until missed periods are done too.
  const ends = await Promise.allSettled(Array.from({ length: done < batchSize ? 1 : lanes }, lane))
  const failed = ends.find(end => end.status === 'rejected')
  if (failed) throw failed.reason
  return done
}

async function renewBatch(
  context: Context,
  options: { limit: number; ids: readonly string[] | undefined },
): Promise<number> {
  const { db, business, now } = context
  let claimed: string[] = []
  try {
    return await db.begin(async tx => {
      const rows = await renewal.claimDue(tx, business.id, { now, ...options })
      claimed = rows.map(row => row.id)
      if (rows.length > 0) await renewAll(tx, context, rows)
      return rows.length
    })
  } catch (error) {
    if (isPassing(error) || claimed.length === 0) throw error
    return divide(context, claimed, error)
  }
}

/** One that fails must not stop the others: the batch is halved until it stands alone, and is then put aside for an hour. */
async function divide(context: Context, ids: readonly string[], error: unknown): Promise<number> {
  const [only] = ids
  if (ids.length === 1 && only !== undefined) {
    const message = error instanceof Error ? error.message : String(error)
    context.platform.log.error({ err: error, subscription: only }, 'renewal failed; it is tried again in an hour')
    const until = new Date(context.now.getTime() + parkedMs)
    await renewal.park(context.db, context.business.id, only, { until, error: message })
    return 1
  }
  const middle = Math.ceil(ids.length / 2)
  const first = await renewBatch(context, { limit: ids.length, ids: ids.slice(0, middle) })
  return first + (await renewBatch(context, { limit: ids.length, ids: ids.slice(middle) }))
}

async function renewAll(tx: Tx, context: Context, rows: readonly SubscriptionRow[]): Promise<void> {
  const around = await lookAround(tx, context.business.id, rows)
  await writeSteps(
    tx,
    context,
    rows.map(row => stepOf(context, row, around)),
    around,
  )
}
