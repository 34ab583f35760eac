import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { Timestamp } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { totalsOf } from '../stats/totals.ts'
import { inOneSnapshot } from '../subscribers/pages.ts'
import { TagName } from '../subscribers/schema.ts'
import { removeTag } from './remove-tag.ts'
import * as store from './store.ts'

export const list = endpoint({
  summary: 'Tags in use, with how many subscribers have them',
  answer: envelope(
    Type.Object({
      tags: Type.Array(Type.Object({ name: Type.String(), count: Type.Integer(), createdAt: Timestamp })),
    }),
  ),
  run: ({ db, business }) =>
    inOneSnapshot(db, async tx => {
      const totals = await totalsOf(tx, business.id, 'tag', await nowFor(tx, business))
      const tags = await store.all(tx, business.id)
      return ok('Tags', {
        tags: tags.map(tag => ({
          name: tag.name,
          count: totals.get(tag.number)?.total ?? 0,
          createdAt: tag.createdAt,
        })),
      })
    }),
})

export const remove = endpoint({
  summary: 'Remove a tag from everyone who has it',
  body: Type.Object({ name: TagName }),
  answer: envelope(Type.Object({ name: Type.String(), removedFrom: Type.Integer() })),
  run: async ({ db, business, body }) => ok('Tag removed', await removeTag(db, business, body.name.trim())),
})
