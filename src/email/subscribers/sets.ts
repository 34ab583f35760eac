import { type Condition, type Group, isGroup } from '../segments/rules.ts'
import type { Filter } from './filter.ts'
import { maxScore, statuses } from './schema.ts'

/** A filter or rule over what the kept sets know: status, lists, tags and score. */
export type SetRule =
  | boolean
  | { in: 'status'; values: string[] }
  | { in: 'lists' | 'tags'; values: number[] | 'some' }
  | { from: number; to: number }
  | { all: SetRule[] }
  | { any: SetRule[] }
  | { not: SetRule }

/**
 * What sets can tell of a rule: everyone who matches is in `upper`, and everyone in `lower` matches. Where a rule asks only for
 * what the sets know, both are the same and the sets answer alone.
 */
export interface Bounds {
  upper: SetRule
  lower: SetRule
  exact: boolean
}

const exactly = (rule: SetRule): Bounds => ({ upper: rule, lower: rule, exact: true })
const unknown: Bounds = { upper: true, lower: false, exact: false }

export interface RuleNumbers {
  tags: ReadonlyMap<string, number>
  /** in lower case, as the database lowers them */
  listNames: ReadonlyMap<string, number>
  listIds: ReadonlyMap<string, number>
}

export function boundsOf(filter: Filter, numbers: RuleNumbers): Bounds {
  const { status, listNumbers, tagNumbers, scoreMin, scoreMax, segments } = filter
  const plain: SetRule[] = []
  if (status) plain.push({ in: 'status', values: [status] })
  if (listNumbers) plain.push({ in: 'lists', values: listNumbers })
  if (tagNumbers) plain.push({ in: 'tags', values: tagNumbers })
  if (scoreMin !== undefined || scoreMax !== undefined) plain.push(scores(scoreMin ?? -maxScore, scoreMax ?? maxScore))
  const parts = plain.map(exactly)
  if (segments)
    parts.push(
      joined(
        'any',
        segments.map(segment => ruleBounds(segment.rules, numbers)),
      ),
    )
  return joined('all', parts)
}

export function ruleBounds(rule: Condition | Group, numbers: RuleNumbers): Bounds {
  if (!isGroup(rule)) return conditionBounds(rule, numbers)
  const parts = rule.conditions.map(part => ruleBounds(part, numbers))
  if (rule.match !== 'none') return joined(rule.match, parts)
  return opposite(joined('any', parts))
}

const opposite = ({ upper, lower, exact }: Bounds): Bounds => ({ upper: not(lower), lower: not(upper), exact })

function joined(how: 'all' | 'any', parts: readonly Bounds[]): Bounds {
  const join = how === 'all' ? all : any
  return {
    upper: join(parts.map(part => part.upper)),
    lower: join(parts.map(part => part.lower)),
    exact: parts.every(part => part.exact),
  }
}

function all(parts: readonly SetRule[]): SetRule {
  const telling = parts.filter(part => part !== true)
  if (telling.includes(false)) return false
  return telling.length === 0 ? true : telling.length === 1 ? telling[0]! : { all: telling }
}

const any = (parts: readonly SetRule[]): SetRule => not(all(parts.map(not)))

function not(rule: SetRule): SetRule {
  if (typeof rule === 'boolean') return !rule
  if ('not' in rule) return rule.not
  return 'all' in rule && rule.all.every(part => typeof part === 'object' && 'not' in part)
    ? { any: rule.all.map(part => (part as { not: SetRule }).not) }
    : 'any' in rule
      ? { all: rule.any.map(not) }
      : { not: rule }
}

const scores = (from: number, to: number): SetRule =>
  from > to || from > maxScore || to < -maxScore
    ? false
    : from <= -maxScore && to >= maxScore
      ? true
      : { from: Math.max(from, -maxScore), to: Math.min(to, maxScore) }

function conditionBounds(rule: Condition, numbers: RuleNumbers): Bounds {
  if (rule.field === 'tags' || rule.field === 'lists') return membership(rule, rule.field, numbers)
  if (rule.field === 'status') return statusRule(rule)
  if (rule.field === 'leadScore') return scoreRule(rule)
  return unknown
}

function membership(rule: Condition, field: 'tags' | 'lists', numbers: RuleNumbers): Bounds {
  if (rule.operator === 'is_set') return exactly({ in: field, values: 'some' })
  if (rule.operator === 'is_not_set') return exactly({ not: { in: field, values: 'some' } })
  const names = [rule.value].flat().map(String)
  // The database lowers names; what lies outside ASCII it may lower in another way.
  if (field === 'lists' && !names.every(isAscii)) return unknown
  const found = names.flatMap(name =>
    field === 'tags'
      ? (numbers.tags.get(name) ?? [])
      : [numbers.listNames.get(name.toLowerCase()) ?? [], numbers.listIds.get(name) ?? []].flat(),
  )
  const member: SetRule = found.length > 0 ? { in: field, values: [...new Set(found)] } : false
  return exactly(rule.operator === 'not_equals' || rule.operator === 'not_in' ? not(member) : member)
}

const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text)

function statusRule({ operator, value }: Condition): Bounds {
  const texts = [value ?? []].flat().map(String)
  if (!texts.every(isAscii)) return unknown
  const wanted = texts.map(text => text.toLowerCase())
  const text = wanted[0] ?? ''
  const tests: Partial<Record<Condition['operator'], (status: string) => boolean>> = {
    equals: status => status === text,
    not_equals: status => status !== text,
    in: status => wanted.includes(status),
    not_in: status => !wanted.includes(status),
    contains: status => status.includes(text),
    starts_with: status => status.startsWith(text),
    ends_with: status => status.endsWith(text),
    is_set: () => true,
    is_not_set: () => false,
  }
  const test = tests[operator]
  if (!test) return unknown
  const values = statuses.filter(test)
  return exactly(values.length === 0 ? false : values.length === statuses.length ? true : { in: 'status', values })
}

function scoreRule({ operator, value }: Condition): Bounds {
  const number = Number(value)
  const is = (one: number) => (Number.isInteger(one) ? scores(one, one) : false)
  switch (operator) {
    case 'equals':
      return exactly(is(number))
    case 'not_equals':
      return exactly(not(is(number)))
    case 'in':
      return exactly(any((value as number[]).map(is)))
    case 'not_in':
      return exactly(not(any((value as number[]).map(is))))
    case 'gt':
      return exactly(scores(Math.floor(number) + 1, maxScore))
    case 'gte':
      return exactly(scores(Math.ceil(number), maxScore))
    case 'lt':
      return exactly(scores(-maxScore, Math.ceil(number) - 1))
    case 'lte':
      return exactly(scores(-maxScore, Math.floor(number)))
    case 'is_set':
      return exactly(true)
    case 'is_not_set':
      return exactly(false)
    default:
      return unknown
  }
}
