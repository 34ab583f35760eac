import type { TimeKeeper } from '../platform/clock.ts'
import type { Route } from '../platform/endpoint.ts'
import * as accounts from './endpoints.ts'

/** The account API: ours, beside the three services. */
export const accountRoutes = (keepers: () => readonly TimeKeeper[]): Route[] => [
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
]
