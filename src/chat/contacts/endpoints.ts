import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { unprocessable } from '../../platform/problem.ts'
import { Choice } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { readNumber } from '../phone.ts'
import { bodyReader } from '../read-body.ts'
import { recentSetting } from '../settings/settings.ts'
import { updateContact as changeContact, getContact as findContact } from './contacts.ts'
import { listContacts as findContacts } from './filter.ts'
import { removeContact } from './remove-contact.ts'
import { readNewContact, type SavedContacts, saveContacts } from './save-contacts.ts'
import { ContactChangeSchema, ContactFilterSchema, ContactInPath, ContactSchema, contactTexts } from './schema.ts'
import { shownContact } from './shown.ts'
import * as store from './store.ts'

const readChange = bodyReader(ContactChangeSchema, {
  jsonText: contactTexts.jsonText,
  commaText: [...contactTexts.commaText, 'tagsToAdd', 'tagsToRemove'],
})

export const updateContact = endpoint({
  summary: 'Update contact',
  description:
    'attributes may be sent as an array or as its JSON text; tags, tagsToAdd and tagsToRemove also separated by commas.',
  params: ContactInPath,
  // The fields declared as strings have several forms, so their rules are applied after the form is read.
  body: Type.Object({
    ...ContactChangeSchema.properties,
    tags: Type.Optional(Type.Any()),
    attributes: Type.Optional(Type.Any()),
    list: Type.Optional(Type.Any()),
    tagsToAdd: Type.Optional(Type.Any()),
    tagsToRemove: Type.Optional(Type.Any()),
  }),
  answer: envelope(ContactSchema),
  run: async ({ db, business, params, body, platform }) => {
    const change = readChange(body)
    const now = await nowFor(db, business)
    const contact = await changeContact(db, business, params.id, { ...change, now, source: 'api' })
    return ok('Contact updated', shownContact(business, (await recentSetting(platform, business.id)).id, contact))
  },
})

export const getContact = endpoint({
  summary: 'Get contact by id',
  params: ContactInPath,
  answer: envelope(ContactSchema),
  run: async ({ db, business, params, platform }) => {
    const contact = await findContact(db, business.id, params.id)
    // Spec silent: before the person wrote for the first time, the contact was last active when it was made.
    const lastActive = (await store.lastActive(db, business.id, contact.id)) ?? contact.createdAt
    const { id } = await recentSetting(platform, business.id)
    return ok('Contact fetched', shownContact(business, id, contact, lastActive))
  },
})

export const deleteContact = endpoint({
  summary: 'Delete a contact with its conversation and everything kept about the person',
  params: ContactInPath,
  answer: envelope(ContactSchema),
  run: async ({ db, business, params, platform }) => {
    const change = { now: await nowFor(db, business), source: 'api' as const }
    const contact = await removeContact(db, business, params.id, change)
    return ok('Contact deleted', shownContact(business, (await recentSetting(platform, business.id)).id, contact))
  },
})

const maxContacts = 1_000

export const createContacts = endpoint({
  summary: 'Create contacts: one, or an array of up to 1,000',
  query: Type.Object({ onDuplicate: Type.Optional(Choice(['skip', 'overwrite', 'error'])) }),
  body: Type.Unsafe<unknown>({
    description: 'a contact or an array of contacts',
    examples: [{ mobile: '919876543210', name: 'Asha Rao', tags: ['vip'] }],
    anyOf: [{ type: 'array', minItems: 1, maxItems: maxContacts }, { type: 'object' }],
  }),
  answer: envelope(
    Type.Object({
      createdContacts: Type.Array(ContactSchema),
      updatedContacts: Type.Array(ContactSchema),
      skippedContacts: Type.Array(ContactSchema),
      failedContacts: Type.Array(Type.Object({ index: Type.Integer(), mobile: Type.String(), error: Type.String() })),
    }),
  ),
  run: async ({ db, business, query, body, platform }) => {
    if (!Array.isArray(body)) readNumber('mobile', readNewContact(body).mobile)
    const { id: settingId } = await recentSetting(platform, business.id)
    const saved = await saveContacts(db, business, Array.isArray(body) ? body : [body], {
      now: await nowFor(db, business),
      source: 'api',
      contactSource: 'api',
      onDuplicate: query.onDuplicate ?? 'skip',
    })
    requireOneGood(saved)
    const show = (contact: SavedContacts['createdContacts'][number]) => shownContact(business, settingId, contact)
    return ok('Contacts saved', {
      createdContacts: saved.createdContacts.map(show),
      updatedContacts: saved.updatedContacts.map(show),
      skippedContacts: saved.skippedContacts.map(show),
      failedContacts: saved.failedContacts,
    })
  },
})

function requireOneGood({ failedContacts, ...good }: SavedContacts): void {
  if (Object.values(good).some(contacts => contacts.length > 0)) return
  throw unprocessable(
    'no_contact_saved',
    failedContacts.length === 1 ? failedContacts[0]!.error : 'None of the contacts could be saved.',
    failedContacts.slice(0, 100).map(({ index, error }) => ({ field: `[${index}]`, message: error })),
  )
}

export const listContacts = endpoint({
  summary: 'List contacts',
  description: 'Custom fields are filtered with attributes[0][name]=…&attributes[0][value]=…; all pairs must match.',
  query: ContactFilterSchema,
  answer: envelope(
    Type.Object({
      contacts: Type.Array(ContactSchema),
      total: Type.Integer(),
      page: Type.Integer(),
      limit: Type.Integer(),
    }),
  ),
  run: async ({ db, business, query, platform }) => {
    const { id: settingId } = await recentSetting(platform, business.id)
    const { contacts, ...rest } = await findContacts(db, business.id, query)
    return ok('Contacts fetched', {
      contacts: contacts.map(contact => shownContact(business, settingId, contact)),
      ...rest,
    })
  },
})
