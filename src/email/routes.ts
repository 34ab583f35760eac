import type { Route } from '../platform/endpoint.ts'
import * as bounces from './bounces/endpoints.ts'
import * as campaigns from './campaigns/endpoints.ts'
import * as customFields from './custom-fields/endpoints.ts'
import * as delivery from './delivery/endpoints.ts'
import * as deliveryServers from './delivery-servers/endpoints.ts'
import * as imports from './import/endpoints.ts'
import * as leadScore from './lead-score/endpoints.ts'
import * as lists from './lists/endpoints.ts'
import * as outbox from './outbox/endpoints.ts'
import * as segments from './segments/endpoints.ts'
import * as stats from './stats/endpoints.ts'
import * as subscribers from './subscribers/endpoints.ts'
import * as suppressions from './suppressions/endpoints.ts'
import * as tags from './tags/endpoints.ts'
import * as templates from './templates/endpoints.ts'

/** The API of this service, in the order of its specification, then what is ours besides. */
export const emailRoutes: readonly Route[] = [
  ['PUT', '/subscribers/{subscriber}', subscribers.update],
  ['GET', '/subscribers/{subscriber}', subscribers.get],
  ['GET', '/subscribers', subscribers.list],
  ['GET', '/subscribers/stats', stats.get],
  ['GET', '/campaigns', campaigns.list],
  ['POST', '/campaigns/send-to-individual', campaigns.sendToIndividual],
  ['POST', '/lists', lists.create],
  ['POST', '/lists/remove-subscriber', lists.removeSubscriber],
  ['POST', '/subscribers', subscribers.save],
  ['DELETE', '/subscribers', subscribers.remove],
  ['GET', '/custom-fields', customFields.list],
  ['POST', '/campaigns', campaigns.create],
  ['GET', '/campaigns/{id}', campaigns.get],
  ['POST', '/campaigns/send-to-list', campaigns.sendToList],
  ['GET', '/lists', lists.list],
  ['GET', '/lists/{id}', lists.get],
  ['POST', '/lists/add-subscriber', lists.addSubscriber],
  ['POST', '/lists/move-subscriber', lists.moveSubscriber],
  ['GET', '/lists-and-segments', lists.listsAndSegments],
  // ours besides
  ['POST', '/subscribers/import', imports.start],
  ['GET', '/subscribers/imports', imports.list],
  ['GET', '/subscribers/imports/{id}', imports.get],
  ['GET', '/subscribers/imports/{id}/refusals', imports.refusals],
  ['POST', '/subscribers/imports/{id}/cancel', imports.cancel],
  ['GET', '/subscribers/export', imports.exportAll],
  ['PUT', '/lists/{id}', lists.rename],
  ['DELETE', '/lists/{id}', lists.remove],
  ['PUT', '/campaigns/{id}', campaigns.update],
  ['DELETE', '/campaigns/{id}', campaigns.remove],
  ['GET', '/campaigns/{id}/report', delivery.report],
  ['POST', '/campaigns/{id}/pause', delivery.pause],
  ['POST', '/campaigns/{id}/resume', delivery.resume],
  ['POST', '/campaigns/{id}/cancel', delivery.cancel],
  ['POST', '/campaigns/{id}/resend', delivery.resend],
  ['GET', '/deliveries', delivery.list],
  ['GET', '/deliveries/{id}', delivery.get],
  ['GET', '/outbox', outbox.list],
  ['POST', '/custom-fields', customFields.create],
  ['PUT', '/custom-fields/{id}', customFields.update],
  ['DELETE', '/custom-fields/{id}', customFields.remove],
  ['GET', '/tags', tags.list],
  ['DELETE', '/tags', tags.remove],
  ['POST', '/segments', segments.create],
  ['GET', '/segments', segments.list],
  ['GET', '/segments/{id}', segments.get],
  ['PUT', '/segments/{id}', segments.update],
  ['DELETE', '/segments/{id}', segments.remove],
  ['POST', '/templates', templates.create],
  ['GET', '/templates', templates.list],
  ['GET', '/templates/{id}', templates.get],
  ['PUT', '/templates/{id}', templates.update],
  ['DELETE', '/templates/{id}', templates.remove],
  ['POST', '/delivery-servers', deliveryServers.create],
  ['GET', '/delivery-servers', deliveryServers.list],
  ['GET', '/delivery-servers/{id}', deliveryServers.get],
  ['PUT', '/delivery-servers/{id}', deliveryServers.update],
  ['DELETE', '/delivery-servers/{id}', deliveryServers.remove],
  ['POST', '/delivery-servers/{id}/test', deliveryServers.test],
  ['PUT', '/delivery-servers/{id}/webhook', bounces.setWebhook],
  ['DELETE', '/delivery-servers/{id}/webhook', bounces.removeWebhook],
  ['PUT', '/delivery-servers/{id}/dkim', bounces.setDkim],
  ['DELETE', '/delivery-servers/{id}/dkim', bounces.removeDkim],
  ['GET', '/suppressions', suppressions.list],
  ['POST', '/suppressions', suppressions.create],
  ['DELETE', '/suppressions', suppressions.remove],
  ['GET', '/lead-score', leadScore.get],
  ['PUT', '/lead-score', leadScore.update],
]

/** Called by providers, who prove themselves by their signatures. */
export const emailOpenRoutes: readonly Route[] = [['POST', '/webhooks/{business_id}/{server_id}', bounces.takeWebhook]]
