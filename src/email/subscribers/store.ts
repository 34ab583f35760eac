import { type Db, first } from '../../platform/database.ts'
import type { SegmentRule } from '../segments/store.ts'
import { namesExpression } from '../segments/store.ts'
import type { RuleContext } from '../segments/store-rules.ts'
import { tenant } from '../store-tenant.ts'
import type { Status, SubscriberKey } from './schema.ts'
import { type Fragment, lockedRows, logCreated, logDifference, newAndOld, searchText } from './store-changes.ts'
import { type MailedEntry, mailedOf } from './store-mailed.ts'

/** A subscriber as stored, with the names of what it belongs to. */
export interface SubscriberRow {
  _id: string
  email: string
  firstName: string
  lastName: string
  mobile: string
  leadScore: number
  dateOfBirth: string | null
  status: Status
  country: string
  city: string
  tags: string[]
  lists: string[]
  segments: string[]
  source: string
  customFields: Record<string, unknown>
  activity: [string, number, string, 0 | 1][]
  campaigns: { _id: string; campaignId: string; campaignName: string }[]
  mailed: MailedEntry[]
  totalSent: number
  totalDelivered: number
  totalOpens: number
  totalUniqueOpens: number
  totalUniqueClick: number
  totalClicks: number
  suppressionType: string | null
  suppressionReason: string | null
  suppressedAt: Date | null
  suppressionUpdatedAt: Date | null
  createdAt: Date
  updatedAt: Date
}

/** A row shows the segments that it belongs to, so all of them are asked. */
export interface RowContext extends RuleContext {
  segments: readonly SegmentRule[]
}

const tagNames = (db: Db) => db`
  array_remove(array(select (select t.name from email_tag t where t.business_id = s.business_id and t.number = n) from unnest(s.tag_numbers) n), null)`
const listNames = (db: Db) => db`
  array_remove(array(select (select l.name from email_list l where l.business_id = s.business_id and l.number = n) from unnest(s.list_numbers) n), null)`

/** Expressions over `s`, the activity `a` and the suppression `p`. */
const wholeRow = (db: Db, context: RowContext) => db`
  s.id as "_id", s.email, s.first_name as "firstName", s.last_name as "lastName", s.mobile, s.lead_score as "leadScore",
    s.date_of_birth as "dateOfBirth", s.status, s.country, s.city, s.source, s.custom_fields as "customFields",
    ${tagNames(db)} as tags, ${listNames(db)} as lists,
    ${namesExpression(db, context, context.segments)} as segments,
    coalesce(a.activity, '[]') as activity, coalesce(a.campaigns, '[]') as campaigns, ${mailedOf(db)} as mailed,
    coalesce(a.total_sent, 0) as "totalSent", coalesce(a.total_delivered, 0) as "totalDelivered",
    coalesce(a.total_opens, 0) as "totalOpens", coalesce(a.total_unique_opens, 0) as "totalUniqueOpens",
    coalesce(a.total_unique_click, 0) as "totalUniqueClick", coalesce(a.total_clicks, 0) as "totalClicks",
    p.type as "suppressionType", p.reason as "suppressionReason", p.created_at as "suppressedAt", p.updated_at as "suppressionUpdatedAt",
    s.created_at as "createdAt", s.updated_at as "updatedAt"`

/** Each looked up by its key (`limit` forbids anything else): the planner expects thousands of rows behind a lowered email. */
const withRest = (db: Db) => db`
  left join lateral (
    select * from email_subscriber_activity own where own.business_id = s.business_id and own.subscriber_id = s.id limit 1
  ) a on true
  left join lateral (
    select * from email_suppression own where own.business_id = s.business_id and own.address = lower(s.email) limit 1
  ) p on true`

const wholeRows = (db: Db, context: RowContext, where: Fragment) => db<SubscriberRow[]>`
  select ${wholeRow(db, context)} from email_subscriber s ${withRest(db)}
  where s.business_id = ${tenant(db, context.businessId)} and s.delete_after is null and ${where}`

const hasKey = (db: Db, key: SubscriberKey): Fragment =>
  'id' in key ? db`id = ${key.id}` : db`lower(email) = lower(${key.email})`

export const find = (db: Db, context: RowContext, key: SubscriberKey) =>
  wholeRows(db, context, 'id' in key ? db`s.id = ${key.id}` : db`lower(s.email) = lower(${key.email})`).then(first)

export const byIds = (db: Db, context: RowContext, ids: string[]) =>
  wholeRows(db, context, db`s.id = any(${ids}::text[])`)

export interface NewRow {
  id: string
  slot: number
  email: string
  firstName: string
  lastName: string
  mobile: string
  country: string
  city: string
  dateOfBirth: string | null
  leadScore: number
  status: Status
  listNumbers: number[]
  tagNumbers: number[]
  source: string
  customFields: object
}

/** Undefined: the email exists already, perhaps since a moment ago. */
export const insert = (db: Db, businessId: string, row: NewRow, now: Date) =>
  db<{ id: string }[]>`
  with made as (
    insert into email_subscriber (business_id, id, slot, email, first_name, last_name, mobile, country, city, date_of_birth,
      lead_score, status, list_numbers, tag_numbers, source, custom_fields, created_at, updated_at)
    values (${businessId}, ${row.id}, ${row.slot}, ${row.email}, ${row.firstName}, ${row.lastName}, ${row.mobile}, ${row.country},
      ${row.city}, ${row.dateOfBirth}, ${row.leadScore}, ${row.status}, ${row.listNumbers}::int[], ${row.tagNumbers}::int[],
      ${row.source}, ${db.json(row.customFields as never)}, ${now}, ${now})
    on conflict (business_id, lower(email)) where delete_after is null do nothing
    returning *
  ), log as (${logCreated(db, now)})
  select id from made`.then(first)

