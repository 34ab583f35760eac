import { setImmediate } from 'node:timers/promises'
import { beginWithRetry, type Db, isUniqueViolation, nested, sendAlong, type Tx } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { BlockGrams } from '../subscribers/block-grams.ts'
import { type Lowering, lowerTexts } from './lowering.ts'
import { mergeRows } from './merge-rows.ts'
import { manyFrom, type Plan, planMerge, type Tools } from './plan.ts'
import { stillNamed } from './resolve-names.ts'
import { type ImportRow, joinRows, linesIn, type Refusal, readRows } from './rows.ts'
import * as store from './store.ts'
import { takeTurn } from './store-create.ts'

/**
 * A chunk is prepared outside any transaction, while the one before it is being merged, and merged in a transaction of its own: rows,
 * memberships, totals, sets and the mark of progress. What was found while preparing may no longer be so when it is merged: the
 * database refuses an email that someone took meanwhile, names are looked at again, who was deleted is made anew. Then the chunk is planned
 * once more inside the transaction.
 */
export interface Chunk {
  number: number
  bytes: number
  /** of the file, up to its end */
  lines: number
  byAddress: ReadonlyMap<string, ImportRow>
  /** rows that a later one of the same email was joined to */
  repeated: number
  refusals: Refusal[]
  plan: Plan
}

const maxAttempts = 10
const maxKeptRefusals = 10_000

/** Undefined after the last. */
export async function prepareChunk(
  platform: Platform,
  businessId: string,
  { id, settings }: store.ImportRecord,
  { number, lines, before }: { number: number; lines: number; before?: { chunk: Chunk; merging: Promise<unknown> } },
  tools: Tools,
): Promise<Chunk | undefined> {
  const { db } = platform
  const content = await store.chunk(db, businessId, id, number)
  if (!content) return undefined
  const text = content.toString('utf8')
  const file = { ...settings, firstLine: lines + 1, skipHeader: number === 0 }
  const { rows, refusals } = await readRows(text, file, tools.customFields)
  const { byAddress, repeated } = await lastOfEach(db, rows, tools.lowering)
  await setImmediate()
  // Who is in both chunks is known only when the first is merged.
  if (before && [...byAddress.keys()].some(address => before.chunk.byAddress.has(address)))
    await before.merging.catch(() => undefined)
  const plan = await planMerge(platform, db, businessId, { rows: [...byAddress.values()], settings }, tools)
  return { number, bytes: content.length, lines: lines + linesIn(text), byAddress, repeated, refusals, plan }
}

/** Of rows with the same email the last one counts, since one statement can't write a row twice. */
async function lastOfEach(db: Db, rows: readonly ImportRow[], lowering: Lowering) {
  const addresses = await lowerTexts(
    db,
    lowering,
    rows.map(row => row.email),
  )
  const byAddress = new Map<string, ImportRow>()
  for (const [i, row] of rows.entries()) {
    row.address = addresses[i]!
    const earlier = byAddress.get(row.address)
    byAddress.set(row.address, earlier ? joinRows(earlier, row) : row)
  }
  return { byAddress, repeated: rows.length - byAddress.size }
}

/** Tells whether something was logged that is to be folded. */
export async function mergeChunk(
  platform: Platform,
  businessId: string,
  record: store.ImportRecord,
  chunk: Chunk,
  tools: Tools,
): Promise<{ logged: boolean }> {
  let plan: Plan | undefined = chunk.plan
  for (let attempt = 1; ; attempt++)
    try {
      return await beginWithRetry(platform.db, tx =>
        mergeIn(platform, tx, businessId, record, { ...chunk, plan }, tools),
      )
    } catch (error) {
      // Someone made one of these people meanwhile: nothing was merged, and the next look finds them.
      if (!isUniqueViolation(error, 'email_subscriber_email') || attempt >= maxAttempts) throw error
      plan = undefined
    }
}

async function mergeIn(
  platform: Platform,
  tx: Tx,
  businessId: string,
  { id, settings }: store.ImportRecord,
  chunk: Omit<Chunk, 'plan'> & { plan: Plan | undefined },
  tools: Tools,
): Promise<{ logged: boolean }> {
  await sendAlong(tx, store.planByIndex(tx))
  const current = await store.lock(tx, businessId, id)
  if (!current || current.nextChunk !== chunk.number || (current.status !== 'queued' && current.status !== 'running'))
    return { logged: false }
  const rows = [...chunk.byAddress.values()]
  if (rows.length >= manyFrom) await sendAlong(tx, takeTurn(tx, businessId))
  const plan =
    chunk.plan && (await stillNamed(tx, businessId, chunk.plan.names, chunk.plan.now))
      ? chunk.plan
      : await planMerge(platform, nested(tx), businessId, { rows, settings }, { ...tools, grams: new BlockGrams() })
  const counts = await mergeRows(platform, tx, businessId, plan)
  const refused = [...chunk.refusals, ...plan.refusals]
  if (refused.length > 0 && current.refused < maxKeptRefusals)
    await sendAlong(tx, store.addRefusals(tx, businessId, id, refused.slice(0, maxKeptRefusals - current.refused)))
  const done = {
    bytes: chunk.bytes,
    lines: chunk.lines,
    rows: rows.length + chunk.repeated + chunk.refusals.length,
    refused: refused.length,
    created: counts.created,
    updated: counts.updated + chunk.repeated,
  }
  await sendAlong(tx, store.advance(tx, businessId, id, done, plan.now))
  return counts
}
