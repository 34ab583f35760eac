import { Liquid, type TagToken, Tokenizer, TokenKind, type TopLevelToken } from 'liquidjs'
import { unprocessable } from '../../platform/problem.ts'
import { compileValue, type Evaluate } from './expression.ts'
import { filters } from './filters.ts'

/**
 * Templates are Liquid, restricted to output, `if`/`elsif`/`else`, `unless`, `comment` and `raw`: nothing that loops,
 * assigns or loads, so that a template can neither hang the program nor read what is not the recipient's.
 */
export type Piece =
  | { kind: 'text'; text: string }
  | { kind: 'output'; source: string; value: Evaluate }
  | { kind: 'tag'; name: TagName; condition: Evaluate | undefined }

export type TagName = 'if' | 'elsif' | 'else' | 'endif' | 'unless' | 'endunless'

export interface TemplateFault {
  message: string
  line: number
  column: number
}

const allowedTags = new Set(['if', 'unless', 'comment', 'raw', '#'])
const longestTemplate = 1_048_576
const mostTags = 5_000
const deepestNesting = 20

/** Includes are not available; should the library ever look for one, there is nothing to find. */
const noFiles = {
  readFileSync: () => '',
  readFile: async () => '',
  existsSync: () => false,
  exists: async () => false,
  resolve: () => '',
  contains: async () => false,
  containsSync: () => false,
}

const liquid = restricted()

function restricted(): Liquid {
  const engine = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    fs: noFiles,
    dynamicPartials: false,
    relativeReference: false,
  })
  for (const name of Object.keys(engine.tags)) if (!allowedTags.has(name)) delete engine.tags[name]
  for (const name of Object.keys(engine.filters)) if (!filters[name]) delete engine.filters[name]
  for (const [name, filter] of Object.entries(filters)) engine.registerFilter(name, filter)
  return engine
}

/** Refuses a template that does not parse (422), naming line and column. */
export function checkTemplate(text: string, field = 'content'): void {
  const fault = findTemplateFault(text)
  if (!fault) return
  const where = `line ${fault.line}, column ${fault.column}`
  throw unprocessable('template_invalid', `The template does not parse at ${where}: ${fault.message}.`, [
    { field, message: `${where}: ${fault.message}` },
  ])
}

export function findTemplateFault(text: string): TemplateFault | undefined {
  try {
    parseTemplate(text)
    return undefined
  } catch (error) {
    if (error instanceof Error && 'fault' in error) return error.fault as TemplateFault
    throw error
  }
}

/** Reads a template that was checked before; its pieces are in the order of the text. */
export function parseTemplate(text: string): Piece[] {
  if (text.length > longestTemplate) throw faultAt([1, 1], `it is longer than ${longestTemplate} characters`)
  let tokens: TopLevelToken[]
  try {
    liquid.parse(text)
    tokens = new Tokenizer(text).readTopLevelTokens()
  } catch (error) {
    throw faultAt(positionOf(error), readable(error))
  }
  const pieces: Piece[] = []
  let depth = 0
  let inComment = false
  for (const token of tokens) {
    if (pieces.length > mostTags * 2) throw faultAt(token.getPosition(), `it has more than ${mostTags} tags`)
    const name = token.kind === TokenKind.Tag ? (token as TagToken).name : undefined
    if (name === 'comment' || name === 'endcomment') inComment = name === 'comment'
    else if (!inComment && name !== 'raw' && name !== 'endraw' && name !== '#') {
      if (name === 'if' || name === 'unless') depth++
      if (name === 'endif' || name === 'endunless') depth--
      if (depth > deepestNesting)
        throw faultAt(token.getPosition(), `conditions are nested deeper than ${deepestNesting}`)
      try {
        pieces.push(pieceOf(token))
      } catch (error) {
        throw faultAt(token.getPosition(), readable(error))
      }
    }
  }
  return pieces
}

function pieceOf(token: TopLevelToken): Piece {
  if (token.kind === TokenKind.HTML)
    return { kind: 'text', text: (token as unknown as { getContent(): string }).getContent() }
  if (token.kind === TokenKind.Output) {
    const source = (token as unknown as { content: string }).content
    return { kind: 'output', source: source.trim(), value: compileValue(source, liquid) }
  }
  const { name, args } = token as TagToken
  const hasCondition = name === 'if' || name === 'elsif' || name === 'unless'
  return { kind: 'tag', name: name as TagName, condition: hasCondition ? compileValue(args, liquid) : undefined }
}

const faultAt = ([line, column]: readonly number[], message: string) =>
  Object.assign(new Error(message), { fault: { message, line: line ?? 1, column: column ?? 1 } })

function positionOf(error: unknown): readonly number[] {
  const token = (error as { token?: { getPosition?(): [number, number] } }).token
  return token?.getPosition?.() ?? [1, 1]
}

/** The library repeats the position and quotes the source; one clause that says what to mend is enough. */
function readable(error: unknown): string {
  const message = (error instanceof Error ? error.message : String(error)).replace(/, line:\d+, col:\d+[\s\S]*$/, '')
  const tag = /^tag "(.+)" not found$/.exec(message)?.[1]
  if (tag && /^(end|else|elsif|when)/.test(tag)) return `"${tag}" has no beginning`
  if (tag) return `the tag "${tag}" is not available; templates know if, unless, comment and raw`
  const filter = /^undefined filter: (.+)$/.exec(message)?.[1]
  if (filter) return `the filter "${filter}" is not available; templates know ${Object.keys(filters).join(', ')}`
  return message
}
