import type { Db } from '../../platform/database.ts'
import { invalidField } from '../../platform/problem.ts'
import type { SegmentRule } from '../segments/store.ts'
import { type FilterQuery, maxScore, type Status } from './schema.ts'
import * as store from './store-filter.ts'

/** What GET /subscribers asks for. Several tags, lists or segments mean any of them; different filters must all match. */
export interface Filter {
  search?: string
  status?: Status
  listNumbers?: number[]
  tagNumbers?: number[]
  segments?: SegmentRule[]
  scoreMin?: number
  scoreMax?: number
}

export const readFilter = async (
  db: Db,
  businessId: string,
  query: FilterQuery,
  segments: readonly SegmentRule[],
): Promise<Filter> => filterOf(query, await findNumbers(db, businessId, query), segments)

export type NamedNumbers = Pick<Filter, 'listNumbers' | 'tagNumbers'>

/** What the names of lists and tags in a query stand for. */
export async function findNumbers(db: Db, businessId: string, query: FilterQuery): Promise<NamedNumbers> {
  const [lists, tags] = [namesToFind(query.lists), namesToFind(query.tags)]
  const [listNumbers, tagNumbers] = await Promise.all([
    lists && store.listNumbers(db, businessId, lists),
    tags && store.tagNumbers(db, businessId, tags),
  ])
  return { ...(listNumbers && { listNumbers }), ...(tagNumbers && { tagNumbers }) }
}

export function filterOf(query: FilterQuery, numbers: NamedNumbers, segments: readonly SegmentRule[]): Filter {
  const wanted = namesToFind(query.segments)?.map(name => name.toLowerCase())
  const search = query.search?.trim()
  const [scoreMin, scoreMax] = [score(query.leadScoreMin), score(query.leadScoreMax)]
  return {
    ...numbers,
    ...(search && { search }),
    ...(query.status && { status: query.status }),
    ...(wanted && {
      segments: segments.filter(one => wanted.includes(one.name.toLowerCase()) || wanted.includes(one.id)),
    }),
    ...(scoreMin !== undefined && { scoreMin }),
    ...(scoreMax !== undefined && { scoreMax }),
  }
}

/** Nothing can match: a filter names only lists, tags or segments that do not exist, or an empty range. */
export const matchesNobody = (filter: Filter): boolean =>
  filter.listNumbers?.length === 0 ||
  filter.tagNumbers?.length === 0 ||
  filter.segments?.length === 0 ||
  (filter.scoreMin ?? -maxScore) > (filter.scoreMax ?? maxScore)

/** A comma-separated text, or several of them. Empty text is no filter. */
export function splitNames(given: string | string[] | undefined): string[] | undefined {
  const found = [given ?? []]
    .flat()
    .flatMap(text => text.split(','))
    .map(name => name.trim())
    .filter(name => name !== '')
  if (found.length > 1_000) throw invalidField('query', 'must name at most 1000 values')
  return found.length > 0 ? [...new Set(found)] : undefined
}

/** A text may also be one name that has commas in it. */
function namesToFind(given: string | string[] | undefined): string[] | undefined {
  const names = splitNames(given)
  return names && [...new Set([...names, ...[given ?? []].flat().map(text => text.trim())])]
}

/** Beyond what a score can be, the bound itself says the same. */
const score = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Math.max(-maxScore - 1, Math.min(maxScore + 1, Number(text)))
