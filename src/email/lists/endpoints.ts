import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { type PageRequest, pageCount, pageRequest } from '../../platform/page.ts'
import { IdInPath } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { countedSegments } from '../segments/segments.ts'
import { inOneSnapshot } from '../subscribers/pages.ts'
import { subscriberKeyOf } from '../subscribers/subscribers.ts'
import * as rules from './lists.ts'
import { addToLists, moveBetweenLists, removeFromLists } from './members.ts'
import { removeList } from './remove-list.ts'
import {
  AddedSchema,
  ListIdsBody,
  ListSchema,
  ListsQuerySchema,
  MoveBody,
  MovedSchema,
  NameSchema,
  PaginationSchema,
  RemovedSchema,
} from './schema.ts'

export const create = endpoint({
  summary: 'Create a subscriber list',
  body: Type.Object({ name: NameSchema }),
  answer: envelope(Type.Object({ list: ListSchema })),
  run: async ({ db, business, body, created }) => {
    const list = await rules.createList(db, business, body.name)
    created()
    return ok('List created', { list })
  },
})

export const list = endpoint({
  summary: 'Subscriber lists, or the one with a name',
  query: ListsQuerySchema,
  answer: envelope(
    Type.Object({
      list: Type.Optional(ListSchema),
      subscriberLists: Type.Optional(Type.Array(ListSchema)),
      pagination: Type.Optional(PaginationSchema),
    }),
  ),
  run: async ({ db, business, query }) => {
    if (query.name !== undefined) return ok('List', { list: await rules.getListNamed(db, business, query.name) })
    const page = pageRequest(query)
    const { total, lists } = await inOneSnapshot(db, tx => rules.pageOfLists(tx, business, page))
    return ok('Lists', { subscriberLists: lists, pagination: pagination(page, total) })
  },
})

export const pagination = (page: PageRequest, total: number) => ({
  currentPage: page.page,
  itemsPerPage: page.limit,
  totalItems: total,
  totalPages: pageCount(total, page.limit),
  hasNextPage: page.page < pageCount(total, page.limit),
  hasPrevPage: page.page > 1,
})

export const get = endpoint({
  summary: 'Get a list',
  params: Type.Object({ id: IdInPath }),
  answer: envelope(Type.Object({ list: ListSchema })),
  run: async ({ db, business, params }) => ok('List', { list: await rules.getList(db, business, params.id) }),
})

export const rename = endpoint({
  summary: 'Rename a list',
  params: Type.Object({ id: IdInPath }),
  body: Type.Object({ name: NameSchema }),
  answer: envelope(Type.Object({ list: ListSchema })),
  run: async ({ db, business, params, body }) =>
    ok('List renamed', { list: await rules.renameList(db, business, params.id, body.name) }),
})

export const remove = endpoint({
  summary: 'Delete a list; nobody is deleted with it',
  params: Type.Object({ id: IdInPath }),
  answer: envelope(Type.Object({ list: ListSchema })),
  run: async ({ platform, db, business, params }) =>
    ok('List deleted', { list: await removeList(platform, db, business, params.id) }),
})

export const addSubscriber = endpoint({
  summary: 'Add a subscriber to lists',
  body: ListIdsBody,
  answer: envelope(AddedSchema),
  run: async ({ db, business, body }) =>
    ok('Subscriber added', await addToLists(db, business, subscriberKeyOf(body), body.listIds)),
})

export const moveSubscriber = endpoint({
  summary: 'Move a subscriber from lists to others, in one step',
  body: MoveBody,
  answer: envelope(MovedSchema),
  run: async ({ db, business, body }) =>
    ok(
      'Subscriber moved',
      await moveBetweenLists(db, business, subscriberKeyOf(body), { from: body.fromListIds, to: body.toListIds }),
    ),
})

export const removeSubscriber = endpoint({
  summary: 'Remove a subscriber from lists',
  body: ListIdsBody,
  answer: envelope(RemovedSchema),
  run: async ({ db, business, body }) =>
    ok('Subscriber removed', await removeFromLists(db, business, subscriberKeyOf(body), body.listIds)),
})

const NameCount = Type.Object({ id: Type.String(), name: Type.String(), count: Type.Integer() })

export const listsAndSegments = endpoint({
  summary: 'All lists and segments with their counts',
  answer: envelope(Type.Object({ lists: Type.Array(NameCount), segments: Type.Array(NameCount) })),
  run: ({ db, business }) =>
    inOneSnapshot(db, async tx =>
      ok('Lists and segments', {
        lists: await rules.allLists(tx, business),
        segments: await countedSegments(tx, business),
      }),
    ),
})
