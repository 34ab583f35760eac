import type { Route } from '../platform/endpoint.ts'
import * as customFields from './custom-fields/endpoints.ts'
import * as lists from './lists/endpoints.ts'
import * as segments from './segments/endpoints.ts'
import * as stats from './stats/endpoints.ts'
import * as subscribers from './subscribers/endpoints.ts'

/** The API of this service, in the order of its specification, then what is ours besides. */
export const emailRoutes: readonly Route[] = [
  ['PUT', '/subscribers/{subscriber}', subscribers.update],
  ['GET', '/subscribers/{subscriber}', subscribers.get],
  ['GET', '/subscribers', subscribers.list],
  ['GET', '/subscribers/stats', stats.get],
  ['POST', '/lists', lists.create],
  ['POST', '/lists/remove-subscriber', lists.removeSubscriber],
  ['POST', '/subscribers', subscribers.save],
  ['DELETE', '/subscribers', subscribers.remove],
  ['GET', '/custom-fields', customFields.list],
  ['GET', '/lists', lists.list],
  ['GET', '/lists/{id}', lists.get],
  ['POST', '/lists/add-subscriber', lists.addSubscriber],
  ['POST', '/lists/move-subscriber', lists.moveSubscriber],
  ['GET', '/lists-and-segments', lists.listsAndSegments],
  // ours besides
  ['PUT', '/lists/{id}', lists.rename],
  ['POST', '/custom-fields', customFields.create],
  ['PUT', '/custom-fields/{id}', customFields.update],
  ['DELETE', '/custom-fields/{id}', customFields.remove],
  ['POST', '/segments', segments.create],
  ['GET', '/segments', segments.list],
  ['GET', '/segments/{id}', segments.get],
  ['PUT', '/segments/{id}', segments.update],
  ['DELETE', '/segments/{id}', segments.remove],
]
