import type { Database, Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { conflict, fail, notFound, unprocessable } from '../../platform/problem.ts'
import * as store from './store.ts'

export const fieldKinds = ['text', 'number', 'boolean', 'date', 'url'] as const

/** What values of a field are checked and compared by. */
export interface FieldDefinition {
  key: string
  type: (typeof fieldKinds)[number]
}

export interface CustomField extends FieldDefinition {
  _id: string
  name: string
  createdAt: Date
  updatedAt: Date
}

/** Spec silent: as many fields as a form that a person fills could have. */
const maxFields = 200

/** `company` and `position` exist from the start; they are written at the first look. */
export async function customFieldsOf(db: Db, businessId: string): Promise<CustomField[]> {
  const fields = await store.all(db, businessId)
  if (fields.length > 0) return fields
  const now = new Date()
  await store.insert(db, businessId, [
    { _id: newId(), name: 'Company', key: 'company', type: 'text', createdAt: now, updatedAt: now },
    { _id: newId(), name: 'Position', key: 'position', type: 'text', createdAt: now, updatedAt: now },
  ])
  return store.all(db, businessId)
}

export async function defineCustomField(
  db: Database,
  businessId: string,
  field: Pick<CustomField, 'name' | 'key' | 'type'>,
  now: Date,
): Promise<CustomField> {
  const known = await customFieldsOf(db, businessId)
  if (known.length >= maxFields)
    throw unprocessable('too_many_custom_fields', `A business has at most ${maxFields} custom fields.`)
  const [made] = await store.insert(db, businessId, [{ _id: newId(), ...field, createdAt: now, updatedAt: now }])
  return (
    made ??
    fail(
      conflict('custom_field_key_taken', `A custom field with the key "${field.key}" exists already.`, [
        { field: 'key', message: 'is already taken' },
      ]),
    )
  )
}

/** Spec silent: the type of a field can't change, because the values that people already have would no longer fit. */
export const renameCustomField = async (
  db: Database,
  businessId: string,
  field: { id: string; name: string },
  now: Date,
) => (await store.rename(db, businessId, field, now)) ?? fail(notFound('Custom field'))

/** Spec silent: `company` and `position` stay. Values of a removed field stay stored but are no longer shown. */
export async function removeCustomField(db: Database, businessId: string, id: string): Promise<CustomField> {
  const field = (await store.find(db, businessId, id)) ?? fail(notFound('Custom field'))
  if (field.key === 'company' || field.key === 'position')
    throw unprocessable(
      'custom_field_required',
      `The field "${field.key}" exists in every business and can't be removed.`,
    )
  return (await store.remove(db, businessId, id)) ?? fail(notFound('Custom field'))
}

/** Values given for fields: the wrong ones are named, nulls remove. */
export function checkCustomFields(values: Record<string, unknown>, known: readonly FieldDefinition[]): void {
  const errors = Object.entries(values).flatMap(([key, value]) => {
    const field = known.find(one => one.key === key)
    if (!field)
      return [
        { field: `customFields.${key}`, message: `is not defined; known are ${known.map(one => one.key).join(', ')}` },
      ]
    const expected = value === null ? undefined : wrongType(field.type, value)
    return expected ? [{ field: `customFields.${key}`, message: `must be ${expected}` }] : []
  })
  const [first] = errors
  if (first) throw unprocessable('custom_field_invalid', `${first.field} ${first.message}.`, errors.slice(0, 20))
}

const maxTextLength = 2_000

function wrongType(type: CustomField['type'], value: unknown): string | undefined {
  const isText = typeof value === 'string' && value.length <= maxTextLength && value.isWellFormed()
  switch (type) {
    case 'text':
      return isText ? undefined : `a text of at most ${maxTextLength} characters`
    case 'number':
      return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? undefined : 'a number'
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'true or false'
    case 'date':
      return isText && isLocalDate(value) ? undefined : 'a date such as 2026-01-31'
    case 'url':
      return isText && /^https?:\/\//i.test(value) && URL.canParse(value)
        ? undefined
        : 'a URL that begins with http:// or https://'
  }
}

/** Whether a stored value is of this type, or of a field with the same key that was removed: only the first is shown. */
export function mayBe(type: CustomField['type'], value: unknown): boolean {
  if (type === 'number' || type === 'boolean') return typeof value === type
  if (typeof value !== 'string') return false
  if (type === 'date') return /^\d{4}-\d{2}-\d{2}$/.test(value)
  return type === 'text' || /^https?:\/\//i.test(value)
}

export function isLocalDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false
  const parsed = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text)
}
