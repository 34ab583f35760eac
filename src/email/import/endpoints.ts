import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { endpoint, Raw } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { fail, notFound, Problem } from '../../platform/problem.ts'
import { Choice, Id, IdInPath, Nullable, PageQuery, Timestamp } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { pagination } from '../lists/endpoints.ts'
import { PaginationSchema } from '../lists/schema.ts'
import { splitNames } from '../subscribers/filter.ts'
import { FilterQuerySchema, filterQuery } from '../subscribers/schema.ts'
import { exportCsv } from './export.ts'
import { cancelImport, startImport } from './import.ts'
import * as store from './store.ts'

const ImportSchema = Type.Object({
  id: Id,
  status: Choice(['uploading', 'queued', 'running', 'done', 'cancelled', 'failed']),
  totalBytes: Type.Number(),
  progress: Type.Number({ description: 'from 0 to 1' }),
  rows: Type.Integer({ description: 'read so far; rows of one email count once in a chunk' }),
  created: Type.Integer(),
  updated: Type.Integer(),
  refused: Type.Integer(),
  ignoredColumns: Type.Array(Type.String()),
  error: Nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  finishedAt: Nullable(Timestamp),
})
const One = envelope(Type.Object({ import: ImportSchema }))
const InPath = Type.Object({ id: IdInPath })

const show = ({ settings, doneBytes, nextChunk: _, lines: __, ...record }: store.ImportRecord) => ({
  ...record,
  ignoredColumns: settings.ignoredColumns,
  progress:
    record.status === 'done'
      ? 1
      : record.totalBytes === 0
        ? 0
        : Math.round((doneBytes / record.totalBytes) * 1_000) / 1_000,
})

export const start = endpoint({
  summary: 'Import subscribers from a CSV file',
  description:
    'Send the file as the body, with Content-Type text/csv. The first line names the columns: email, firstName, lastName, mobile, country, city, dateOfBirth, leadScore, status, tags, lists, source, and keys of custom fields. Everyone is put in the lists and gets the tags of the query. An import never lifts a suppression.',
  query: Type.Object({ lists: filterQuery.lists, tags: filterQuery.tags }),
  accepts: 'stream',
  answer: One,
  run: async ({ platform, db, business, query, body, created }) => {
    if (!(body instanceof Readable))
      throw new Problem(415, 'unsupported_media_type', 'Send the file as the body, with Content-Type: text/csv.')
    const options = { lists: splitNames(query.lists) ?? [], tags: splitNames(query.tags) ?? [] }
    const record = await startImport(platform, db, business, body, options)
    created()
    return ok('Import queued', { import: show(record) })
  },
})

export const list = endpoint({
  summary: 'Imports, newest first',
  query: Type.Object(PageQuery),
  answer: envelope(Type.Object({ imports: Type.Array(ImportSchema), pagination: PaginationSchema })),
  run: async ({ db, business, query }) => {
    const page = pageRequest(query)
    const total = await store.count(db, business.id)
    const imports = page.offset >= total ? [] : await store.page(db, business.id, page)
    return ok('Imports', { imports: imports.map(show), pagination: pagination(page, total) })
  },
})

export const get = endpoint({
  summary: 'How far an import is',
  params: InPath,
  answer: One,
  run: async ({ db, business, params }) =>
    ok('Import', { import: show((await store.find(db, business.id, params.id)) ?? fail(notFound('Import'))) }),
})

export const refusals = endpoint({
  summary: 'Rows that were refused, by line and reason (the first 10,000)',
  params: InPath,
  query: Type.Object(PageQuery),
  answer: envelope(
    Type.Object({
      refusals: Type.Array(Type.Object({ line: Type.Integer(), email: Type.String(), reason: Type.String() })),
      pagination: PaginationSchema,
    }),
  ),
  run: async ({ db, business, params, query }) => {
    if (!(await store.find(db, business.id, params.id))) throw notFound('Import')
    const page = pageRequest(query)
    const total = await store.countRefusals(db, business.id, params.id)
    const rows = page.offset >= total ? [] : await store.refusals(db, business.id, params.id, page)
    return ok('Refused rows', { refusals: rows, pagination: pagination(page, total) })
  },
})

export const cancel = endpoint({
  summary: 'Stop an import; what it merged stays',
  params: InPath,
  answer: One,
  run: async ({ db, business, params }) =>
    ok('Import cancelled', { import: show(await cancelImport(db, business, params.id)) }),
})

export const exportAll = endpoint({
  summary: 'All subscribers that match, as CSV',
  description:
    'Takes the filters of GET /subscribers. Cells that a spreadsheet would run as a formula begin with an apostrophe.',
  query: FilterQuerySchema,
  run: async ({ platform, business, query }) =>
    new Raw('text/csv; charset=utf-8', await exportCsv(platform.db, business, query), {
      headers: { 'content-disposition': 'attachment; filename="subscribers.csv"' },
    }),
})
