import type { Contact } from '../contacts/contacts.ts'

/** `{{name}}`, `{{mobile}}`, `{{attributes.city}}`, each with an optional text for where it is empty: `{{name|friend}}`. */
const field = /\{\{\s*(name|mobile|attributes\.([^{}|]+?))\s*(?:\|([^{}]*))?\}\}/g

/** Puts the contact's own values into the parameters, at every depth. */
export function fillFields<T>(value: T, contact: Pick<Contact, 'name' | 'mobile' | 'attributes'>): T {
  if (typeof value === 'string')
    return value.replaceAll(field, (_, name: string, attribute?: string, fallback = '') => {
      const found =
        attribute === undefined
          ? name === 'name'
            ? contact.name
            : contact.mobile
          : contact.attributes.find(one => one.name === attribute)?.value
      return found || fallback.trim()
    }) as T
  if (Array.isArray(value)) return value.map(item => fillFields(item, contact)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillFields(item, contact)])) as T
}
