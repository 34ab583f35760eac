import { type Db, first, only } from '../../platform/database.ts'
import type { Column, Refusal } from './rows.ts'

export interface ImportSettings {
  columns: (Column | null)[]
  separator: string
  ignoredColumns: string[]
  listNumbers: number[]
  tagNumbers: number[]
}

export type ImportStatus = 'uploading' | 'queued' | 'running' | 'done' | 'cancelled' | 'failed'

export interface ImportRecord {
  id: string
  status: ImportStatus
  settings: ImportSettings
  totalBytes: number
  doneBytes: number
  nextChunk: number
  lines: number
  rows: number
  created: number
  updated: number
  refused: number
  error: string | null
  createdAt: Date
  updatedAt: Date
  finishedAt: Date | null
}

const columns = (db: Db) => db`
  id, status, settings, total_bytes::float8 as "totalBytes", done_bytes::float8 as "doneBytes", next_chunk as "nextChunk", lines, rows,
  created, updated, refused, error, created_at as "createdAt", updated_at as "updatedAt", finished_at as "finishedAt"`

export const insert = (db: Db, businessId: string, id: string, settings: ImportSettings, now: Date) => db`
  insert into email_import (business_id, id, status, settings, created_at, updated_at)
  values (${businessId}, ${id}, 'uploading', ${db.json(settings as never)}, ${now}, ${now})`

export const addChunk = (
  db: Db,
  businessId: string,
  chunk: { importId: string; number: number; content: Buffer },
) => db`
  with stored as (
    insert into email_import_chunk (business_id, import_id, number, content)
    values (${businessId}, ${chunk.importId}, ${chunk.number}, ${chunk.content}))
  update email_import set total_bytes = total_bytes + ${chunk.content.length} where business_id = ${businessId} and id = ${chunk.importId}`

export const setStatus = (
  db: Db,
  businessId: string,
  change: { id: string; from: ImportStatus[]; to: ImportStatus; error?: string },
  now: Date,
) =>
  db<ImportRecord[]>`
  update email_import set status = ${change.to}, error = ${change.error ?? null}, updated_at = ${now},
    finished_at = case when ${change.to} in ('done', 'cancelled', 'failed') then ${now}::timestamptz end
  where business_id = ${businessId} and id = ${change.id} and status = any(${change.from}::text[])
  returning ${columns(db)}`.then(first)

export const find = (db: Db, businessId: string, id: string) =>
  db<ImportRecord[]>`select ${columns(db)} from email_import where business_id = ${businessId} and id = ${id}`.then(
    first,
  )

/**
 * Every chunk is planned anew, and by indexes: a plan from when the tables were empty would compare each row with each, and the planner,
 * who can't know how few of eight thousand addresses are there, would read the whole table for each chunk.
 */
export const planByIndex = (db: Db) => db`
  select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`

/** Progress is decided under this lock, so that two workers never merge one chunk twice. */
export const lock = (db: Db, businessId: string, id: string) =>
  db<
    ImportRecord[]
  >`select ${columns(db)} from email_import where business_id = ${businessId} and id = ${id} for update`.then(first)

export const page = (db: Db, businessId: string, { limit, offset }: { limit: number; offset: number }) => db<
  ImportRecord[]
>`
  select ${columns(db)} from email_import where business_id = ${businessId} order by created_at desc, id desc limit ${limit} offset ${offset}`

export const count = (db: Db, businessId: string) =>
  db<{ count: number }[]>`select count(*)::int as count from email_import where business_id = ${businessId}`.then(
    rows => only(rows).count,
  )

export const chunk = async (db: Db, businessId: string, importId: string, number: number) =>
  (
    await db<{ content: Buffer }[]>`
    select content from email_import_chunk where business_id = ${businessId} and import_id = ${importId} and number = ${number}`
  )[0]?.content

/** The mark of progress, and the chunk that is no longer needed. */
export const advance = (
  db: Db,
  businessId: string,
  id: string,
  done: { bytes: number; lines: number; rows: number; created: number; updated: number; refused: number },
  now: Date,
) => db`
  with gone as (
    delete from email_import_chunk c using email_import i
    where i.business_id = ${businessId} and i.id = ${id} and c.business_id = ${businessId} and c.import_id = ${id} and c.number = i.next_chunk)
  update email_import set status = 'running', next_chunk = next_chunk + 1, done_bytes = done_bytes + ${done.bytes}, lines = ${done.lines},
    rows = rows + ${done.rows}, created = created + ${done.created}, updated = updated + ${done.updated}, refused = refused + ${done.refused},
    updated_at = ${now}
  where business_id = ${businessId} and id = ${id}`

export const addRefusals = (db: Db, businessId: string, importId: string, refusals: Refusal[]) => db`
  insert into email_import_refusal (business_id, import_id, line, email, reason)
  select ${businessId}, ${importId}, r.line, r.email, r.reason
  from json_to_recordset(${JSON.stringify(refusals)}::text::json) as r (line int, email text, reason text) on conflict do nothing`

export const refusals = (
  db: Db,
  businessId: string,
  importId: string,
  { limit, offset }: { limit: number; offset: number },
) => db<Refusal[]>`
  select line, email, reason from email_import_refusal where business_id = ${businessId} and import_id = ${importId}
  order by line limit ${limit} offset ${offset}`

export const countRefusals = (db: Db, businessId: string, importId: string) =>
  db<{ count: number }[]>`
  select count(*)::int as count from email_import_refusal where business_id = ${businessId} and import_id = ${importId}`.then(
    rows => only(rows).count,
  )

/** Where the job is gone but the work is not: the program was killed. */
export const stalled = (db: Db, before: Date) => db<{ businessId: string; id: string }[]>`
  select business_id as "businessId", id from email_import where status in ('queued', 'running') and updated_at < ${before}`

/** Uploads that broke off a day ago. */
export const removeBrokenUploads = (db: Db, before: Date) => db`
  delete from email_import where status = 'uploading' and updated_at < ${before}`
