import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { pageCount, pageRequest } from '../../platform/page.ts'
import { invalidField } from '../../platform/problem.ts'
import { envelope, ok } from '../envelope.ts'
import { isEmail } from './email-address.ts'
import { filterOf, findNumbers } from './filter.ts'
import { inOneSnapshot, pageOfIds } from './pages.ts'
import {
  DeletionSchema,
  NewSubscriberSchema,
  SubscriberChangesSchema,
  SubscriberInPath,
  SubscriberPageSchema,
  SubscriberSchema,
  SubscribersQuerySchema,
} from './schema.ts'
import * as rules from './subscribers.ts'
import { readingOf, subscribersByIds } from './view.ts'

export const save = endpoint({
  summary: 'Create a subscriber, or update the one with this email',
  description: 'Answers 201 when it was created, 200 when it existed. Tags and lists given are added to those it has.',
  body: NewSubscriberSchema,
  answer: envelope(SubscriberSchema),
  run: async ({ platform, db, business, body, created }) => {
    const saved = await rules.saveSubscriber(platform, db, business, body)
    if (saved.created) created()
    return ok(saved.created ? 'Subscriber created' : 'Subscriber updated', saved.subscriber)
  },
})

export const get = endpoint({
  summary: 'Get a subscriber by email or id',
  params: SubscriberInPath,
  answer: envelope(SubscriberSchema),
  run: async ({ db, business, params }) =>
    ok('Subscriber', await rules.getSubscriber(db, business, rules.subscriberKey(params.subscriber))),
})

export const update = endpoint({
  summary: 'Update a subscriber by email or id',
  description: 'Every provided field is updated; omitted fields stay unchanged.',
  params: SubscriberInPath,
  body: SubscriberChangesSchema,
  answer: envelope(SubscriberSchema),
  run: async ({ db, business, params, body }) =>
    ok('Subscriber updated', await rules.updateSubscriber(db, business, rules.subscriberKey(params.subscriber), body)),
})

export const list = endpoint({
  summary: 'Subscribers: filtered, searched, newest first',
  query: SubscribersQuerySchema,
  answer: envelope(SubscriberPageSchema),
  run: ({ db, business, query }) =>
    inOneSnapshot(db, async tx => {
      const page = pageRequest(query)
      const [reading, numbers] = await Promise.all([readingOf(tx, business), findNumbers(tx, business.id, query)])
      const { total, ids } = await pageOfIds(tx, reading, filterOf(query, numbers, reading.segments), page)
      const subscribers = await subscribersByIds(tx, reading, ids)
      const totalPages = pageCount(total, page.limit)
      return ok('Subscribers', {
        subscribers,
        suppressionList: subscribers
          .filter(one => one.isSuppressed)
          .map(({ email, suppressionDetail }) => ({ email, ...suppressionDetail })),
        pagination: {
          currentPage: page.page,
          itemsPerPage: page.limit,
          totalItems: total,
          totalPages,
          hasNextPage: page.page < totalPages,
          hasPrevPage: page.page > 1,
        },
      })
    }),
})

export const remove = endpoint({
  summary: 'Delete subscribers',
  description: 'They vanish from every read and count at once and are erased after 30 days.',
  body: DeletionSchema,
  answer: envelope(Type.Object({ deleted: Type.Integer(), notFound: Type.Array(Type.String()) })),
  run: async ({ db, business, body }) => {
    const emails = [body.emails ?? [], body.email ?? []].flat()
    const ids = [body.subscriberIds ?? [], body.subscriberId ?? []].flat()
    if (emails.length + ids.length === 0) throw invalidField('emails', 'or subscriberIds must be given')
    if (emails.length + ids.length > 1_000)
      throw invalidField('emails', 'and subscriberIds must have at most 1000 items')
    const wrong = emails.findIndex(email => !isEmail(email))
    if (wrong >= 0)
      throw invalidField(
        wrong < (body.emails?.length ?? 0) ? `emails[${wrong}]` : 'email',
        'must be a valid email address',
      )
    const reading = { businessId: business.id, now: await nowFor(db, business) }
    return ok('Subscribers deleted', await rules.deleteSubscribers(db, reading, { ids, emails }))
  },
})
