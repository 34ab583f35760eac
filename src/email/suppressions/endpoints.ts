import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { fail, invalidField, notFound } from '../../platform/problem.ts'
import { Choice, PageQuery } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { pagination } from '../lists/endpoints.ts'
import { PaginationSchema } from '../lists/schema.ts'
import { isEmail } from '../subscribers/email-address.ts'
import { inOneSnapshot } from '../subscribers/pages.ts'
import { EmailText, SuppressionEntrySchema } from '../subscribers/schema.ts'
import * as store from './store.ts'
import { liftSuppressions, suppressAddresses } from './suppressions.ts'

const checked = (email: string) =>
  isEmail(email) ? email : fail(invalidField('email', 'must be a valid email address'))

export const list = endpoint({
  summary: 'Addresses that are not mailed, newest first',
  query: Type.Object({
    ...PageQuery,
    type: Type.Optional(Choice(['unsubscribed', 'bounced', 'complaint', 'manual'])),
    search: Type.Optional(Type.String({ maxLength: 254 })),
  }),
  answer: envelope(Type.Object({ suppressions: Type.Array(SuppressionEntrySchema), pagination: PaginationSchema })),
  run: ({ db, business, query }) =>
    inOneSnapshot(db, async tx => {
      const page = pageRequest(query)
      const filter = { type: query.type, search: query.search?.trim() }
      const total = await store.count(tx, business.id, filter)
      const suppressions = page.offset >= total ? [] : await store.list(tx, business.id, { ...filter, ...page })
      return ok('Suppressions', { suppressions, pagination: pagination(page, total) })
    }),
})

export const create = endpoint({
  summary: 'Suppress an address: it is not mailed any more, subscriber or not',
  body: Type.Object({ email: EmailText, reason: Type.Optional(Type.String({ maxLength: 500 })) }),
  answer: envelope(SuppressionEntrySchema),
  run: async ({ db, business, body, created }) => {
    const now = await nowFor(db, business)
    const entry = { email: checked(body.email), type: 'manual' as const, reason: body.reason ?? 'Suppressed by hand' }
    const suppression = await db.begin(async tx => {
      if (!(await store.find(tx, business.id, body.email))) created()
      await suppressAddresses(tx, business.id, [entry], now)
      return (await store.find(tx, business.id, body.email)) ?? fail(notFound('Suppression'))
    })
    return ok('Address suppressed', suppression)
  },
})

export const remove = endpoint({
  summary: 'Lift a suppression',
  body: Type.Object({ email: EmailText }),
  answer: envelope(SuppressionEntrySchema),
  run: async ({ db, business, body }) => {
    const [lifted] = await db.begin(tx => liftSuppressions(tx, business.id, [checked(body.email)]))
    return ok('Suppression lifted', lifted ?? fail(notFound('Suppression')))
  },
})
