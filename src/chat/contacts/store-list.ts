import type { Db } from '../../platform/database.ts'
import { type ContactRow, contactColumns } from './store.ts'

export interface ContactFilter {
  name?: string
  mobile?: string
  tags?: string[]
  list?: string
  optin?: boolean
  source?: string
  incomingBlocked?: boolean
  attributes: { name: string; value?: string }[]
}

export interface Window {
  newestFirst: boolean
  offset: number
  limit: number
}

const contains = (text: string) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`

function conditions(db: Db, businessId: string, filter: ContactFilter) {
  let all = db`business_id = ${businessId}`
  if (filter.name !== undefined) all = db`${all} and lower(name) like lower(${contains(filter.name)})`
  if (filter.mobile !== undefined) all = db`${all} and mobile like ${contains(filter.mobile)}`
  if (filter.tags !== undefined) all = db`${all} and tags && ${filter.tags}`
  if (filter.list !== undefined) all = db`${all} and list && ${[filter.list]}`
  if (filter.optin !== undefined) all = filter.optin ? db`${all} and optin` : db`${all} and not optin`
  if (filter.source !== undefined) all = db`${all} and source = ${filter.source}`
  if (filter.incomingBlocked !== undefined)
    all = filter.incomingBlocked ? db`${all} and incoming_blocked` : db`${all} and not incoming_blocked`
  for (const attribute of filter.attributes) all = db`${all} and attributes @> ${db.json([attribute] as never)}`
  return all
}

/**
 * Narrows to those whose keys say that they may match (`chat_contact_keys` in the migrations makes them). Keys are hashes, so the
 * conditions themselves are asked besides.
 */
function byKeys(db: Db, businessId: string, filter: ContactFilter) {
  const hashes = (texts: readonly string[]) =>
    db`array(select hashtext(${businessId} || text) from unnest(${texts}::text[]) text)`
  const needed = [
    ...runsOf(filter.mobile ?? '').map(run => `#${run}`),
    ...(filter.list === undefined ? [] : [`l${filter.list}`]),
    ...filter.attributes.map(({ name, value }) => (value === undefined ? `a${name}` : `v${name}=${value}`)),
  ]
  const all = needed.length > 0 ? db`and keys @> ${hashes(needed)}` : db``
  return filter.tags === undefined ? all : db`${all} and keys && ${hashes(filter.tags.map(tag => `t${tag}`))}`
}

/** The last ones: numbers begin alike, so runs further ahead say little, and the index has long entries of them. */
const runsOf = (digits: string) =>
  Array.from({ length: Math.max(0, digits.length - 2) }, (_, i) => digits.slice(i, i + 3)).slice(-3)

/** The groups have the columns that these filters ask for. */
export const totalOfGroups = (db: Db, businessId: string, filter: ContactFilter) =>
  db<{ total: number }[]>`
  select coalesce(sum(count), 0)::float8 as total from chat_tally
  where business_id = ${businessId} and name in (
    select 'group:' || key from chat_group where ${conditions(db, businessId, filter)})`.then(
    rows => rows[0]?.total ?? 0,
  )

/** Keys of groups that pass a filter, at most as many as named. */
export const groupsOf = (db: Db, businessId: string, filter: ContactFilter, most: number) =>
  db<{ key: string }[]>`
  select key from chat_group where ${conditions(db, businessId, filter)} limit ${most}`.then(rows =>
    rows.map(row => row.key),
  )

/** Of the page, and of the contacts that are joined to it. */
const ordersOf = (db: Db, { newestFirst }: Window) =>
  newestFirst
    ? { order: db`created_at desc, id desc`, contactOrder: db`contact.created_at desc, contact.id desc` }
    : { order: db`created_at, id`, contactOrder: db`contact.created_at, contact.id` }

/** Takes the first of each group, and of these the page: wherever they lie among all contacts, and however many there are. */
export const pageOfGroups = (db: Db, businessId: string, groups: readonly string[], window: Window) => {
  const { order, contactOrder } = ordersOf(db, window)
  return db<ContactRow[]>`
    select ${contactColumns(db)} from (
      select found.id, found.created_at from unnest(${groups}::text[]) as wanted (key) cross join lateral (
        select id, created_at from chat_contact where business_id = ${businessId} and group_key = wanted.key::uuid
        order by ${order} limit ${window.offset + window.limit}) found
      order by ${order} offset ${window.offset} limit ${window.limit}) page
    join chat_contact contact on contact.business_id = ${businessId} and contact.id = page.id
    order by ${contactOrder}`
}

/** Walks the contacts in order until the page is full: for filters that many contacts pass. */
export const pageInOrder = (db: Db, businessId: string, filter: ContactFilter, window: Window) => {
  const { order, contactOrder } = ordersOf(db, window)
  return db<ContactRow[]>`
    select ${contactColumns(db)} from (
      select business_id, id from chat_contact where ${conditions(db, businessId, filter)}
      order by ${order} offset ${window.offset} limit ${window.limit}) page
    join chat_contact contact on contact.business_id = page.business_id and contact.id = page.id
    order by ${contactOrder}`
}

/** Finds all that match once, for the exact total and the page: for filters that few contacts pass. */
export async function pageOfMatches(db: Db, businessId: string, filter: ContactFilter, window: Window) {
  const { order, contactOrder } = ordersOf(db, window)
  const rows = await db<(ContactRow & { total: number })[]>`
    with matching as materialized (
      select id, created_at from chat_contact
      where ${conditions(db, businessId, filter)} ${byKeys(db, businessId, filter)})
    select counted.total, ${contactColumns(db)}
    from (select count(*)::int as total from matching) counted
    left join (
      select id from matching order by ${order} offset ${window.offset} limit ${window.limit}) page on true
    left join chat_contact contact on contact.business_id = ${businessId} and contact.id = page.id
    order by ${contactOrder}`
  return { total: rows[0]?.total ?? 0, contacts: rows.filter(row => row.id !== null) }
}
