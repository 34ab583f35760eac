import { type Db, first, only } from '../../platform/database.ts'
import { logCreated, logDifference } from '../subscribers/store-changes.ts'
import type { Column, ImportRow, Refusal } from './rows.ts'

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

export interface MergeRow extends Omit<ImportRow, 'line' | 'tags' | 'lists'> {
  n: number
  id: string
  slot: number
  tagNumbers: number[]
  listNumbers: number[]
}

/**
 * Writes a chunk: those who exist are updated, the others made, and the log of changes with them. Rows that another
 * request made a moment ago are in neither answer and must be given again. A suppressed address keeps its suppression:
 * an import never makes it `subscribed`.
 */
export const merge = (db: Db, businessId: string, rows: MergeRow[], now: Date) =>
  db<{ created: number[]; updated: number[] }[]>`
  with r as materialized (
    select r.*, lower(r.email) as address, p.type as suppressed from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (n int, id text, slot int, email text,
      "firstName" text, "lastName" text, mobile text, country text, city text, "dateOfBirth" date, "leadScore" int, status text, source text,
      "customFields" jsonb, "tagNumbers" int[], "listNumbers" int[])
    left join email_suppression p on p.business_id = ${businessId} and p.address = lower(r.email)
  ), old as materialized (
    select s.business_id, s.id, s.slot, s.email, s.first_name, s.last_name, s.status, s.lead_score, s.list_numbers, s.tag_numbers,
      s.engaged_at, r.n
    from r join email_subscriber s on s.business_id = ${businessId} and lower(s.email) = r.address and s.delete_after is null
    order by s.id for update of s
  ), new as (
    update email_subscriber s set
      first_name = coalesce(r."firstName", s.first_name), last_name = coalesce(r."lastName", s.last_name),
      mobile = coalesce(r.mobile, s.mobile), country = coalesce(r.country, s.country), city = coalesce(r.city, s.city),
      date_of_birth = coalesce(r."dateOfBirth", s.date_of_birth), lead_score = coalesce(r."leadScore", s.lead_score),
      source = coalesce(r.source, s.source),
      status = case when r.status = 'subscribed' and r.suppressed is not null then s.status else coalesce(r.status, s.status) end,
      custom_fields = case when r."customFields" is null then s.custom_fields else s.custom_fields || r."customFields" end,
      tag_numbers = case when r."tagNumbers" <@ s.tag_numbers then s.tag_numbers
        else s.tag_numbers || array(select n from unnest(r."tagNumbers") n where n <> all(s.tag_numbers)) end,
      list_numbers = case when r."listNumbers" <@ s.list_numbers then s.list_numbers
        else s.list_numbers || array(select n from unnest(r."listNumbers") n where n <> all(s.list_numbers)) end,
      updated_at = ${now}
    from old join r on r.n = old.n where s.business_id = ${businessId} and s.id = old.id
    returning s.*
  ), log_updated as (${logDifference(db, now)}
  ), made as (
    insert into email_subscriber (business_id, id, slot, email, first_name, last_name, mobile, country, city, date_of_birth, lead_score,
      status, source, custom_fields, tag_numbers, list_numbers, created_at, updated_at)
    select ${businessId}, r.id, r.slot, r.email, coalesce(r."firstName", ''), coalesce(r."lastName", ''), coalesce(r.mobile, ''),
      coalesce(r.country, 'Not Specified'), coalesce(r.city, 'Not Specified'), r."dateOfBirth", coalesce(r."leadScore", 0),
      case when coalesce(r.status, 'subscribed') = 'subscribed' and r.suppressed in ('unsubscribed', 'bounced', 'complaint') then r.suppressed
        else coalesce(r.status, 'subscribed') end,
      coalesce(r.source, 'import'), coalesce(r."customFields", '{}'), r."tagNumbers", r."listNumbers", ${now}, ${now}
    from r where not exists (select 1 from old where old.n = r.n)
    on conflict (business_id, lower(email)) where delete_after is null do nothing
    returning *
  ), log_created as (${logCreated(db, now)})
  select array(select n from old) as updated, array(select r.n from made join r on r.slot = made.slot) as created`.then(
    only,
  )
