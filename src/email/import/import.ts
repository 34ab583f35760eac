import type { Readable } from 'node:stream'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { cutAtRecords, RecordTooLong, readCsv, separatorOf } from '../../platform/csv.ts'
import { beginWithRetry, type Database, type Db, isUniqueViolation, type Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { does, queue, type Work } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { badRequest, fail, notFound, unprocessable } from '../../platform/problem.ts'
import { type CustomField, customFieldsOf } from '../custom-fields/custom-fields.ts'
import { resolveLists } from '../lists/lists.ts'
import { blockBits } from '../subscribers/bitmaps.ts'
import { foldAll } from '../subscribers/fold.ts'
import { BlockGrams } from '../subscribers/grams.ts'
import { indexWhenMany } from '../subscribers/index-search.ts'
import { ensureTags } from '../tags/tags.ts'
import { mergeRows } from './merge-rows.ts'
import { resolveNames } from './resolve-names.ts'
import { columnsOf, type ReadRows, readRows } from './rows.ts'
import * as store from './store.ts'

/**
 * An import is `uploading` while its file comes in, `queued` when it is stored whole, `running` from its first merged
 * chunk, and then `done`, `cancelled` or `failed`. Each chunk is one transaction: rows, memberships, log of changes and
 * the mark of progress. Whoever goes on after a kill begins at the mark; nothing is counted twice.
 */
const chunkRecords = blockBits
const chunkBytes = 4_000_000
const maxAttempts = 10
const maxRecordBytes = 1_048_576
const maxKeptRefusals = 10_000
const turnMs = 60_000

export const importJob = queue<{ businessId: string; importId: string }>('email_import', { expireInSeconds: 300 })
const resumeJob = queue<object>('email_import_resume')

export interface ImportOptions {
  lists: string[]
  tags: string[]
}

/** Stores the file and queues the work; answers when nothing of it can be lost any more. */
export async function startImport(
  platform: Platform,
  db: Database,
  business: Business,
  file: Readable,
  options: ImportOptions,
): Promise<store.ImportRecord> {
  const now = await nowFor(db, business)
  const listNumbers = await resolveLists(db, business.id, options.lists)
  const tagNumbers = await ensureTags(db, business.id, options.tags, now)
  const customFields = await customFieldsOf(db, business.id)
  const id = newId()
  let number = 0
  try {
    for await (const content of cutAtRecords(file, { chunkBytes, chunkRecords, maxRecordBytes })) {
      if (number === 0)
        await store.insert(db, business.id, id, { ...readHeader(content, customFields), listNumbers, tagNumbers }, now)
      await store.addChunk(db, business.id, { importId: id, number: number++, content })
    }
  } catch (error) {
    if (number > 0)
      await store.setStatus(
        db,
        business.id,
        { id, from: ['uploading'], to: 'failed', error: 'The upload broke off.' },
        now,
      )
    throw error instanceof RecordTooLong
      ? badRequest('csv_invalid', 'A record is longer than 1 MB. Is a quote opened and never closed?')
      : error
  }
  if (number === 0) throw badRequest('csv_empty', 'The file is empty: send CSV text with a header line.')
  return db.begin(async tx => {
    const queued = await store.setStatus(tx, business.id, { id, from: ['uploading'], to: 'queued' }, now)
    await platform.jobs.enqueue(tx, importJob, { businessId: business.id, importId: id })
    return queued ?? fail(notFound('Import'))
  })
}

function readHeader(content: Buffer, customFields: readonly CustomField[]) {
  const text = content.toString('utf8').replace(/^\uFEFF/, '')
  const separator = separatorOf(text.slice(0, text.indexOf('\n') < 0 ? text.length : text.indexOf('\n')))
  const [header] = readCsv(text, separator, 1)
  const cells = header?.cells ?? []
  if (cells.some(cell => cell.includes('\r')))
    throw badRequest(
      'csv_invalid',
      'Lines must end with a line feed; this file ends them with a carriage return alone.',
    )
  const columns = columnsOf(cells, customFields)
  if (!columns.includes('email'))
    throw badRequest('csv_invalid', 'The first line must name the columns, and one of them must be email.', [
      { field: 'body', message: 'must have a column named email' },
    ])
  return { columns, separator, ignoredColumns: cells.filter((_, i) => columns[i] === null).slice(0, 100) }
}

/** Merges chunks until the file is done, the turn is over or the program wants to stop. True when there is more. */
export async function runImport(
  platform: Platform,
  business: { id: string },
  importId: string,
  options: { signal?: AbortSignal; turnMs?: number } = {},
): Promise<boolean> {
  const { db } = platform
  const until = performance.now() + (options.turnMs ?? turnMs)
  const customFields = await customFieldsOf(db, business.id)
  let read: Part | undefined
  const grams = new BlockGrams()
  for (;;) {
    const record = await store.find(db, business.id, importId)
    if (!record || (record.status !== 'queued' && record.status !== 'running')) return false
    if (read?.number !== record.nextChunk)
      read = await readChunk(db, business.id, record, record.nextChunk, record.lines + 1, customFields)
    const now = await nowFor(db, { id: business.id, testMode: true })
    if (!read) {
      await finish(db, business.id, importId, now)
      return false
    }
    const { number, chunk } = read
    const merging = mergeChunk(platform, business.id, record, read, { now, grams })
    // While the database merges this chunk, the next one is read and checked.
    const next = readChunk(db, business.id, record, number + 1, chunk.nextLine, customFields)
    await merging.catch(async error => {
      await next.catch(() => undefined)
      throw error
    })
    read = await next
    await foldAll(db, business.id, now)
    await indexWhenMany(db, business.id)
    if (options.signal?.aborted || performance.now() > until) return true
  }
}

async function readChunk(
  db: Db,
  businessId: string,
  record: store.ImportRecord,
  number: number,
  firstLine: number,
  customFields: readonly CustomField[],
) {
  const content = await store.chunk(db, businessId, record.id, number)
  if (!content) return undefined
  const text = content.toString('utf8')
  const file = { ...record.settings, firstLine, skipHeader: number === 0 }
  return { number, bytes: content.length, chunk: await readRows(text, file, customFields) }
}

type Part = { number: number; bytes: number; chunk: ReadRows }

async function mergeChunk(
  platform: Platform,
  businessId: string,
  record: store.ImportRecord,
  part: Part,
  work: { now: Date; grams: BlockGrams },
): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await beginWithRetry(platform.db, tx => mergeChunkIn(platform, tx, businessId, record, part, work))
    } catch (error) {
      // Someone made one of these people meanwhile: nothing was merged, and the next look finds them.
      if (!isUniqueViolation(error, 'email_subscriber_email') || attempt >= maxAttempts) throw error
    }
}

