import { type Static, Type } from 'typebox'
import { Id, PageQuery, Timestamp } from '../../platform/schema.ts'
import { EmailText } from '../subscribers/schema.ts'

export const NameSchema = Type.String({ minLength: 1, maxLength: 100 })

export const ListSchema = Type.Object({
  id: Id,
  name: Type.String(),
  count: Type.Integer(),
  counts: Type.Object({
    totalSubscribers: Type.Integer(),
    unsubscribedCount: Type.Integer(),
    engagedCount: Type.Integer(),
    lastUpdated: Timestamp,
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type List = Static<typeof ListSchema>

export const ListsQuerySchema = Type.Object({
  ...PageQuery,
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, description: 'then the answer is this one list' })),
})

export const PaginationSchema = Type.Object({
  currentPage: Type.Integer(),
  itemsPerPage: Type.Integer(),
  totalItems: Type.Integer(),
  totalPages: Type.Integer(),
  hasNextPage: Type.Boolean(),
  hasPrevPage: Type.Boolean(),
})

const ListIds = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 1_000 })
const who = {
  email: Type.Optional(EmailText),
  subscriberId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
}
export const ListIdsBody = Type.Object({ ...who, listIds: ListIds })
export const MoveBody = Type.Object({ ...who, fromListIds: ListIds, toListIds: ListIds })

const Names = Type.Array(Type.String())
const member = { subscriberId: Id, email: Type.String() }
export const AddedSchema = Type.Object({ ...member, addedLists: Names, currentLists: Names })
export const RemovedSchema = Type.Object({ ...member, removedLists: Names, currentLists: Names })
export const MovedSchema = Type.Object({ ...member, removedLists: Names, addedLists: Names, currentLists: Names })
