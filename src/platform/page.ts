/** What a list answers: at most 100 rows, wherever in the list. */
export interface PageRequest {
  page: number
  limit: number
  offset: number
}

/** No list is this long; a page farther out is empty all the same, and the database can still count to it. */
const farthest = 1_000_000_000_000_000

export function pageRequest(query: { page?: number; limit?: number }, defaultLimit = 10): PageRequest {
  const page = query.page ?? 1
  const limit = Math.min(query.limit ?? defaultLimit, 100)
  return { page, limit, offset: Math.min((page - 1) * limit, farthest) }
}

export const pageCount = (total: number, limit: number) => Math.ceil(total / limit)
