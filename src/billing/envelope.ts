import { type TSchema, Type } from 'typebox'
import { type PageRequest, pageCount } from '../platform/page.ts'
import { Nullable } from '../platform/schema.ts'

/** Answers of the billing service. */
export const ok = <T>(message: string, data: T) => ({ status: 'success' as const, message, data })

export const envelope = <T extends TSchema>(data: T) =>
  Type.Object({ status: Type.Literal('success'), message: Type.String(), data })

/** One page of a list. `total` is counted no further than `countLimit`. */
export interface Page<T> {
  rows: readonly T[]
  total: number
}

/** How far a list is counted: far enough for every small one, and always past the page that is asked for. */
export const countLimit = ({ offset, limit }: PageRequest) => Math.max(10_000, offset + limit) + 1

/**
 * Spec silent: `data` of every list is the bare array that the specification shows; where it stands in the whole is told
 * beside it. A list of millions is not counted to its end, so that its first page comes as quickly as that of a short one.
 */
export const okPage = <T>(message: string, data: T[], page: PageRequest, total: number) => {
  const known = total < countLimit(page)
  return {
    ...ok(message, data),
    pagination: {
      page: page.page,
      limit: page.limit,
      totalCount: known ? total : null,
      totalPages: known ? pageCount(total, page.limit) : null,
      hasNextPage: page.offset + page.limit < total,
      hasPrevPage: page.page > 1,
    },
  }
}

export const pageEnvelope = <T extends TSchema>(item: T) =>
  Type.Object({
    status: Type.Literal('success'),
    message: Type.String(),
    data: Type.Array(item),
    pagination: Type.Object({
      page: Type.Integer(),
      limit: Type.Integer(),
      totalCount: Nullable(Type.Integer({ description: 'null when more than ten thousand' })),
      totalPages: Nullable(Type.Integer()),
      hasNextPage: Type.Boolean(),
      hasPrevPage: Type.Boolean(),
    }),
  })
