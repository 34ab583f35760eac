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

/** What looks like a value of the contact and is none: it would reach everybody as it is written. */
export const unknownFields = (value: unknown): string[] =>
  textsIn(value).flatMap(text => text.replaceAll(field, '').match(/\{\{[^{}]*\}?\}?/g) ?? [])

/** Attributes that everybody must have, because no text is given for where there is none. */
export const attributesNeeded = (value: unknown): string[] =>
  textsIn(value).flatMap(text =>
    [...text.matchAll(field)].flatMap(([, , attribute, fallback]) =>
      attribute && !fallback?.trim() ? [attribute] : [],
    ),
  )

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
