import type { Readable } from 'node:stream'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { cutAtRecords, RecordTooLong } from '../../platform/csv.ts'
import type { Database } from '../../platform/database.ts'
import { badRequest } from '../../platform/problem.ts'
import { names } from '../settings/store.ts'
import { type Header, type ImportRow, readHeader, readRows } from './import-rows.ts'
import { type OnDuplicate, saveContacts } from './save-contacts.ts'

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
  let header: Header | undefined
  let line = 1
  for await (const { text, lines } of chunksOf(file)) {
    if (!header) {
      header = readHeader(text, await names(db, 'chat_attribute', business.id))
      report.ignoredColumns = header.ignoredColumns
    }
    const rows = [...readRows(text, header, line)].slice(line === 1 ? 1 : 0)
    for (let i = 0; i < rows.length; i += rowsAtOnce)
      await saveRows(db, business, rows.slice(i, i + rowsAtOnce), { options, report })
    line += lines
  }
  if (!header) throw badRequest('csv_empty', 'The file is empty: send CSV text with a header line.')
  return report
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
  { options, report }: { options: ImportOptions; report: ImportReport },
): Promise<void> {
  const items = rows.map(({ contact }) => ({
    ...contact,
    ...(options.tags.length > 0 && { tags: [...((contact.tags as string[]) ?? []), ...options.tags] }),
    ...(options.list.length > 0 && { list: [...((contact.list as string[]) ?? []), ...options.list] }),
  }))
  const now = await nowFor(db, business)
  const saved = await saveContacts(db, business, items, {
    now,
    source: 'api',
    contactSource: 'csv',
    onDuplicate: options.onDuplicate,
  })
  report.rows += rows.length
  report.created += saved.createdContacts.length
  report.updated += saved.updatedContacts.length
  report.skipped += saved.skippedContacts.length
  report.refused += saved.failedContacts.length
  for (const { index, mobile, error } of saved.failedContacts.slice(0, maxRefusals - report.refusals.length))
    report.refusals.push({ line: rows[index]!.line, mobile, error })
}
