import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import fastJson from 'fast-json-stringify'
import { type TSchema, Type } from 'typebox'
import { badRequest, type FieldError, invalidField, type Problem } from './problem.ts'

// verbose: an error brings its schema along, whose patternMessage says a pattern in words.
const options = {
  allErrors: true,
  removeAdditional: false,
  useDefaults: true,
  strict: false,
  messages: true,
  verbose: true,
} as const
const bodyAjv = new Ajv({ ...options, coerceTypes: false })
const queryAjv = new Ajv({ ...options, coerceTypes: 'array' })
for (const ajv of [bodyAjv, queryAjv]) {
  ;(addFormats as unknown as (ajv: Ajv) => void)(ajv)
  const { validate } = ajv.formats['date-time'] as { validate: (text: string) => boolean }
  ajv.addFormat('date-time', text => validate(text) && isStorableTime(new Date(text)))
}

/** Neither what no Date can hold (a leap second, an offset of hours alone) nor a year that PostgreSQL reads differently. */
export function isStorableTime(time: Date): boolean {
  const year = time.getUTCFullYear()
  return year >= 1 && year <= 9999
}

/**
 * Bodies keep their JSON types (and may be missing where their schema is optional); only what comes as text (query,
 * path) is read as the type the schema names.
 * Compiled at the first request of a route: most copies never see most routes, and idle memory stays low.
 */
export function compileValidator(schema: object, part: string | undefined) {
  const mayBeMissing = part === 'body' && Type.IsOptional(schema as TSchema)
  let validate: ValidateFunction | undefined
  return (data: unknown) => {
    if (mayBeMissing && (data === undefined || data === null)) return { value: data }
    if (part === 'querystring') {
      const problem = readQuery(schema, data as Record<string, unknown>)
      if (problem) return { error: problem }
    }
    validate ??= (part === 'body' ? bodyAjv : queryAjv).compile(schema)
    if (validate(data)) return { value: data }
    return { error: validationProblem(validate.errors ?? [], part ?? 'body') }
  }
}

/**
 * What a query means before its types are read: `tags[]=a&tags[]=b` and `tags[0]=a` are arrays as many clients write
 * them, and integers are digits (coercion alone would also read 1e3, 0x10 and spaces).
 */
function readQuery(schema: object, query: Record<string, unknown>): Problem | undefined {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> }
  for (const [name, value] of Object.entries(query)) {
    const base = /^(\w+)\[\d*\]$/.exec(name)?.[1]
    if (base !== undefined && Object.hasOwn(properties, base))
      query[base] = [Object.hasOwn(query, base) ? query[base] : [], value].flat()
  }
  for (const [name, property] of Object.entries(properties))
    if (property.type === 'integer' && [query[name] ?? []].flat().some(text => !/^-?\d+$/.test(String(text))))
      return invalidField(name, 'must be an integer')
  return undefined
}

/** Writes answers by their schema; compiled at the first answer, for the same reason. */
export function compileSerializer(schema: object): (data: unknown) => string {
  let serialize: ((data: unknown) => string) | undefined
  return data => {
    serialize ??= fastJson(schema as never)
    return serialize(data)
  }
}

const maxErrors = 20

export function validationProblem(errors: readonly ErrorObject[], part: string): Problem {
  const fields: FieldError[] = []
  for (const error of errors) {
    // A union fails on each of its branches; the branch errors alone say what is expected.
    if (error.keyword === 'anyOf' && errors.length > 1) continue
    // Whoever wrote a value into a field that may be null meant the value.
    if (
      isNullBranch(error) &&
      errors.some(
        other => other.instancePath === error.instancePath && !isNullBranch(other) && other.keyword !== 'anyOf',
      )
    )
      continue
    // An empty text breaks every pattern too; that it is empty says enough.
    if (
      error.keyword === 'pattern' &&
      errors.some(other => other.keyword === 'minLength' && other.instancePath === error.instancePath)
    )
      continue
    const field = fieldName(error) || part
    const message = sentence(error)
    if (!fields.some(known => known.field === field && known.message === message)) fields.push({ field, message })
    if (fields.length === maxErrors) break
  }
  const summary = fields.slice(0, 3).map(({ field, message }) => `${field} ${message}`)
  return badRequest('validation_failed', `${summary.join('; ')}.`, fields)
}

const isNullBranch = (error: ErrorObject) => error.keyword === 'type' && error.params.type === 'null'

/** /emails/2 becomes emails[2] */
function fieldName(error: ErrorObject): string {
  const missing = error.keyword === 'required' ? `/${error.params.missingProperty}` : ''
  const parts = (error.instancePath + missing)
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  return parts.reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : name ? `${name}.${part}` : part), '')
}

function sentence(error: ErrorObject): string {
  const limit = error.params?.limit
  const plural = (unit: string) => `${limit} ${unit}${limit === 1 ? '' : 's'}`
  switch (error.keyword) {
    case 'required':
      return 'is required'
    case 'type':
      return `must be ${[error.params.type].flat().map(withArticle).join(' or ')}`
    case 'enum':
      return `must be one of ${[...new Set(error.params.allowedValues.map(String))].join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(error.params.allowedValue)}`
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${plural('character')}`
    case 'maxLength':
      return `must have at most ${plural('character')}`
    case 'minItems':
      return `must have at least ${plural('item')}`
    case 'maxItems':
      return `must have at most ${plural('item')}`
    case 'minimum':
      return `must be at least ${limit}`
    case 'maximum':
      return `must be at most ${limit}`
    case 'exclusiveMinimum':
      return `must be greater than ${limit}`
    case 'format':
      return formats[error.params.format as string] ?? `must be a valid ${error.params.format}`
    case 'pattern':
      return (error.parentSchema?.patternMessage as string | undefined) ?? 'has the wrong form'
    default:
      return error.message ?? 'is not valid'
  }
}

const formats: Record<string, string> = {
  email: 'must be a valid email address',
  date: 'must be a date such as 2026-01-31',
  'date-time': 'must be a time such as 2026-01-31T10:00:00Z',
}

const withArticle = (type: string) => (type === 'null' ? 'null' : /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)

/** Deeper than anything an API here asks for, and shallow enough for every recursive walk over a body. */
const maxDepth = 100

/**
 * What the database can't hold is refused at the door instead of failing a statement: null characters, and halves of
 * characters (lone surrogates), which text would silently change and JSON columns refuse.
 */
export function findUnstorable(value: unknown, path = '', depth = 0): FieldError | undefined {
  if (typeof value === 'string') return unstorableText(value, path)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === maxDepth)
    return { field: path.split(/[.[]/)[0] || 'body', message: `must not be nested deeper than ${maxDepth} levels` }
  for (const [name, item] of Object.entries(value)) {
    const found =
      unstorableText(name, path) ??
      findUnstorable(item, Array.isArray(value) ? `${path}[${name}]` : path ? `${path}.${name}` : name, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

function unstorableText(text: string, path: string): FieldError | undefined {
  if (text.includes('\u0000')) return { field: path || 'body', message: 'must not contain null characters' }
  if (!text.isWellFormed()) return { field: path || 'body', message: 'must be valid Unicode text' }
  return undefined
}
