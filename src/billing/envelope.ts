import { type TSchema, Type } from 'typebox'
import { type PageRequest, pageCount } from '../platform/page.ts'

/** Answers of the billing service. */
export const ok = <T>(message: string, data: T) => ({ status: 'success' as const, message, data })

export const envelope = <T extends TSchema>(data: T) =>
  Type.Object({ status: Type.Literal('success'), message: Type.String(), data })

/** One page of a list: `rows` of `total`. */
export interface Page<T> {
  rows: readonly T[]
  total: number
}

/** Spec silent: `data` of every list is the bare array that the specification shows; where it stands in the whole is told beside it. */
export const okPage = <T>(message: string, data: T[], { page, limit }: PageRequest, total: number) => ({
  ...ok(message, data),
  pagination: {
    page,
    limit,
    totalCount: total,
    totalPages: pageCount(total, limit),
    hasNextPage: page * limit < total,
    hasPrevPage: page > 1,
  },
})

export const pageEnvelope = <T extends TSchema>(item: T) =>
  Type.Object({
    status: Type.Literal('success'),
    message: Type.String(),
    data: Type.Array(item),
    pagination: Type.Object({
      page: Type.Integer(),
      limit: Type.Integer(),
      totalCount: Type.Integer(),
      totalPages: Type.Integer(),
      hasNextPage: Type.Boolean(),
      hasPrevPage: Type.Boolean(),
    }),
  })