async function mergeChunkIn(
  platform: Platform,
  tx: Tx,
  businessId: string,
  record: store.ImportRecord,
  part: Part,
  work: { now: Date; grams: BlockGrams },
): Promise<void> {
  const { now } = work
  const { rows, refusals, repeated, nextLine } = part.chunk
  await store.planByIndex(tx)
  const current = await store.lock(tx, businessId, record.id)
  if (!current || current.nextChunk !== part.number || (current.status !== 'queued' && current.status !== 'running'))
    return
  const named = await resolveNames(tx, businessId, rows, current.settings, now)
  const refused = [...refusals, ...named.refusals]
  const counts = await mergeRows(platform, tx, businessId, named.rows, work)
  if (refused.length > 0 && current.refused < maxKeptRefusals)
    await store.addRefusals(tx, businessId, record.id, refused.slice(0, maxKeptRefusals - current.refused))
  const done = {
    bytes: part.bytes,
    lines: nextLine - 1,
    rows: rows.length + repeated + refusals.length,
    refused: refused.length,
    created: counts.created,
    updated: counts.updated + repeated,
  }
  await store.advance(tx, businessId, record.id, done, now)
}

/** Spec silent: one event tells of the whole import; an event for each of a million rows would drown those who listen. */
async function finish(db: Database, businessId: string, importId: string, now: Date): Promise<void> {
  await db.begin(async tx => {
    const done = await store.setStatus(tx, businessId, { id: importId, from: ['queued', 'running'], to: 'done' }, now)
    if (!done) return
    const { id, rows, created, updated, refused } = done
    await emit(tx, {
      businessId,
      type: 'import_finish',
      source: 'scheduler',
      objectId: id,
      data: { id, rows, created, updated, refused },
      at: now,
    })
  })
}

export async function cancelImport(db: Database, business: Business, id: string): Promise<store.ImportRecord> {
  const now = await nowFor(db, business)
  const known = (await store.find(db, business.id, id)) ?? fail(notFound('Import'))
  const cancelled = await store.setStatus(
    db,
    business.id,
    { id, from: ['uploading', 'queued', 'running'], to: 'cancelled' },
    now,
  )
  return (
    cancelled ??
    fail(
      unprocessable('import_finished', `The import is ${known.status}; only one that is under way can be cancelled.`),
    )
  )
}

/** A chunk takes a second or two; longer without a mark of progress, and nobody is at it. */
const stalledMs = 30_000
const brokenUploadMs = 86_400_000

export const importWork = (platform: Platform): Work[] => [
  does(
    importJob,
    async ({ businessId, importId }, { signal }) => {
      if (await runImport(platform, { id: businessId }, importId, { signal }))
        await platform.jobs.enqueue(platform.db, importJob, { businessId, importId })
    },
    { concurrency: 2 },
  ),
  does(
    resumeJob,
    async () => {
      for (const { businessId, id } of await store.stalled(platform.db, new Date(Date.now() - stalledMs)))
        await platform.jobs.enqueue(platform.db, importJob, { businessId, importId: id }, { singletonKey: id })
      await store.removeBrokenUploads(platform.db, new Date(Date.now() - brokenUploadMs))
    },
    { cron: '* * * * *', concurrency: 1 },
  ),
]

const shownRefusals = 20

/** For people who watch. */
export async function importProgress(db: Db, businessId: string, id: string) {
  const { status, rows, created, updated, refused, doneBytes, totalBytes } =
    (await store.find(db, businessId, id)) ?? fail(notFound('Import'))
  const percent = Math.floor((100 * doneBytes) / Math.max(1, totalBytes))
  return {
    line: `${status}: ${percent}%, ${rows} rows, ${created} created, ${updated} updated, ${refused} refused`,
    refusals: refused === 0 ? [] : await store.refusals(db, businessId, id, { limit: shownRefusals, offset: 0 }),
  }
}
