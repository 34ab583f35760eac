import type { Db, Tx } from '../../platform/database.ts'
import { linesOf } from '../store-lines.ts'

/** An open or a click as it came in. */
export interface HitRow {
  businessId: string
  id: string
  deliveryId: string
  kind: 'open' | 'click'
  at: Date
  link: number | undefined
  method: string
  ip: string
  userAgent: string
}

/** None of the texts may hold a line end. */
export const insertHits = (db: Db, rows: readonly HitRow[]) => db`
  insert into email_hit (business_id, id, delivery_id, kind, at, link, method, ip, user_agent)
  select business_id, id, delivery_id, kind, to_timestamp(at::float8 / 1000), nullif(link, '')::int, method,
    coalesce(ip, ''), coalesce(user_agent, '')
  from unnest(string_to_array(${linesOf(rows, row => row.businessId)}, chr(10)),
    string_to_array(${linesOf(rows, row => row.id)}, chr(10)),
    string_to_array(${linesOf(rows, row => row.deliveryId)}, chr(10)),
    string_to_array(${linesOf(rows, row => row.kind)}, chr(10)),
    string_to_array(${linesOf(rows, row => String(row.at.getTime()))}, chr(10)),
    string_to_array(${linesOf(rows, row => (row.link === undefined ? '' : String(row.link)))}, chr(10)),
    string_to_array(${linesOf(rows, row => row.method)}, chr(10)),
    string_to_array(${linesOf(rows, row => row.ip)}, chr(10)),
    string_to_array(${linesOf(rows, row => row.userAgent)}, chr(10)))
    as one (business_id, id, delivery_id, kind, at, link, method, ip, user_agent)
  on conflict do nothing`

/** Takes the oldest to be counted in this transaction; what another worker is counting is passed over. */
export const takeHits = (tx: Tx, businessId: string, limit: number) => tx<
  (Omit<HitRow, 'businessId' | 'link'> & { link: number | null })[]
>`
  delete from email_hit h using (
    select id from email_hit where business_id = ${businessId} order by id limit ${limit} for update skip locked
  ) one
  where h.business_id = ${businessId} and h.id = one.id
  returning h.id, h.delivery_id as "deliveryId", h.kind, h.at, h.link, h.method, h.ip, h.user_agent as "userAgent"`

/** From one business to the next, so that many hits of one cost no more than few. */
export const businessesWithHits = (db: Db) => db<{ id: string }[]>`
  with recursive found as (
    (select business_id from email_hit order by business_id limit 1)
    union all
    select (select h.business_id from email_hit h where h.business_id > found.business_id order by h.business_id limit 1)
    from found where found.business_id is not null
  ) select business_id as id from found where business_id is not null`
