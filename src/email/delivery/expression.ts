import { type Liquid, type LiteralToken, type PropertyAccessToken, type Token, TokenKind, Value } from 'liquidjs'
import { filters, isBlank, textOf } from './filters.ts'

/** What a template may see of a recipient. An empty field counts as absent, so that `if firstName` means what it says. */
export type MergeData = Record<string, unknown>
export type Evaluate = (data: MergeData) => unknown

/**
 * Turns a parsed Liquid value into a small function. The library checks the syntax once; evaluating through it would
 * cost each recipient ten times as much.
 */
export function compileValue(source: string, liquid: Liquid): Evaluate {
  const value = new Value(source, liquid)
  return value.filters.reduce<Evaluate>((inner, { name, args }) => {
    const filter = filters[name]
    if (!filter) throw new Error(`undefined filter: ${name}`)
    const parameters = args.map(part => compileToken(Array.isArray(part) ? part[1] : part))
    return data => filter(inner(data), ...parameters.map(parameter => parameter(data)))
  }, compilePostfix(value.initial.postfix))
}

/** Liquid's truth: only nil and false are false. */
export const isTrue = (value: unknown) => value !== undefined && value !== null && value !== false

function compilePostfix(tokens: readonly Token[]): Evaluate {
  const stack: Evaluate[] = []
  const pop = () => {
    const top = stack.pop()
    if (!top) throw new Error('a value is missing beside an operator')
    return top
  }
  for (const token of tokens) {
    if (token.kind !== TokenKind.Operator) stack.push(compileToken(token))
    else {
      const operator = (token as Token & { operator: string }).operator
      const right = pop()
      stack.push(operator === 'not' ? data => !isTrue(right(data)) : compileOperator(operator, pop(), right))
    }
  }
  const result = pop()
  if (stack.length > 0) throw new Error('an operator is missing between two values')
  return result
}

function compileOperator(operator: string, left: Evaluate, right: Evaluate): Evaluate {
  switch (operator) {
    case 'and':
      return data => isTrue(left(data)) && isTrue(right(data))
    case 'or':
      return data => isTrue(left(data)) || isTrue(right(data))
    case '==':
      return data => equals(left(data), right(data))
    case '!=':
      return data => !equals(left(data), right(data))
    case '<':
      return data => compare(left(data), right(data)) < 0
    case '<=':
      return data => compare(left(data), right(data)) <= 0
    case '>':
      return data => compare(left(data), right(data)) > 0
    case '>=':
      return data => compare(left(data), right(data)) >= 0
    case 'contains':
      return data => contains(left(data), right(data))
    default:
      throw new Error(`unknown operator: ${operator}`)
  }
}

const blank = Symbol('blank')

function equals(left: unknown, right: unknown): boolean {
  if (left === blank) return isBlank(right === blank ? '' : right)
  if (right === blank) return isBlank(left)
  if (typeof left === 'number' || typeof right === 'number') return Number(left) === Number(right) && left !== null
  return (left ?? undefined) === (right ?? undefined)
}

/** NaN where the two can't be compared, so that every comparison is false. */
function compare(left: unknown, right: unknown): number {
  if (typeof left === 'number' || typeof right === 'number')
    return left === null || left === undefined || right === null || right === undefined
      ? Number.NaN
      : Number(left) - Number(right)
  if (typeof left !== 'string' || typeof right !== 'string') return Number.NaN
  return left < right ? -1 : left > right ? 1 : 0
}

const contains = (left: unknown, right: unknown) =>
  Array.isArray(left)
    ? left.some(item => textOf(item) === textOf(right))
    : typeof left === 'string' && left.includes(textOf(right))

function compileToken(token: unknown): Evaluate {
  const { kind } = token as Token
  if (kind === TokenKind.Number || kind === TokenKind.Quoted) {
    const { content } = token as { content: unknown }
    return () => content
  }
  if (kind === TokenKind.Literal) {
    const { literal } = token as LiteralToken
    if (literal === 'empty' || literal === 'blank') return () => blank
    const constant = literal === 'true' ? true : literal === 'false' ? false : undefined
    return () => constant
  }
  if (kind === TokenKind.PropertyAccess) return compilePath(token as PropertyAccessToken)
  throw new Error('ranges and groups are not available in templates')
}

function compilePath({ variable, props }: PropertyAccessToken): Evaluate {
  if (variable) throw new Error('a path begins with a name')
  const [only] = props
  // The common case, a plain field of the recipient, without a loop.
  if (props.length === 1 && only?.kind === TokenKind.Word) {
    const name = (only as unknown as { content: string }).content
    return data => (Object.hasOwn(data, name) ? data[name] : undefined)
  }
  const steps = props.map(prop =>
    prop.kind === TokenKind.Word ? constant((prop as unknown as { content: string }).content) : compileToken(prop),
  )
  return data => {
    let value: unknown = data
    for (const step of steps) value = propertyOf(value, step(data))
    return value
  }
}

const constant =
  (value: unknown): Evaluate =>
  () =>
    value

function propertyOf(value: unknown, name: unknown): unknown {
  if (typeof value === 'string') return name === 'size' ? value.length : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    if (name === 'size') return value.length
    if (name === 'first') return value[0]
    if (name === 'last') return value.at(-1)
  }
  const key = textOf(name)
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}
