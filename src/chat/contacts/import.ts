import type { Readable } from 'node:stream'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { cutAtRecords, RecordTooLong } from '../../platform/csv.ts'
import type { Database } from '../../platform/database.ts'
import { badRequest } from '../../platform/problem.ts'
import { findNumber } from '../phone.ts'
import { names } from '../settings/store.ts'
import { type Header, type ImportRow, readHeader, readRows } from './import-rows.ts'
import { type OnDuplicate, type SavedContacts, saveContacts } from './save-contacts.ts'

const chunkBytes = 128 * 1024
const maxRecordBytes = 1024 * 1024
const rowsAtOnce = 1_000
const maxRefusals = 1_000

export interface ImportReport {
  rows: number
  created: number
  updated: number
  skipped: number
  refused: number
  ignoredColumns: string[]
  refusals: { line: number; mobile: string; error: string }[]
}

interface ImportOptions {
  onDuplicate: OnDuplicate
  /** given to everyone of the file */
  list: string[]
  tags: string[]
}

/**
 * Reads the file as it comes in and saves it by the thousand rows, each thousand in a transaction of its own. Where it breaks off,
 * what was saved stays; sending the file again finds those contacts by their numbers.
 */
export async function importContacts(
  db: Database,
  business: Business,
  file: Readable,
  options: ImportOptions,
): Promise<ImportReport> {
  const report: ImportReport = {
    rows: 0,
    created: 0,
    updated: 0,
    skipped: 0,
    refused: 0,
    ignoredColumns: [],
    refusals: [],
  }
  let ahead: Saving | undefined
  try {
    for await (const rows of thousandsOf(db, business.id, file, report)) {
      const numbers = new Set(rows.map(({ contact }) => findNumber(contact.mobile)))
      // Of two rows with one number the later one counts, so it waits until the earlier one is saved.
      if (ahead && !numbers.isDisjointFrom(ahead.numbers)) await ahead.done
      const saving = { numbers, rows, done: saveRows(db, business, rows, options) }
      // Looked at when its turn comes; until then its failure is nobody's.
      saving.done.catch(() => {})
      // The program makes one thousand ready while PostgreSQL writes the other.
      if (ahead) addToReport(report, ahead.rows, await ahead.done)
      ahead = saving
    }
    if (ahead) addToReport(report, ahead.rows, await ahead.done)
    return report
  } finally {
    // Nothing is written any more once the answer is given, be it an error.
    await ahead?.done.catch(() => {})
  }
}

interface Saving {
  numbers: ReadonlySet<string | undefined>
  rows: readonly ImportRow[]
  done: Promise<SavedContacts>
}

async function* thousandsOf(
  db: Database,
  businessId: string,
  file: Readable,
  report: ImportReport,
): AsyncGenerator<ImportRow[]> {
  let header: Header | undefined
  let line = 1
  let rows: ImportRow[] = []
  for await (const { text, lines } of chunksOf(file)) {
    if (!header) {
      header = readHeader(text, await names(db, 'chat_attribute', businessId))
      report.ignoredColumns = header.ignoredColumns
    }
    rows.push(...[...readRows(text, header, line)].slice(line === 1 ? 1 : 0))
    line += lines
    let from = 0
    for (; rows.length - from >= rowsAtOnce; from += rowsAtOnce) yield rows.slice(from, from + rowsAtOnce)
    rows = rows.slice(from)
  }
  if (!header) throw badRequest('csv_empty', 'The file is empty: send CSV text with a header line.')
  if (rows.length > 0) yield rows
}

async function* chunksOf(file: Readable): AsyncGenerator<{ text: string; lines: number }> {
  try {
    for await (const bytes of cutAtRecords(file, { chunkBytes, maxRecordBytes })) {
      const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
      yield { text, lines: text.split('\n').length - 1 }
    }
  } catch (error) {
    if (!(error instanceof RecordTooLong)) throw error
    throw badRequest('csv_invalid', 'A record is longer than 1 MB. Is a quote opened and never closed?')
  }
}

async function saveRows(
  db: Database,
  business: Business,
  rows: readonly ImportRow[],
  options: ImportOptions,
): Promise<SavedContacts> {
  const items = rows.map(({ contact }) => ({
    ...contact,
    ...(options.tags.length > 0 && { tags: [...((contact.tags as string[]) ?? []), ...options.tags] }),
    ...(options.list.length > 0 && { list: [...((contact.list as string[]) ?? []), ...options.list] }),
  }))
  const now = await nowFor(db, business)
  return saveContacts(db, business, items, {
    now,
    source: 'api',
    contactSource: 'csv',
    onDuplicate: options.onDuplicate,
  })
}

function addToReport(report: ImportReport, rows: readonly ImportRow[], saved: SavedContacts): void {
  report.rows += rows.length
  report.created += saved.createdContacts.length
  report.updated += saved.updatedContacts.length
  report.skipped += saved.skippedContacts.length
  report.refused += saved.failedContacts.length
  for (const { index, mobile, error } of saved.failedContacts.slice(0, maxRefusals - report.refusals.length))
    report.refusals.push({ line: rows[index]!.line, mobile, error })
}
