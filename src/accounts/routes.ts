import type { TimeKeeper } from '../platform/clock.ts'
import type { Route } from '../platform/endpoint.ts'
import * as accounts from './endpoints.ts'
import type { Catalogue } from './events/catalogue.ts'
import * as events from './events/endpoints.ts'

/** What the account API must know of all services: what they do in time, and what they tell. */
export interface AllServices {
  keepers(): readonly TimeKeeper[]
  catalogue: Catalogue
}

/** The account API: ours, beside the three services. */
export const accountRoutes = ({ keepers, catalogue }: AllServices): Route[] => [
  ['GET', '/business', accounts.getBusiness],
  ['PUT', '/business', accounts.updateBusiness],
  ['GET', '/businesses', accounts.listBusinesses],
  ['POST', '/businesses', accounts.addBusiness],
  ['GET', '/keys', accounts.listKeys],
  ['POST', '/keys', accounts.addKey],
  ['DELETE', '/keys/{id}', accounts.removeKey],
  ['GET', '/clock', accounts.getClock],
  ['PUT', '/clock', accounts.putClock],
  ['POST', '/clock/advance', accounts.advance(keepers)],
  ['GET', '/events', events.listEvents(catalogue)],
  ['GET', '/events/stream', events.streamEvents(catalogue)],
  ['GET', '/events/types', events.listEventTypes(catalogue)],
]
