import type { Readable } from 'node:stream'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { cutAtRecords, RecordTooLong, readCsv, separatorOf } from '../../platform/csv.ts'
import type { Database, Db } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { does, queue, type Work } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { badRequest, fail, notFound, unprocessable } from '../../platform/problem.ts'
import { type CustomField, customFieldsOf } from '../custom-fields/custom-fields.ts'
import { resolveLists } from '../lists/lists.ts'
import { blockBits } from '../subscribers/bitmaps.ts'
import { foldAll } from '../subscribers/fold.ts'
import { indexWhenMany } from '../subscribers/index-search.ts'
import { ensureTags } from '../tags/tags.ts'
import { type Chunk, mergeChunk, prepareChunk } from './chunk.ts'
import { clockOf, openTools } from './plan.ts'
import { columnsOf } from './rows.ts'
import * as store from './store.ts'

/**
 * An import is `uploading` while its file comes in, `queued` when it is stored whole, `running` from its first merged
 * chunk, and then `done`, `cancelled` or `failed`. Each chunk is one transaction: rows, memberships, log of changes and
 * the mark of progress. Whoever goes on after a kill begins at the mark; nothing is counted twice.
 */
const chunkRecords = blockBits
const chunkBytes = 4_000_000
const maxRecordBytes = 1_048_576
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
  const tools = await openTools(db, business.id)
  let chunk: Chunk | undefined
  for (;;) {
    const record = await store.find(db, business.id, importId)
    if (!record || (record.status !== 'queued' && record.status !== 'running')) return false
    if (chunk?.number !== record.nextChunk)
      chunk = await prepareChunk(
        platform,
        business.id,
        record,
        { number: record.nextChunk, lines: record.lines },
        tools,
      )
    if (!chunk) {
      await finish(db, business.id, importId, await clockOf(db, business.id))
      return false
    }
    const isLast = options.signal?.aborted || performance.now() > until
    const merging = mergeChunk(platform, business.id, record, chunk, tools)
    // While the database writes this chunk, the next one is read, looked up and made ready: neither waits for the other.
    const before = { chunk, merging }
    const next = { number: chunk.number + 1, lines: chunk.lines, before }
    const [merged, prepared] = await Promise.allSettled([
      merging,
      isLast ? undefined : prepareChunk(platform, business.id, record, next, tools),
    ])
    if (merged.status === 'rejected') throw merged.reason
    if (merged.value.logged) {
      await foldAll(db, business.id, chunk.plan.now)
      await indexWhenMany(db, business.id)
    }
    if (isLast) return true
    if (prepared.status === 'rejected') throw prepared.reason
    chunk = prepared.value
  }
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
