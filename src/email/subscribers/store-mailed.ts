import type { Db } from '../../platform/database.ts'
import { maxCampaigns } from './activity.ts'
import type { Fragment } from './store-changes.ts'

/** Bytes of one entry of `mailed`: a delivery's id, then twice the milliseconds, plus one when it was delivered. */
const entryBytes = 20

/** One entry, from a delivery's id, its time and whether acceptance counts as delivery. */
export const mailedEntry = (db: Db, delivery: { id: Fragment; at: Fragment; delivered: Fragment }) =>
  db`decode(${delivery.id}, 'hex') || int8send((extract(epoch from ${delivery.at}) * 1000)::bigint * 2 + ${delivery.delivered}::int)`

/** The newer entries before the older, as many as are kept. */
export const mailedAfter = (db: Db, newer: Fragment, older: Fragment) =>
  db`substring(${newer} || ${older} from 1 for ${maxCampaigns * entryBytes}::int)`

/** What the API shows of them, newest first: [delivery id, twice the milliseconds plus one when delivered, campaign id, name]. */
export const mailedOf = (db: Db) => db`
  case when a.mailed is null or a.mailed = '' then '[]' else coalesce((
    select jsonb_agg(jsonb_build_array(one.id, one.stamp, m.campaign_id, m.campaign_name) order by one.place)
    from (
      select place, encode(substring(a.mailed from place * ${entryBytes} + 1 for 12), 'hex') as id,
        ('x' || encode(substring(a.mailed from place * ${entryBytes} + 13 for 8), 'hex'))::bit(64)::bigint as stamp
      from generate_series(0, octet_length(a.mailed) / ${entryBytes} - 1) as place
    ) one
    join email_send m on m.business_id = a.business_id and m.id = left(one.id, 16) || '00000000'), '[]') end`

export type MailedEntry = [deliveryId: string, stamp: number, campaignId: string, campaignName: string]
