import { setImmediate } from 'node:timers/promises'
import { nowFor } from '../../platform/clock.ts'
import { type Database, type Db, sendAlong } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { type CustomField, customFieldsOf } from '../custom-fields/custom-fields.ts'
import { BlockGrams } from '../subscribers/block-grams.ts'
import type { Status } from '../subscribers/schema.ts'
import { type Lowering, loweringOf } from './lowering.ts'
import { type Newcomers, prepareNewcomers } from './newcomers.ts'
import { type Names, namesIn, numberRows, resolveNames } from './resolve-names.ts'
import type { ImportRow, Refusal } from './rows.ts'
import * as store from './store.ts'
import * as create from './store-create.ts'

/** What is to be done about rows, as far as it can be told before it is done. */
export interface Plan {
  now: Date
  names: Names
  /** rows that name a list that does not exist */
  refusals: Refusal[]
  rows: ImportRow[]
  known: Known[]
  strangers: Stranger[]
  /** the strangers, where they are many, ready to be sent */
  newcomers: Newcomers | undefined
}

export interface Known {
  row: ImportRow
  id: string
}

export interface Stranger {
  row: ImportRow
  status: Status
}

/** What the chunks of a turn share; its grams serve one chunk at a time. */
export interface Tools {
  customFields: readonly CustomField[]
  lowering: Lowering
  grams: BlockGrams
}

export const openTools = async (db: Db, businessId: string): Promise<Tools> => ({
  customFields: await customFieldsOf(db, businessId),
  lowering: await loweringOf(db),
  grams: new BlockGrams(),
})

/** from this many on, people are made a block at a time */
export const manyFrom = 2_000

export const clockOf = (db: Db, businessId: string) => nowFor(db, { id: businessId, testMode: true })

export async function planMerge(
  platform: Platform,
  db: Database,
  businessId: string,
  given: { rows: readonly ImportRow[]; settings: store.ImportSettings },
  tools: Tools,
): Promise<Plan> {
  const now = await clockOf(db, businessId)
  const names = await resolveNames(db, businessId, namesIn(given.rows), now)
  const { rows, refusals } = numberRows(given.rows, names, given.settings)
  await setImmediate()
  const { known, strangers } = await sortOut(db, businessId, rows)
  const newcomers =
    strangers.length >= manyFrom ? await prepareNewcomers(platform, db, businessId, strangers, tools, now) : undefined
  return { now, names, refusals, rows, known, strangers, newcomers }
}

/** Who is there already and who is not, with the status they will have: an import never lifts a suppression. */
export async function sortOut(
  db: Database,
  businessId: string,
  rows: readonly ImportRow[],
): Promise<Pick<Plan, 'known' | 'strangers'>> {
  const addresses = rows.map(row => row.address)
  const [subscribers, suppressions] = await db.begin(async tx => {
    await sendAlong(tx, store.planByIndex(tx))
    return Promise.all([
      create.subscribersAmong(tx, businessId, addresses),
      create.suppressedAmong(tx, businessId, addresses),
    ])
  })
  const ids = new Map(subscribers.map(({ address, id }) => [address, id]))
  const suppressed = new Map(suppressions.map(({ address, type }) => [address, type]))
  const known: Known[] = []
  const strangers: Stranger[] = []
  for (const row of rows) {
    const id = ids.get(row.address)
    if (id !== undefined) known.push({ row, id })
    else strangers.push({ row, status: statusOf(row, suppressed.get(row.address)) })
  }
  return { known, strangers }
}

/** Nor does it make a complaint milder. */
function statusOf({ status }: ImportRow, suppressed: Status | 'manual' | undefined): Status {
  const known = suppressed && suppressed !== 'manual' ? suppressed : 'subscribed'
  return status && status !== 'subscribed' && known !== 'complaint' ? status : known
}
