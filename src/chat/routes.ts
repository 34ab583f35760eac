import type { Route } from '../platform/endpoint.ts'
import * as contacts from './contacts/endpoints.ts'
import * as lists from './lists/endpoints.ts'
import * as settings from './settings/endpoints.ts'

/** The API of this service, in the order of its specification, then what is ours besides. */
export const chatRoutes: readonly Route[] = [
  ['PUT', '/contacts/{id}', contacts.updateContact],
  ['GET', '/contacts/{id}', contacts.getContact],
  ['GET', '/contacts/lists', lists.getContactLists],
  ['POST', '/contacts', contacts.createContacts],
  ['GET', '/contacts/', contacts.listContacts],

  ['POST', '/contacts/lists', lists.addContactList],
  ['GET', '/settings/tags', settings.listTags],
  ['POST', '/settings/tags', settings.addTag],
  ['DELETE', '/settings/tags', settings.removeTag],
  ['GET', '/settings/attributes', settings.listAttributes],
  ['POST', '/settings/attributes', settings.addAttribute],
  ['DELETE', '/settings/attributes', settings.removeAttribute],
  ['GET', '/settings/channel', settings.getChannel],
  ['PUT', '/settings/channel', settings.putChannel],
]
