import { badRequest, type FieldError } from '../../platform/problem.ts'
import { isStorableTime } from '../../platform/validation.ts'
import { type FieldDefinition, isLocalDate } from '../custom-fields/custom-fields.ts'

/**
 * A segment is a tree: a group matches when all, any or none of its conditions do; a condition compares one field.
 * Nothing of it is ever text in a statement: fields and operators are chosen from the tables below, values are parameters.
 */
export const operators = [
  'equals',
  'not_equals',
  'contains',
  'starts_with',
  'ends_with',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'not_in',
  'is_set',
  'is_not_set',
  'before',
  'after',
  'within_days',
] as const
export type Operator = (typeof operators)[number]

export type Value = string | number | boolean | string[] | number[] | undefined
export interface Condition {
  field: string
  operator: Operator
  value?: Value
}
export interface Group {
  match: 'all' | 'any' | 'none'
  conditions: (Condition | Group)[]
}
export const isGroup = (rule: Condition | Group): rule is Group => 'conditions' in rule

export type FieldType = 'text' | 'number' | 'boolean' | 'date' | 'set'

export const fieldTypes: Record<string, FieldType> = {
  email: 'text',
  firstName: 'text',
  lastName: 'text',
  mobile: 'text',
  country: 'text',
  city: 'text',
  source: 'text',
  status: 'text',
  leadScore: 'number',
  totalSent: 'number',
  totalDelivered: 'number',
  totalOpens: 'number',
  totalUniqueOpens: 'number',
  totalClicks: 'number',
  totalUniqueClick: 'number',
  isSuppressed: 'boolean',
  dateOfBirth: 'date',
  createdAt: 'date',
  updatedAt: 'date',
  lastOpenAt: 'date',
  lastClickAt: 'date',
  tags: 'set',
  lists: 'set',
}
const customTypes: Record<FieldDefinition['type'], FieldType> = {
  text: 'text',
  url: 'text',
  number: 'number',
  boolean: 'boolean',
  date: 'date',
}

const ordered: Operator[] = ['gt', 'gte', 'lt', 'lte']
const presence: Operator[] = ['is_set', 'is_not_set']
const allowed: Record<FieldType, Operator[]> = {
  text: ['equals', 'not_equals', 'contains', 'starts_with', 'ends_with', 'in', 'not_in', ...presence],
  number: ['equals', 'not_equals', 'in', 'not_in', ...ordered, ...presence],
  boolean: ['equals', 'not_equals', ...presence],
  date: ['equals', 'not_equals', 'before', 'after', 'within_days', ...ordered, ...presence],
  set: ['equals', 'not_equals', 'contains', 'in', 'not_in', ...presence],
}

export const maxDepth = 5
export const maxConditions = 100
const maxValues = 1_000

export function typeOfField(field: string, customFields: readonly FieldDefinition[]): FieldType | undefined {
  if (Object.hasOwn(fieldTypes, field)) return fieldTypes[field]
  const key = customKey(field)
  const custom = customFields.find(one => one.key === key)
  return custom && customTypes[custom.type]
}

export const customKey = (field: string) =>
  field.startsWith('customFields.') ? field.slice('customFields.'.length) : undefined

