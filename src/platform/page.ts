/** What a list answers: at most 100 rows, wherever in the list. */
export interface PageRequest {
  page: number
  limit: number
  offset: number
}

export function pageRequest(query: { page?: number; limit?: number }, defaultLimit = 10): PageRequest {
  const page = query.page ?? 1
  const limit = Math.min(query.limit ?? defaultLimit, 100)
  return { page, limit, offset: (page - 1) * limit }
}

export const pageCount = (total: number, limit: number) => Math.ceil(total / limit)
