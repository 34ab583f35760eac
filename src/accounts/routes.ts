import type { TimeKeeper } from '../platform/clock.ts'
import type { Route } from '../platform/endpoint.ts'
import type { Reactions } from '../platform/events.ts'
import * as accounts from './endpoints.ts'
import type { Catalogue } from './events/catalogue.ts'
import * as events from './events/endpoints.ts'
import * as webhooks from './webhooks/endpoints.ts'

/** What the account service must know of all services: what they do in time, what they tell, and what they do when told. */
export interface AllServices {
  keepers(): readonly TimeKeeper[]
  catalogue: Catalogue
  reactions(): Reactions
}

/** The account API: ours, beside the three services. */
export const accountRoutes = ({ keepers, catalogue }: AllServices): Route[] => [
  ['GET', '/user', accounts.getUser],
  ['PUT', '/user', accounts.updateUser],
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
  ['GET', '/webhooks', webhooks.list],
  ['POST', '/webhooks', webhooks.create(catalogue)],
  ['GET', '/webhooks/{id}', webhooks.get],
  ['PUT', '/webhooks/{id}', webhooks.update(catalogue)],
  ['DELETE', '/webhooks/{id}', webhooks.remove],
  ['POST', '/webhooks/{id}/rotate-secret', webhooks.rotateSecret],
  ['POST', '/webhooks/{id}/enable', webhooks.enable],
  ['POST', '/webhooks/{id}/disable', webhooks.disable],
  ['POST', '/webhooks/{id}/test', webhooks.test(catalogue)],
  ['GET', '/webhooks/{id}/deliveries', webhooks.deliveries],
  ['POST', '/webhooks/{id}/replay', webhooks.replayEvents],
  ['GET', '/events', events.listEvents(catalogue)],
  ['GET', '/events/stream', events.streamEvents(catalogue)],
  ['GET', '/events/types', events.listEventTypes(catalogue)],
]
