import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { envelope, ok } from '../envelope.ts'
import { LeadScoreConfigSchema } from '../lead-score/schema.ts'
import { inOneSnapshot } from '../subscribers/pages.ts'
import { subscriberStats } from './stats.ts'

export const get = endpoint({
  summary: 'Subscriber statistics, exact at this moment',
  query: Type.Object({
    list: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'id or name: statistics of this list' }),
    ),
  }),
  answer: envelope(
    Type.Object({
      totalSubscribersInBusiness: Type.Integer(),
      totalSubscribersAcrossAllLists: Type.Integer(),
      listWiseCounts: Type.Array(
        Type.Object({
          _id: Type.String(),
          listName: Type.String(),
          count: Type.Integer(),
          totalSubscribers: Type.Integer(),
          unsubscribedCount: Type.Integer(),
          engagedCount: Type.Integer(),
        }),
      ),
      leadScoreAnalytics: Type.Object({
        averageLeadScore: Type.Number(),
        hotLeads: Type.Integer(),
        coldLeads: Type.Integer(),
      }),
      leadScoreConfig: LeadScoreConfigSchema,
      statusAnalytics: Type.Object({
        subscribed: Type.Integer(),
        unsubscribed: Type.Integer(),
        bounced: Type.Integer(),
        spam: Type.Integer(),
      }),
      engagedSubscribers: Type.Integer(),
      isListSpecific: Type.Boolean(),
      selectedListName: Type.String(),
    }),
  ),
  run: ({ db, business, query }) =>
    inOneSnapshot(db, async tx => ok('Subscriber statistics', await subscriberStats(tx, business, query.list))),
})
