import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { contextOf } from '../context.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { mrrOf, showMovement } from './mrr.ts'
import { MovementSchema, MovementsQuery, MrrQuery, MrrSchema } from './schema.ts'
import { pageOfMovements } from './store.ts'

export const get = endpoint({
  summary: 'Monthly recurring revenue and how it moved, by currency; without days, in the month so far',
  query: MrrQuery,
  answer: envelope(Type.Array(MrrSchema)),
  run: async call => ok('Monthly recurring revenue', await mrrOf(await contextOf(call), call.query)),
})

export const movements = endpoint({
  summary: 'Single movements of monthly recurring revenue, newest first',
  query: MovementsQuery,
  answer: pageEnvelope(MovementSchema),
  run: async ({ db, business, query }) => {
    const page = pageRequest(query)
    const filter = { subscriptionId: query.subscription_id, type: query.type }
    const { rows, total } = await pageOfMovements(db, business.id, filter, page)
    return okPage('Movements', rows.map(showMovement), page, total)
  },
})
