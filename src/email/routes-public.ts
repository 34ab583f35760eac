import type { Route } from '../platform/endpoint.ts'
import * as subscribe from './public/endpoints.ts'

/** Pages that people see, at the root of the server. */
export const publicPages: readonly Route[] = [
  ['GET', '/subscribe/{business_id}/{list_id}', subscribe.showForm],
  ['POST', '/subscribe/{business_id}/{list_id}', subscribe.takeForm],
  ['GET', '/subscribe/confirm/{token}', subscribe.showConfirm],
  ['POST', '/subscribe/confirm/{token}', subscribe.takeConfirm],
]
