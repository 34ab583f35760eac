import { setImmediate } from 'node:timers/promises'
import type { CopyRows } from '../../platform/copy-rows.ts'
import type { Db, Tx } from '../../platform/database.ts'
import { newIds } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { addBlock, type Block, makeBlock } from '../subscribers/add-block.ts'
import type { BlockGrams } from '../subscribers/block-grams.ts'
import type { FreshFacets } from '../subscribers/fresh-block.ts'
import { fieldEnd } from '../subscribers/grams.ts'
import type { Status } from '../subscribers/schema.ts'
import { takeBlock } from '../subscribers/slots.ts'
import { type Lowering, lowerTexts } from './lowering.ts'
import type { ImportRow } from './rows.ts'
import * as store from './store-create.ts'

/** People that nobody knew a moment ago, with all that is written about them, ready to be sent. */
export interface Newcomers {
  fields: store.OptionalField[]
  rows: CopyRows
  block: Block
  now: Date
}

const sliceRows = 100

/** At most a block of them. */
export async function prepareNewcomers(
  platform: Platform,
  db: Db,
  businessId: string,
  strangers: readonly { row: ImportRow; status: Status }[],
  { grams, lowering }: { grams: BlockGrams; lowering: Lowering },
  now: Date,
): Promise<Newcomers> {
  const rows = strangers.map(({ row }) => row)
  const firstSlot = await takeBlock(platform, businessId)
  const texts = await lowerTexts(db, lowering, rows.map(textOf))
  await setImmediate()
  const ids = newIds(rows.length)
  const fields = store.fieldsGiven(rows)
  const copy = store.peopleRows(businessId, fields, rows.length, now)
  const facets: FreshFacets[] = []
  for (const [place, { row, status }] of strangers.entries()) {
    if (place % sliceRows === 0) await setImmediate()
    const { listNumbers, tagNumbers } = row
    facets.push({ status, leadScore: row.leadScore ?? 0, listNumbers, tagNumbers })
    copy.add(row, { id: ids[place]!, slot: firstSlot + place, status })
    grams.add(place, texts[place]!)
  }
  const block = await makeBlock(db, businessId, { firstSlot, people: facets, grams }, now)
  return { fields, rows: copy.rows, block, now }
}

const textOf = (row: ImportRow) => row.email + fieldEnd + (row.firstName ?? '') + fieldEnd + (row.lastName ?? '')

export async function addNewcomers(tx: Tx, businessId: string, { fields, rows, block, now }: Newcomers): Promise<void> {
  await store.copyPeople(tx, fields, rows)
  await addBlock(tx, businessId, block, now)
}
