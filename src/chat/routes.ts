import type { Route } from '../platform/endpoint.ts'
import * as broadcasts from './broadcasts/endpoints.ts'
import * as sandbox from './channel/sandbox-endpoints.ts'
import * as webhook from './channel/webhook-endpoints.ts'
import * as contacts from './contacts/endpoints.ts'
import * as imports from './contacts/import-endpoints.ts'
import * as conversations from './conversations/endpoints.ts'
import * as lists from './lists/endpoints.ts'
import * as media from './media/endpoints.ts'
import * as messages from './messages/endpoints.ts'
import * as settings from './settings/endpoints.ts'
import * as templates from './templates/endpoints.ts'

/** The API of this service, in the order of its specification, then what is ours besides. */
export const chatRoutes: readonly Route[] = [
  ['PUT', '/contacts/{id}', contacts.updateContact],
  ['GET', '/contacts/{id}', contacts.getContact],
  ['GET', '/contacts/lists', lists.getContactLists],
  ['POST', '/messages', messages.sendMessage],
  ['POST', '/contacts', contacts.createContacts],
  ['GET', '/contacts/', contacts.listContacts],

  ['DELETE', '/contacts/{id}', contacts.deleteContact],
  ['POST', '/contacts/import', imports.importCsv],
  ['POST', '/contacts/lists', lists.addContactList],
  ['GET', '/messages/{id}', messages.getMessage],
  ['POST', '/media', media.uploadMedia],
  ['GET', '/media/{id}', media.getMedia],
  ['GET', '/media/{id}/content', media.downloadMedia],
  ['DELETE', '/media/{id}', media.deleteMedia],
  ['GET', '/conversations', conversations.listConversations],
  ['GET', '/conversations/{chatId}/messages', conversations.listMessages],
  ['POST', '/conversations/{chatId}/messages', conversations.reply],
  ['POST', '/conversations/{chatId}/read', conversations.markRead],
  ['GET', '/templates', templates.listTemplates],
  ['POST', '/templates', templates.addTemplate],
  ['POST', '/templates/sync', templates.syncTemplates],
  ['GET', '/templates/{idOrName}', templates.getTemplate],
  ['POST', '/broadcasts', broadcasts.createBroadcast],
  ['GET', '/broadcasts', broadcasts.listBroadcasts],
  ['GET', '/broadcasts/{id}', broadcasts.getBroadcast],
  ['POST', '/broadcasts/{id}/pause', broadcasts.pauseBroadcast],
  ['POST', '/broadcasts/{id}/resume', broadcasts.resumeBroadcast],
  ['POST', '/broadcasts/{id}/cancel', broadcasts.cancelBroadcast],
  ['GET', '/settings/tags', settings.listTags],
  ['POST', '/settings/tags', settings.addTag],
  ['DELETE', '/settings/tags', settings.removeTag],
  ['GET', '/settings/attributes', settings.listAttributes],
  ['POST', '/settings/attributes', settings.addAttribute],
  ['DELETE', '/settings/attributes', settings.removeAttribute],
  ['POST', '/sandbox/messages', sandbox.writeAsPerson],
  ['GET', '/settings/channel', settings.getChannel],
  ['PUT', '/settings/channel', settings.putChannel],
]

/** Proven by token and signature instead of a key. */
export const chatOpenRoutes: readonly Route[] = [
  ['GET', '/webhook/{settingId}', webhook.handshake],
  ['POST', '/webhook/{settingId}', webhook.receive],
]
