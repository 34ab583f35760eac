import type { Db } from '../../platform/database.ts'
import { pageRequest } from '../../platform/page.ts'
import { invalidField } from '../../platform/problem.ts'
import { listsNamed } from '../lists/store.ts'
import { readNames } from '../read-body.ts'
import { tally } from '../store.ts'
import { tallyNames } from '../tally.ts'
import type { ContactFilterQuery } from './schema.ts'
import {
  type ContactFilter,
  groupsOf,
  pageInOrder,
  pageOfGroups,
  pageOfMatches,
  totalOfGroups,
  type Window,
} from './store-list.ts'

/** So many entries may be read to put a page together from groups; beyond, walking in order finds it sooner. */
const mostEntries = 20_000

/** Contacts in order with the exact total; the totals of wide filters are kept, all others are counted. */
export async function listContacts(db: Db, businessId: string, query: ContactFilterQuery) {
  const { page, limit, offset } = pageRequest(query, 25)
  const filter = await readFilter(db, businessId, query)
  // Spec silent: skip leaves out rows besides those of earlier pages.
  const window = { newestFirst: query.order !== '1', limit, offset: offset + (query.skip ?? 0) }
  const total = await keptTotal(db, businessId, filter)
  if (total === undefined) return { ...(await pageOfMatches(db, businessId, filter, window)), page, limit }
  const contacts = window.offset >= total ? [] : await pageOfMany(db, businessId, filter, window)
  return { contacts, total, page, limit }
}

async function pageOfMany(db: Db, businessId: string, filter: ContactFilter, window: Window) {
  const mostGroups = Math.floor(mostEntries / (window.offset + window.limit))
  const hasFilter = Object.entries(filter).some(([name, value]) => name !== 'attributes' && value !== undefined)
  const groups = hasFilter ? await groupsOf(db, businessId, filter, mostGroups + 1) : undefined
  return groups && groups.length <= mostGroups
    ? pageOfGroups(db, businessId, groups, window)
    : pageInOrder(db, businessId, filter, window)
}

/** One thing has a count of its own, several are a sum over groups; undefined where only the contacts themselves can tell. */
async function keptTotal(db: Db, businessId: string, filter: ContactFilter): Promise<number | undefined> {
  const { attributes, name, mobile, ...facets } = filter
  if (attributes.length > 0 || name !== undefined || mobile !== undefined) return undefined
  const asked = Object.values(facets).filter(value => value !== undefined)
  const single = asked.length < 2 ? tallyFor(filter) : undefined
  return single === undefined ? totalOfGroups(db, businessId, filter) : tally(db, businessId, single)
}

function tallyFor(filter: ContactFilter): string | undefined {
  if (filter.optin !== undefined) return tallyNames.optin(filter.optin)
  if (filter.source !== undefined) return tallyNames.source(filter.source)
  if (filter.incomingBlocked !== undefined) return tallyNames.blocked(filter.incomingBlocked)
  if (filter.list !== undefined) return tallyNames.list(filter.list)
  if (filter.tags === undefined) return tallyNames.contacts
  return filter.tags.length === 1 ? tallyNames.tag(filter.tags[0] ?? '') : undefined
}

async function readFilter(db: Db, businessId: string, query: ContactFilterQuery): Promise<ContactFilter> {
  const tags = readTags(query)
  const [list] = query.list ? await listsNamed(db, businessId, [query.list]) : []
  return {
    ...(query.name && { name: query.name }),
    ...(query.mobile && { mobile: query.mobile.replaceAll(/[\s+()[\]-]/g, '') }),
    ...(tags.length > 0 && { tags }),
    // Lists are named without regard to case; a list that does not exist has no contacts.
    ...(query.list && { list: list?.name ?? query.list }),
    optin: query.optin,
    source: query.source,
    incomingBlocked: query.incomingBlocked,
    attributes: readAttributes(query as Record<string, unknown>),
  }
}

/** `tags=a,b`, `tags=a&tags=b`, or numbered like attributes: `tags[0]=a`, `tags[]=a`. */
function readTags(query: ContactFilterQuery): string[] {
  const numbered = Object.entries(query).flatMap(([key, given]) => (/^tags\[\d*\]$/.test(key) ? given : []))
  return [...(query.tags ?? []), ...numbered].flatMap(text => readNames(String(text)))
}

/** `attributes[0][name]=city&attributes[0][value]=Pune`: pairs by their index. */
function readAttributes(query: Record<string, unknown>): { name: string; value?: string }[] {
  const pairs = new Map<string, { name?: string; value?: string }>()
  for (const [key, given] of Object.entries(query)) {
    const [, index, part] = /^attributes\[(\d{1,4})\]\[(name|value)\]$/.exec(key) ?? []
    if (index === undefined || part === undefined) continue
    const pair = pairs.get(index) ?? {}
    pair[part as 'name' | 'value'] = String(Array.isArray(given) ? given.at(-1) : given)
    pairs.set(index, pair)
  }
  return [...pairs].map(([index, { name, ...rest }]) => {
    if (name === undefined) throw invalidField(`attributes[${index}][name]`, 'is required where a value is given')
    return { name, ...rest }
  })
}
