import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { envelope, ok } from '../envelope.ts'
import { createList } from './lists.ts'
import { ListSchema, NewListSchema } from './schema.ts'
import * as store from './store.ts'

export const getContactLists = endpoint({
  summary: 'Get contact lists',
  answer: envelope(Type.Object({ lists: Type.Array(ListSchema), total: Type.Integer() })),
  run: async ({ db, business }) => {
    const lists = await store.lists(db, business.id)
    return ok('Contact lists fetched', { lists, total: lists.length })
  },
})

export const addContactList = endpoint({
  summary: 'Create a contact list',
  body: NewListSchema,
  answer: envelope(ListSchema),
  run: async ({ db, business, body }) =>
    ok('Contact list created', await createList(db, business.id, { name: body.name, now: await nowFor(db, business) })),
})
