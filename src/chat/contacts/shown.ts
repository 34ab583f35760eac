import type { Business } from '../../platform/business.ts'
import type { Contact } from './contacts.ts'

/** A contact as the API and the events show it. */
export const shownContact = (
  business: Pick<Business, 'userId'>,
  settingId: string,
  contact: Contact,
  lastActive?: Date,
) => ({
  _id: contact.id,
  name: contact.name,
  settingId,
  userId: business.userId,
  countryCode: contact.countryCode,
  mobile: contact.mobile,
  status: contact.status,
  source: contact.source,
  optin: contact.optin,
  attributes: contact.attributes.map(({ name, value, _id }) => ({ name, value, _id })),
  incomingBlocked: contact.incomingBlocked,
  broadcastIds: contact.broadcastIds,
  list: contact.list,
  tags: contact.tags,
  __v: contact.revision,
  createdAt: contact.createdAt,
  updatedAt: contact.updatedAt,
  ...(lastActive && { lastActive }),
})
