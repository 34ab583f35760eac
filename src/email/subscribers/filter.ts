import type { Db } from '../../platform/database.ts'
import { invalidField } from '../../platform/problem.ts'
import type { SegmentRow } from '../segments/store.ts'
import { type FilterQuery, maxScore, type Status } from './schema.ts'
import * as store from './store-filter.ts'

/** What GET /subscribers asks for. Several tags, lists or segments mean any of them; different filters must all match. */
export interface Filter {
  search?: string
  status?: Status
  listNumbers?: number[]
  tagNumbers?: number[]
  segments?: SegmentRow[]
  scoreMin?: number
  scoreMax?: number
}

export async function readFilter(
  db: Db,
  businessId: string,
  query: FilterQuery,
  segments: readonly SegmentRow[],
): Promise<Filter> {
  const lists = splitNames(query.lists)
  const tags = splitNames(query.tags)
  const wanted = splitNames(query.segments)?.map(name => name.toLowerCase())
  const search = query.search?.trim()
  const [scoreMin, scoreMax] = [score('leadScoreMin', query.leadScoreMin), score('leadScoreMax', query.leadScoreMax)]
  return {
    ...(search && { search }),
    ...(query.status && { status: query.status }),
    ...(lists && { listNumbers: await store.listNumbers(db, businessId, lists) }),
    ...(tags && { tagNumbers: await store.tagNumbers(db, businessId, tags) }),
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

/** Beyond what a score can be, the bound itself says the same. */
const score = (field: string, text: string | undefined): number | undefined => {
  if (text === undefined || text.trim() === '') return undefined
  const value = Number(text)
  if (!Number.isInteger(value)) throw invalidField(field, 'must be an integer')
  return Math.max(-maxScore - 1, Math.min(maxScore + 1, value))
}