/** Checks a tree that came from outside and answers it without anything that does not belong there. */
export function readRules(given: unknown, customFields: readonly FieldDefinition[]): Group {
  const errors: FieldError[] = []
  let conditions = 0
  const fault = (field: string, message: string) => {
    if (errors.length < 20) errors.push({ field, message })
  }

  const readGroup = (node: Record<string, unknown>, path: string, depth: number): Group => {
    const { match, conditions: children } = node
    if (match !== 'all' && match !== 'any' && match !== 'none') fault(`${path}.match`, 'must be one of all, any, none')
    if (!Array.isArray(children) || children.length === 0) {
      fault(`${path}.conditions`, 'must have at least 1 condition')
      return { match: 'all', conditions: [] }
    }
    if (depth > maxDepth) {
      fault(path, `must not be nested deeper than ${maxDepth}`)
      return { match: 'all', conditions: [] }
    }
    // Counted before the walk, so that an endless list costs nothing.
    if (children.length > maxConditions) {
      conditions = maxConditions + 1
      return { match: 'all', conditions: [] }
    }
    return {
      match: match as Group['match'],
      conditions: children.map((child, i) => readNode(child, `${path}.conditions[${i}]`, depth)),
    }
  }

  const readNode = (node: unknown, path: string, depth: number): Condition | Group => {
    if (typeof node !== 'object' || node === null || Array.isArray(node)) {
      fault(path, 'must be a condition { field, operator, value } or a group { match, conditions }')
      return { match: 'all', conditions: [] }
    }
    if ('conditions' in node || 'match' in node) return readGroup(node as Record<string, unknown>, path, depth + 1)
    conditions++
    return readCondition(node as Record<string, unknown>, path, customFields, fault)
  }

  const isTree = typeof given === 'object' && given !== null && !Array.isArray(given)
  if (!isTree) fault('rules', 'must be a group { match, conditions }')
  const group = isTree ? readGroup(given as Record<string, unknown>, 'rules', 1) : undefined
  if (conditions > maxConditions) fault('rules', `must have at most ${maxConditions} conditions`)
  const [error] = errors
  if (error || !group) throw badRequest('validation_failed', `${error?.field} ${error?.message}.`, errors)
  return group
}

/** Where a date or time of a condition begins; without a zone it is in UTC. */
export const startOf = (text: string) =>
  new Date(text.length === 10 || /(Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`)

type Fault = (field: string, message: string) => void

function readCondition(
  node: Record<string, unknown>,
  path: string,
  customFields: readonly FieldDefinition[],
  fault: Fault,
): Condition {
  const field = typeof node.field === 'string' ? node.field : ''
  const operator = node.operator as Operator
  const type = typeOfField(field, customFields)
  if (!type) {
    const known = [...Object.keys(fieldTypes), ...customFields.map(one => `customFields.${one.key}`)]
    fault(`${path}.field`, `must be one of ${known.join(', ')}`)
  } else if (!allowed[type].includes(operator)) {
    fault(`${path}.operator`, `must be one of ${allowed[type].join(', ')} for ${field}`)
  } else if (!presence.includes(operator)) {
    const expected = wrongValue(type, operator, node.value)
    if (expected) fault(`${path}.value`, `must be ${expected}`)
    return { field, operator, value: node.value as Value }
  }
  return { field, operator }
}

const maxTextLength = 1_000
const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= maxTextLength && value.isWellFormed()
const isNumber = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= 1e15
const isMoment = (value: unknown) =>
  isText(value) &&
  /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/.test(value) &&
  isLocalDate(value.slice(0, 10)) &&
  isStorableTime(startOf(value))
const isArrayOf = (value: unknown, check: (item: unknown) => boolean) =>
  Array.isArray(value) && value.length >= 1 && value.length <= maxValues && value.every(check)

/** What the value should have been, or undefined when it is right. */
function wrongValue(type: FieldType, operator: Operator, value: unknown): string | undefined {
  if (operator === 'within_days')
    return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 36_500
      ? undefined
      : 'a number of days from 0 to 36500'
  const isList = operator === 'in' || operator === 'not_in'
  switch (type) {
    case 'text':
    case 'set':
      if (isList) return isArrayOf(value, isText) ? undefined : `1 to ${maxValues} texts`
      return isText(value) && value !== '' ? undefined : `a text of 1 to ${maxTextLength} characters`
    case 'number':
      if (isList) return isArrayOf(value, isNumber) ? undefined : `1 to ${maxValues} numbers`
      return isNumber(value) ? undefined : 'a number'
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'true or false'
    case 'date':
      return isMoment(value) ? undefined : 'a date such as 2026-01-31 or 2026-01-31T10:00:00Z'
  }
}
