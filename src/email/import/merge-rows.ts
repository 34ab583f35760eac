import type { Tx } from '../../platform/database.ts'
import { newIds } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { type BlockGrams, fieldEnd } from '../subscribers/grams.ts'
import type { Status } from '../subscribers/schema.ts'
import { takeSlots } from '../subscribers/slots.ts'
import { suppressAddresses } from '../suppressions/suppressions.ts'
import { createMany } from './create-many.ts'
import type { NamedRow } from './resolve-names.ts'
import * as create from './store-create.ts'
import * as store from './store-merge.ts'

/** from this many on, people are made a block at a time */
const manyFrom = 2_000

/** Those who exist are updated, the others made. Whoever is made or deleted by others meanwhile is looked at again. */
export async function mergeRows(
  platform: Platform,
  tx: Tx,
  businessId: string,
  rows: readonly NamedRow[],
  { now, grams }: { now: Date; grams: BlockGrams },
): Promise<{ created: number; updated: number }> {
  const counts = { created: 0, updated: 0 }
  if (rows.length >= manyFrom) await create.takeTurn(tx, businessId)
  const textOf = await loweredTexts(tx, rows)
  for (let left: NamedRow[] = [...rows]; left.length > 0; ) {
    const { ids, suppressed } = await lookUp(tx, businessId, left, textOf)
    const statusOf = (row: NamedRow): Status => {
      const known = suppressed.get(row) ?? 'subscribed'
      return row.status && row.status !== 'subscribed' && known !== 'complaint' ? row.status : known
    }
    const [known, strangers] = [left.filter(row => ids.has(row)), left.filter(row => !ids.has(row))]
    const missed: NamedRow[] = []
    if (strangers.length >= manyFrom)
      await createMany(platform, tx, businessId, { rows: strangers, textOf, statusOf, grams }, now)
    else missed.push(...(await createFew(platform, tx, businessId, strangers, statusOf, now)))
    counts.created += strangers.length - missed.length
    const gone = await updateAll(tx, businessId, known, ids, now)
    counts.updated += known.length - gone.length
    left = [...missed, ...gone]
  }
  const suppressions = rows.flatMap(({ email, status }) =>
    status && status !== 'subscribed' ? [{ email, type: status, reason: `Imported as ${status}` }] : [],
  )
  await suppressAddresses(tx, businessId, suppressions, now)
  return counts
}

async function lookUp(tx: Tx, businessId: string, rows: readonly NamedRow[], textOf: (row: NamedRow) => string) {
  const byAddress = new Map(rows.map(row => [addressIn(textOf(row)), row]))
  const addresses = [...byAddress.keys()].sort()
  const ids = new Map<NamedRow, string>()
  for (const { address, id } of await create.subscribersAmong(tx, businessId, addresses))
    ids.set(byAddress.get(address)!, id)
  const suppressed = new Map<NamedRow, Status>()
  for (const { address, type } of await create.suppressedAmong(tx, businessId, addresses))
    if (type !== 'manual') suppressed.set(byAddress.get(address)!, type)
  return { ids, suppressed }
}

const addressIn = (text: string) => text.slice(0, text.indexOf(fieldEnd))
const textEnd = '\u001e'

/** Lowered by the database, because what emails and searches are compared with is lowered there. */
async function loweredTexts(tx: Tx, rows: readonly NamedRow[]): Promise<(row: NamedRow) => string> {
  const texts = rows.map(row => row.email + fieldEnd + (row.firstName ?? '') + fieldEnd + (row.lastName ?? ''))
  const together = (await create.lower(tx, texts.join(textEnd))).split(textEnd)
  const lowered = together.length === texts.length ? together : await create.lowerEach(tx, texts)
  const byRow = new Map(rows.map((row, i) => [row, lowered[i]!]))
  return row => byRow.get(row)!
}

/** Answers those whose email someone else took a moment ago. */
async function createFew(
  platform: Platform,
  tx: Tx,
  businessId: string,
  rows: readonly NamedRow[],
  statusOf: (row: NamedRow) => Status,
  now: Date,
): Promise<NamedRow[]> {
  if (rows.length === 0) return []
  const firstSlot = await takeSlots(platform, businessId, rows.length)
  const ids = newIds(rows.length)
  const given = rows.map((row, i) => ({ ...row, id: ids[i]!, slot: firstSlot + i, status: statusOf(row) }))
  const made = new Set((await store.insert(tx, businessId, given, now)).map(row => row.slot))
  return rows.filter((_, i) => !made.has(firstSlot + i))
}

/** Answers those who were deleted a moment ago. */
async function updateAll(
  tx: Tx,
  businessId: string,
  rows: readonly NamedRow[],
  ids: ReadonlyMap<NamedRow, string>,
  now: Date,
): Promise<NamedRow[]> {
  if (rows.length === 0) return []
  const given = rows.map((row, n) => ({ ...row, n, id: ids.get(row)! }))
  const done = new Set((await store.update(tx, businessId, given, now)).map(row => row.n))
  return rows.filter((_, n) => !done.has(n))
}
