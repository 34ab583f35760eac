import { Readable } from 'node:stream'
import type { Business } from '../../platform/business.ts'
import type { Db } from '../../platform/database.ts'
import { type Filter, matchesNobody, readFilter } from '../subscribers/filter.ts'
import type { FilterQuery } from '../subscribers/schema.ts'
import { type Reading, readingOf } from '../subscribers/view.ts'
import { nameInCell } from './rows.ts'
import * as store from './store-export.ts'

const pageSize = 5_000

/**
 * All who match, newest first, as CSV that an import reads back. Read in pages by key, not by a cursor, so that a slow
 * reader holds no transaction open: each person appears once, as they were when their page was read.
 */
export async function exportCsv(db: Db, business: Business, query: FilterQuery): Promise<Readable> {
  const reading = await readingOf(db, business)
  const filter = await readFilter(db, business.id, query, reading.segments)
  return Readable.from(pages(db, reading, filter), { objectMode: false, highWaterMark: 256 * 1024 })
}

async function* pages(db: Db, reading: Reading, filter: Filter): AsyncGenerator<string> {
  yield `${[...store.leadingColumns, 'tags', 'lists', ...store.trailingColumns(reading.customFields)].join(',')}\n`
  if (matchesNobody(filter)) return
  const names = {
    tags: await store.tagNames(db, reading.businessId),
    lists: await store.listNames(db, reading.businessId),
  }
  const [tags, lists] = [namer(names.tags), namer(names.lists)]
  let next = store.exportPage(db, reading, filter, undefined, pageSize)
  for (;;) {
    const rows = await next
    const last = rows.at(-1)
    // The next page is read while this one is written.
    if (last && rows.length === pageSize) {
      next = store.exportPage(db, reading, filter, last, pageSize)
      next.catch(() => undefined)
    }
    let text = ''
    for (const row of rows) text += `${row.leading},${tags(row.tags)},${lists(row.lists)},${row.trailing}\n`
    if (text !== '') yield text
    if (!last || rows.length < pageSize) return
  }
}

const maxRemembered = 10_000

/** Numbers such as {3,7} to names between semicolons. The same few sets come again and again. */
function namer(names: ReadonlyMap<number, string>): (numbers: string) => string {
  const remembered = new Map<string, string>()
  return numbers => {
    if (numbers === '{}') return ''
    const known = remembered.get(numbers)
    if (known !== undefined) return known
    const cell = quoted(
      numbers
        .slice(1, -1)
        .split(',')
        .flatMap(number => names.get(Number(number)) ?? [])
        .map(nameInCell)
        .join(';'),
    )
    if (remembered.size >= maxRemembered) remembered.clear()
    remembered.set(numbers, cell)
    return cell
  }
}

function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