/** What is undefined stays as it is. */
export interface RowChanges {
  firstName?: string
  lastName?: string
  mobile?: string
  country?: string
  city?: string
  dateOfBirth?: string | null
  leadScore?: number
  status?: Status
  source?: string
  customFields?: object
  listsToAdd?: number[]
  listsToRemove?: number[]
  tagsToAdd?: number[]
  tagsToRemove?: number[]
}

export interface Updated extends SubscriberRow {
  oldStatus: Status
  oldListNumbers: number[]
  listNumbers: number[]
}

/** Added first, then removed; nothing twice. */
const numbersAfter = (db: Db, column: string, add: number[] = [], remove: number[] = []) => db`
  array(select n from unnest(s.${db(column)}) n where n <> all(${remove}::int[]))
  || array(select n from unnest(${add}::int[]) with ordinality as added (n, place) where n <> all(s.${db(column)}) and n <> all(${remove}::int[]) order by place)`

/** Answers the whole row as it is afterwards. */
export function update(db: Db, context: RowContext, key: SubscriberKey, changes: RowChanges) {
  const { businessId, now } = context
  const plain = (column: string, value: string | number | undefined) =>
    value === undefined ? db`` : db`, ${db(column)} = ${value}`
  return db<Updated[]>`
    with old as materialized (${lockedRows(db, businessId, hasKey(db, key), db`limit 1`)}
    ), new as (
      update email_subscriber s set updated_at = ${now}
        ${plain('first_name', changes.firstName)} ${plain('last_name', changes.lastName)} ${plain('mobile', changes.mobile)}
        ${plain('country', changes.country)} ${plain('city', changes.city)} ${plain('lead_score', changes.leadScore)}
        ${plain('status', changes.status)} ${plain('source', changes.source)}
        ${changes.dateOfBirth === undefined ? db`` : db`, date_of_birth = ${changes.dateOfBirth}`}
        ${changes.customFields ? db`, custom_fields = jsonb_strip_nulls(s.custom_fields || ${db.json(changes.customFields as never)})` : db``}
        ${changes.listsToAdd || changes.listsToRemove ? db`, list_numbers = ${numbersAfter(db, 'list_numbers', changes.listsToAdd, changes.listsToRemove)}` : db``}
        ${changes.tagsToAdd || changes.tagsToRemove ? db`, tag_numbers = ${numbersAfter(db, 'tag_numbers', changes.tagsToAdd, changes.tagsToRemove)}` : db``}
      from old where s.business_id = old.business_id and s.id = old.id
      returning ${newAndOld(db)}
    ), log as (${logDifference(db, now)})
    select ${wholeRow(db, context)}, s.old_status as "oldStatus", s.old_lists as "oldListNumbers", s.list_numbers as "listNumbers"
    from new s ${withRest(db)}`.then(first)
}

export interface Deleted {
  _id: string
  email: string
}

/** From now on no read and no total shows them; the email is free for a new subscriber. */
export const markDeleted = (
  db: Db,
  businessId: string,
  keys: { ids: string[]; emails: string[] },
  now: Date,
  deleteAfter: Date,
) => db<Deleted[]>`
  with old as materialized (${lockedRows(
    db,
    businessId,
    db`id = any(array(
      select one.id from email_subscriber one where one.business_id = ${tenant(db, businessId)} and one.id = any(${keys.ids}::text[])
      union select one.id from unnest(${keys.emails}::text[]) given (email), lateral (
        select s.id from email_subscriber s
        where s.business_id = ${tenant(db, businessId)} and lower(s.email) = lower(given.email) and s.delete_after is null limit 1) one))`,
  )}
  ), gone as (
    update email_subscriber s set delete_after = ${deleteAfter}, updated_at = ${now} from old
    where s.business_id = old.business_id and s.id = old.id returning s.id, s.email
  ), log as (
    insert into email_change (business_id, slot, at, old_status, old_score, old_lists, old_tags, old_engaged, text_changed, old_text)
    select business_id, slot, ${now}::timestamptz, status, lead_score, list_numbers, tag_numbers, engaged_at, true, ${searchText(db, db`old`)}
    from old
  )
  select id as "_id", email from gone`

export const nextErasure = async (db: Db, businessId: string) =>
  (
    await db<{ at: Date }[]>`
    select delete_after as at from email_subscriber where business_id = ${businessId} and delete_after is not null
    order by delete_after limit 1`
  )[0]?.at

export const businessesWithErasure = (db: Db, now: Date) => db<{ id: string }[]>`
  select distinct business_id as id from email_subscriber where delete_after <= ${now}`

/** Answers how many of a batch were erased. */
export const erase = async (db: Db, businessId: string, now: Date, limit: number) =>
  (
    await db`
    with due as (
      select id from email_subscriber where business_id = ${businessId} and delete_after <= ${now} order by delete_after limit ${limit}
    ), activity as (
      delete from email_subscriber_activity where business_id = ${businessId} and subscriber_id in (select id from due)
    )
    delete from email_subscriber where business_id = ${businessId} and id in (select id from due)`
  ).count
