import type { MergeData } from './expression.ts'
import type { Person } from './store-work.ts'

/** What a template sees of a person. Fields that are empty are absent. */
export function mergeDataFor(
  person: Omit<Person, 'suppression' | 'status' | 'deleted' | 'deliveryId' | 'subscriberId'>,
): MergeData {
  const data: MergeData = { email: person.email, customFields: withoutEmpty(person.customFields) }
  if (person.firstName) data.firstName = person.firstName
  if (person.lastName) data.lastName = person.lastName
  if (person.mobile) data.mobile = person.mobile
  if (person.country && person.country !== notSpecified) data.country = person.country
  if (person.city && person.city !== notSpecified) data.city = person.city
  if (person.dateOfBirth) data.dateOfBirth = person.dateOfBirth
  if (person.leadScore !== null) data.leadScore = person.leadScore
  return data
}

/** Stored where nothing is known; in a mail it would read as a place. */
const notSpecified = 'Not Specified'

function withoutEmpty(fields: Record<string, unknown> | null): Record<string, unknown> {
  if (!fields) return {}
  for (const key in fields) if (fields[key] === '') delete fields[key]
  return fields
}
