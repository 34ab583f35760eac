/** What a list answers: at most 100 rows, wherever in the list. */
export interface PageRequest {
  page: number
  limit: number
  offset: number
}

/** No list is this long; a page farther out is empty all the same, and the database can still count to it. */
const farthest = 10_000_000_000_000

export function pageRequest(query: { page?: number; limit?: number }, defaultLimit = 10): PageRequest {
  const page = Math.min(query.page ?? 1, farthest)
  const limit = Math.min(query.limit ?? defaultLimit, 100)
  return { page, limit, offset: (page - 1) * limit }
}

export const pageCount = (total: number, limit: number) => Math.ceil(total / limit)
