import type { Tx } from '../../platform/database.ts'
import { newIds } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { addBlock } from '../subscribers/add-block.ts'
import { blockBits } from '../subscribers/bitmaps.ts'
import type { Facets } from '../subscribers/facets.ts'
import type { BlockGrams } from '../subscribers/grams.ts'
import type { Status } from '../subscribers/schema.ts'
import { takeBlock } from '../subscribers/slots.ts'
import type { NamedRow } from './resolve-names.ts'
import * as store from './store-create.ts'

const sliceRows = 500

/**
 * Makes people that nobody knew a moment ago, a block of slots at a time. Should someone else make one of them meanwhile, the
 * database refuses the email and the whole chunk is merged again, then knowing them.
 */
export async function createMany(
  platform: Platform,
  tx: Tx,
  businessId: string,
  people: {
    rows: readonly NamedRow[]
    textOf: (row: NamedRow) => string
    statusOf: (row: NamedRow) => Status
    grams: BlockGrams
  },
  now: Date,
): Promise<void> {
  for (let from = 0; from < people.rows.length; from += blockBits) {
    const rows = people.rows.slice(from, from + blockBits)
    const firstSlot = await takeBlock(platform, businessId)
    const facets = rows.map(row => facetsOf(row, people.statusOf(row)))
    const fields = store.fieldsGiven(rows)
    const { textOf, grams } = people
    await store.copyPeople(tx, fields, lines(businessId, rows, { facets, textOf, fields, firstSlot, grams }, now))
    await addBlock(tx, businessId, { firstSlot, facets, grams: people.grams }, now)
  }
}

const facetsOf = (row: NamedRow, status: Status): Facets => ({
  status,
  leadScore: row.leadScore ?? 0,
  listNumbers: row.listNumbers,
  tagNumbers: row.tagNumbers,
  engagedAt: null,
})

/** Rows of COPY; the sets of grams grow with them. Sent in slices, so that the database inserts while more are made. */
async function* lines(
  businessId: string,
  rows: readonly NamedRow[],
  made: {
    facets: readonly Facets[]
    textOf: (row: NamedRow) => string
    fields: readonly store.OptionalField[]
    firstSlot: number
    grams: BlockGrams
  },
  now: Date,
): AsyncGenerator<string> {
  const ids = newIds(rows.length)
  const [lead, at] = [`${businessId}\t`, `\t${now.toISOString()}\t${now.toISOString()}`]
  const numbersOf = numbersCell()
  for (let from = 0; from < rows.length; from += sliceRows) {
    let text = ''
    for (let i = from; i < Math.min(from + sliceRows, rows.length); i++) {
      const [row, facets] = [rows[i]!, made.facets[i]!]
      const own = { lead, id: ids[i]!, slot: made.firstSlot + i, numbers: numbersOf(facets), at }
      text += store.copyLine(row, own, facets, made.fields)
      made.grams.add(i, made.textOf(row))
    }
    yield text
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** Lists and tags as two cells. Who has the same shares the arrays, so each is written once. */
function numbersCell(): (facets: Facets) => string {
  const known = new Map<readonly number[], string>()
  const cell = (numbers: readonly number[]) => {
    let text = known.get(numbers)
    if (text === undefined) {
      text = `{${numbers.join(',')}}`
      known.set(numbers, text)
    }
    return text
  }
  return ({ listNumbers, tagNumbers }) => `${cell(listNumbers)}\t${cell(tagNumbers)}`
}
