import type { PendingQuery, Row } from 'postgres'
import { type Db, first, only } from '../../platform/database.ts'
import { tenant } from '../store-tenant.ts'
import type { NewSuppression, SuppressionType } from './suppressions.ts'

type Fragment = PendingQuery<Row[]>

export interface SuppressionRow {
  email: string
  type: SuppressionType
  reason: string
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`email, type, reason, created_at as "createdAt", updated_at as "updatedAt"`

/** Sorted by address, so that two batches take their locks in the same order. */
export const suppress = (
  db: Db,
  businessId: string,
  entries: NewSuppression[],
  now: Date,
  { weaken } = { weaken: false },
) => db`
  insert into email_suppression as s (business_id, address, email, type, reason, created_at, updated_at)
  select distinct on (lower(e.email)) ${businessId}, lower(e.email), e.email, e.type, e.reason, ${now}::timestamptz, ${now}::timestamptz
  from jsonb_to_recordset(${db.json(entries as never)}) as e (email text, type text, reason text)
  order by lower(e.email)
  on conflict (business_id, address) do update
    set type = excluded.type, reason = excluded.reason, updated_at = excluded.updated_at
    where ${weaken} or s.type <> 'complaint' or excluded.type = 'complaint'`

export const lift = (db: Db, businessId: string, emails: string[]) => db<SuppressionRow[]>`
  delete from email_suppression
  where business_id = ${tenant(db, businessId)} and address in (select lower(e) from unnest(${emails}::text[]) e)
  returning ${columns(db)}`

export const suppressedAmong = (db: Db, businessId: string, emails: string[]) => db<{ address: string }[]>`
  select address from email_suppression
  where business_id = ${tenant(db, businessId)} and address in (select lower(e) from unnest(${emails}::text[]) e)`

export const isSuppressed = (db: Db, businessId: string, email: Fragment) => db`
  exists (select 1 from email_suppression suppressed where suppressed.business_id = ${tenant(db, businessId)} and suppressed.address = lower(${email}))`

export const find = (db: Db, businessId: string, email: string) =>
  db<SuppressionRow[]>`
  select ${columns(db)} from email_suppression where business_id = ${businessId} and address = lower(${email})`.then(
    first,
  )

const matching = (db: Db, businessId: string, filter: { type?: string; search?: string }) => db`
  business_id = ${businessId} ${filter.type ? db`and type = ${filter.type}` : db``}
  ${filter.search ? db`and position(lower(${filter.search}) in address) > 0` : db``}`

export const list = (
  db: Db,
  businessId: string,
  filter: { type?: string; search?: string; limit: number; offset: number },
) =>
  db<SuppressionRow[]>`
  select ${columns(db)} from email_suppression where ${matching(db, businessId, filter)}
  order by created_at desc, address limit ${filter.limit} offset ${filter.offset}`

export const count = (db: Db, businessId: string, filter: { type?: string; search?: string }) =>
  db<{ count: number }[]>`
  select count(*)::int as count from email_suppression where ${matching(db, businessId, filter)}`.then(
    rows => only(rows).count,
  )
