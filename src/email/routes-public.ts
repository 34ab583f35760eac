import type { Route } from '../platform/endpoint.ts'
import * as outbox from './outbox/endpoints.ts'
import * as subscribe from './public/endpoints.ts'
import * as view from './public/view.ts'
import * as tracking from './tracking/endpoints.ts'

/** Pages that people see, at the root of the server. */
export const publicPages: readonly Route[] = [
  ['GET', '/subscribe/{business_id}/{list_id}', subscribe.showForm],
  ['POST', '/subscribe/{business_id}/{list_id}', subscribe.takeForm],
  ['GET', '/subscribe/confirm/{token}', subscribe.showConfirm],
  ['POST', '/subscribe/confirm/{token}', subscribe.takeConfirm],
  ['GET', '/e/o/{token}', tracking.open],
  ['GET', '/e/c/{token}/{link}', tracking.click],
  ['GET', '/e/u/{token}', tracking.showUnsubscribe],
  ['POST', '/e/u/{token}', tracking.takeUnsubscribe],
  ['GET', '/e/p/{token}', tracking.showPreferences],
  ['POST', '/e/p/{token}', tracking.takePreferences],
  ['GET', '/e/v/{token}', view.showMessage],
  ['GET', '/outbox/{token}', outbox.showOutbox],
  ['GET', '/outbox/{token}/{delivery_id}', outbox.showMessage],
  ['GET', '/outbox/{token}/{delivery_id}/html', outbox.showHtml],
]
