import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Db, Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import type { PageRequest } from '../../platform/page.ts'
import { fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import { type Totals, totalsOf } from '../stats/totals.ts'
import { claimName, renameTo } from './names.ts'
import type { List } from './schema.ts'
import * as store from './store.ts'

/** Spec silent: spaces around a name are not part of it. */
export function cleanName(name: string): string {
  const clean = name.trim()
  if (clean === '') throw invalidField('name', 'must not be empty')
  return clean
}

/** Spec silent: more lists than anyone keeps by hand; a bound, because every statistic names them all. */
const maxLists = 10_000

export async function createList(db: Database, business: Business, name: string): Promise<List> {
  const list = { id: newId(), name: cleanName(name) }
  const now = await nowFor(db, business)
  return db.begin(async tx => {
    await claimName(tx, business.id, { name: list.name, kind: 'list', objectId: list.id })
    if ((await store.count(tx, business.id)) >= maxLists)
      throw unprocessable('too_many_lists', `A business has at most ${maxLists} lists.`)
    const made = toList(await store.insert(tx, business.id, list, now), undefined)
    await tell(tx, business, 'list_create', made, now)
    return made
  })
}

export async function renameList(db: Database, business: Business, id: string, name: string): Promise<List> {
  const now = await nowFor(db, business)
  return db.begin(async tx => {
    const list = (await store.lock(tx, business.id, id)) ?? fail(notFound('List'))
    await renameTo(tx, business.id, { name: cleanName(name), kind: 'list', objectId: list.id })
    const renamed = (await store.rename(tx, business.id, { id, name: cleanName(name) }, now)) ?? fail(notFound('List'))
    const shown = toList(renamed, (await totalsOf(tx, business.id, 'list', now)).get(renamed.number))
    await tell(tx, business, 'list_update', shown, now)
    return shown
  })
}

export const getList = async (db: Database, business: Business, id: string): Promise<List> =>
  (await withCounts(db, business, [(await store.find(db, business.id, id)) ?? fail(notFound('List'))]))[0]!

export const getListNamed = async (db: Database, business: Business, name: string): Promise<List> =>
  (
    await withCounts(db, business, [(await store.findByName(db, business.id, name.trim())) ?? fail(notFound('List'))])
  )[0]!

export async function pageOfLists(db: Db, business: Business, page: PageRequest) {
  const total = await store.count(db, business.id)
  const rows = page.offset >= total ? [] : await store.page(db, business.id, page)
  return { total, lists: await withCounts(db, business, rows) }
}

export const allLists = async (db: Db, business: Business): Promise<List[]> =>
  withCounts(db, business, await store.all(db, business.id))

async function withCounts(db: Db, business: Business, rows: readonly store.ListRow[]): Promise<List[]> {
  if (rows.length === 0) return []
  const totals = await totalsOf(db, business.id, 'list', await nowFor(db, business))
  return rows.map(row => toList(row, totals.get(row.number)))
}

export const toList = (row: store.ListRow, totals: Totals | undefined): List => ({
  id: row.id,
  name: row.name,
  count: totals?.total ?? 0,
  counts: {
    totalSubscribers: totals?.total ?? 0,
    unsubscribedCount: totals?.unsubscribed ?? 0,
    engagedCount: totals?.engaged ?? 0,
    lastUpdated: totals?.updatedAt ?? row.createdAt,
  },
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

export const tell = (tx: Tx, business: Business, type: string, list: List, now: Date) =>
  emit(tx, { businessId: business.id, type, source: 'api', objectId: list.id, data: list, at: now })

/** Numbers of lists given by id or name; the unknown ones are refused by name. */
export async function resolveLists(db: Db, businessId: string, idsOrNames: readonly string[]): Promise<number[]> {
  const wanted = [...new Set(idsOrNames.map(name => name.trim()))]
  if (wanted.length === 0) return []
  const found = await store.resolve(db, businessId, wanted)
  const missing = wanted.filter(name => !found.some(one => one.given === name))
  if (missing.length > 0)
    throw unprocessable(
      'list_not_found',
      `There is no list named ${missing
        .slice(0, 5)
        .map(name => `"${name}"`)
        .join(', ')}. Create it first.`,
      [{ field: 'lists', message: `must name existing lists; unknown: ${missing.slice(0, 20).join(', ')}` }],
    )
  return [...new Set(found.map(one => one.number))]
}
