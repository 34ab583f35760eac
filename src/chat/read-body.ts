import type { Static, TSchema } from 'typebox'
import { compileValidator } from '../platform/validation.ts'
import { storable } from './storable.ts'

interface TextFields {
  /** also accepted as the JSON text of their value */
  jsonText?: readonly string[]
  /** also accepted as names with commas between */
  commaText?: readonly string[]
  /** objects whose own fields are spelled like this too */
  inside?: Readonly<Record<string, TextFields>>
}

/**
 * Reads a body whose shape depends on more than the route. The specification declares some fields as strings that
 * hold lists and objects; they are accepted as the value itself, as its JSON text, or (tags) separated by commas.
 */
export function bodyReader<T extends TSchema>(schema: T, fields: TextFields = {}): (body: unknown) => Static<T> {
  const validate = compileValidator(schema, 'body')
  return body => {
    const { error, value } = validate(isRecord(body) ? withoutTexts(storable(body), fields) : body) as {
      error?: Error
      value?: unknown
    }
    if (error) throw error
    return value as Static<T>
  }
}

function withoutTexts(body: Record<string, unknown>, fields: TextFields): Record<string, unknown> {
  const { jsonText = [], commaText = [], inside = {} } = fields
  const record = { ...body }
  for (const field of jsonText) if (field in record) record[field] = fromJsonText(record[field])
  if (jsonText.includes('attributes') && isPair(record.attributes)) record.attributes = [record.attributes]
  for (const field of commaText) if (field in record) record[field] = fromCommaText(fromJsonText(record[field]))
  for (const [field, own] of Object.entries(inside)) {
    const value = record[field]
    if (isRecord(value)) record[field] = withoutTexts(value, own)
  }
  return record
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** One custom field needs no array around it. */
const isPair = (value: unknown) => typeof value === 'object' && value !== null && 'name' in value && 'value' in value

function fromJsonText(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value)) return value
  try {
    return storable(JSON.parse(value))
  } catch {
    return value
  }
}

/** Names in a query, in any of the forms a body may give them in. */
export function readNames(text: string): string[] {
  const names = fromCommaText(fromJsonText(text))
  return Array.isArray(names) ? names.map(String) : [text]
}

function fromCommaText(value: unknown): unknown {
  if (typeof value !== 'string') return value
  return value
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
}
