import { type Db, only } from '../../platform/database.ts'
import type { SegmentRule } from '../segments/store.ts'
import { everyoneKey, listKey, scoreBase, scoreBits, scoreKey, statusKey, tagKey } from './bitmaps.ts'
import { type BlockSets, sentBits } from './block-sets.ts'
import { maxScore } from './schema.ts'
import type { RuleNumbers, SetRule } from './sets.ts'
import type { Fragment } from './store-changes.ts'

const nobody = (db: Db) => db`0::bit(8192)`

type Leaf = Exclude<SetRule, boolean | { all: SetRule[] } | { any: SetRule[] } | { not: SetRule }>

/**
 * The blocks of a rule, as folded. Each leaf becomes a column of bits by block, and the rule an expression over the columns.
 * The text of the statement depends on the shape of the rule alone, not on its numbers, so that it is planned once.
 */
export async function ruleBlocks(
  db: Db,
  businessId: string,
  rule: SetRule,
): Promise<{ blocks: Fragment; bits: number[] }> {
  const bits = hasScore(rule) ? await scoreBitsInUse(db, businessId) : []
  const columns: Fragment[] = []
  const keys: string[] = [everyoneKey]
  const kinds: string[] = []
  const column = (condition: Fragment): Fragment => {
    columns.push(
      db`, coalesce(bit_or(bits) filter (where ${condition}), ${nobody(db)}) as ${db(`set${columns.length}`)}`,
    )
    return db`${db(`set${columns.length - 1}`)}`
  }
  const steps: Fragment[] = []
  const step: Step = value => {
    const name = `step${steps.length}`
    steps.push(db`cross join lateral (select ${value} as ${db(name)} offset 0) ${db(`of_${name}`)}`)
    return db`${db(name)}`
  }
  const everyone = column(db`key = ${everyoneKey}`)
  const scoreColumns = bits.map(bit => {
    keys.push(scoreKey(bit))
    return column(db`key = ${scoreKey(bit)}`)
  })
  const expression = (part: SetRule): Fragment => {
    if (part === true) return everyone
    if (part === false) return nobody(db)
    if ('not' in part) return db`(~${expression(part.not)})`
    if ('all' in part) return db`(${part.all.map(expression).reduce((a, b) => db`${a} & ${b}`)})`
    if ('any' in part) return db`(${part.any.map(expression).reduce((a, b) => db`${a} | ${b}`)})`
    if ('from' in part) {
      const reach = (score: number) => atLeast(db, score, bits, scoreColumns, step)
      if (part.to >= maxScore) return reach(part.from)
      const below = db`(~${reach(part.to + 1)})`
      return part.from <= -maxScore ? below : db`(${reach(part.from)} & ${below})`
    }
    if (part.values === 'some') {
      const kind = part.in === 'lists' ? 'l' : 't'
      kinds.push(kind)
      return column(db`key like ${`${kind}%`}`)
    }
    const own = keysOfLeaf(part)
    keys.push(...own)
    return own.length === 1 ? column(db`key = ${own[0]!}`) : column(db`key = any(${own}::text[])`)
  }
  const matching = expression(rule)
  return {
    bits,
    blocks: db`
      select block, newest, ${matching} & ${everyone} as bits from (
        select block, max(newest) as newest ${columns.reduce((a, b) => db`${a} ${b}`)} from email_bitmap
        where business_id = ${businessId} and (key = any(${[...new Set(keys)]}::text[])
          ${kinds.includes('l') ? db`or key >= 'l' and key < 'm'` : db``} ${kinds.includes('t') ? db`or key >= 't' and key < 'u'` : db``})
        group by block) sets ${steps.reduce((a, b) => db`${a} ${b}`, db``)}`,
  }
}

function keysOfLeaf(leaf: Leaf): string[] {
  if (!('in' in leaf) || leaf.values === 'some') return []
  if (leaf.in === 'status') return leaf.values.map(statusKey)
  return leaf.values.map(leaf.in === 'lists' ? listKey : tagKey)
}

const hasScore = (rule: SetRule): boolean => {
  if (typeof rule === 'boolean') return false
  if ('not' in rule) return hasScore(rule.not)
  if ('all' in rule) return rule.all.some(hasScore)
  return 'any' in rule ? rule.any.some(hasScore) : 'from' in rule
}

const allBits = Array.from({ length: scoreBits }, (_, bit) => bit)

/** Scores of a business use few of the bits they could; only those are worth looking at. */
async function scoreBitsInUse(db: Db, businessId: string): Promise<number[]> {
  const rows = await db<{ bit: number }[]>`
    select bit from generate_series(0, ${scoreBits - 1}::int) bit
    where exists (select 1 from email_bitmap where business_id = ${businessId} and key = 'b' || bit) order by bit`
  return rows.map(row => row.bit)
}

/** The least score not below this one that is made of bits in use, as those bits; undefined when there is none. */
function withBits(score: number, bits: readonly number[]): boolean[] | undefined {
  const value = score + scoreBase
  const isSet = (bit: number) => Math.floor(value / 2 ** bit) % 2 === 1
  const highest = allBits.findLast(bit => isSet(bit) && !bits.includes(bit))
  if (highest === undefined) return bits.map(isSet)
  const raised = bits.find(bit => bit > highest && !isSet(bit))
  return raised === undefined ? undefined : bits.map(bit => (bit > raised ? isSet(bit) : bit === raised))
}

/**
 * Who has at least this score, from the lowest bit up: where the score has the bit, one must have it and be at least the rest
 * (`and`); where not, one who has it is above (`or`). Which of them it is, is a parameter.
 */
function atLeast(db: Db, score: number, bits: readonly number[], columns: readonly Fragment[], step: Step): Fragment {
  const wanted = withBits(score, bits)
  let found = db`(${wanted ? -1 : 0}::int)::bit(8192)`
  for (const [i, column] of columns.entries())
    found = step(db`case when ${wanted?.[i] ?? true}::bool then ${column} & ${found} else ${column} | ${found} end`)
  return found
}

/** Names a value, so that it is computed once however often it is used. */
type Step = (value: Fragment) => Fragment

/** The rule on one side of a row of the log. */
function changeCondition(db: Db, rule: SetRule, side: 'old' | 'new'): Fragment {
  const column = (name: string) => db(`${side}_${name}`)
  const condition = (part: SetRule): Fragment => {
    if (typeof part === 'boolean') return part ? db`true` : db`false`
    if ('not' in part) return db`not ${condition(part.not)}`
    if ('all' in part) return db`(${part.all.map(condition).reduce((a, b) => db`${a} and ${b}`)})`
    if ('any' in part) return db`(${part.any.map(condition).reduce((a, b) => db`${a} or ${b}`)})`
    if ('from' in part) return db`${column('score')} between ${part.from} and ${part.to}`
    if (part.in === 'status') return db`${column('status')} = any(${part.values}::text[])`
    return part.values === 'some'
      ? db`cardinality(${column(part.in)}) > 0`
      : db`${column(part.in)} && ${part.values}::int[]`
  }
  return db`coalesce(${column('status')} is not null and ${condition(rule)}, false)`
}

export interface Totals {
  /** how many match */
  total: number
  /** how many there are, nearly: to choose the cheaper way to a page */
  everyone: number
}

export const everyoneNearly = (db: Db, businessId: string) => db`
  coalesce((select c.total from email_count c where c.business_id = ${businessId} and c.kind = 'all'), 0)`

/** What is folded plus what the log still holds, in one statement and so in one snapshot. */
export async function totalOfRule(db: Db, businessId: string, rule: SetRule): Promise<Totals> {
  for (;;) {
    const kept = keptIn(rule)
    const { blocks, bits } = kept ? { blocks: db``, bits: [] } : await ruleBlocks(db, businessId, rule)
    const folded = kept
      ? keptTotal(db, businessId, kept)
      : db`select coalesce(sum(bit_count(bits)), 0) from (${blocks}) matching`
    const unseen = kept || !hasScore(rule) ? [] : allBits.filter(bit => !bits.includes(bit)).map(scoreKey)
    const row = await db<(Totals & { outdated: boolean })[]>`
      select ((${folded}) + (
        select coalesce(sum(${changeCondition(db, rule, 'new')}::int - ${changeCondition(db, rule, 'old')}::int), 0)
        from email_change where business_id = ${businessId}))::int as total,
        ${everyoneNearly(db, businessId)} as everyone,
        ${unseen.length > 0 ? db`exists (select 1 from email_bitmap where business_id = ${businessId} and key = any(${unseen}::text[]))` : db`false`} as outdated`.then(
      only,
    )
    // A folding in between may have brought a bit of the score into use that the statement did not look at.
    if (!row.outdated) return { total: row.total, everyone: row.everyone }
  }
}

interface Kept {
  column: string
  kind: string
  from: number
  to: number
}

export const hasKeptTotal = (rule: SetRule) => keptIn(rule) !== undefined

/** Kept totals answer for everyone, one list, one tag or a range of scores, each also by status. */
function keptIn(rule: SetRule): Kept | undefined {
  if (rule === false) return undefined
  const parts = rule === true ? [] : typeof rule === 'object' && 'all' in rule ? rule.all : [rule]
  let column = 'total'
  let kept: Omit<Kept, 'column'> | undefined
  for (const part of parts) {
    if (typeof part === 'boolean') return undefined
    if ('from' in part && !kept) kept = { kind: 'score', ...part }
    else if (!('in' in part) || part.values === 'some' || part.values.length !== 1) return undefined
    else if (part.in === 'status' && column === 'total') column = part.values[0]!
    else if (part.in !== 'status' && !kept)
      kept = { kind: part.in === 'lists' ? 'list' : 'tag', from: part.values[0]!, to: part.values[0]! }
    else return undefined
  }
  return { column, ...(kept ?? { kind: 'all', from: 0, to: 0 }) }
}

const keptTotal = (db: Db, businessId: string, { column, kind, from, to }: Kept) => db`
  select coalesce(sum(${db(column)}), 0) from email_count
  where business_id = ${businessId} and kind = ${kind} and number between ${from} and ${to}`

export interface RuleBlock {
  block: number
  /** nobody of the block was created later; null: not known */
  newest: Date | null
  members: number
  bits: Uint8Array | undefined
}

export const everybody = 2 ** 31 - 1

/** The blocks of a rule that have anybody, newest first. Their bits only until they have `reach` members, and of those just as new. */
export async function newestBlocks(db: Db, businessId: string, rule: SetRule, reach = everybody): Promise<RuleBlock[]> {
  const { blocks } = await ruleBlocks(db, businessId, rule)
  const rows = await db<(Omit<RuleBlock, 'bits'> & { bytes: Buffer | null })[]>`
    select block, newest, members, case when newer < ${reach}::int then bit_send(bits) end as bytes
    from (
      select *, coalesce(sum(members) over (order by newest desc groups between unbounded preceding and 1 preceding), 0) as newer
      from (select block, newest, bits, bit_count(bits)::int as members from (${blocks} offset 0) folded offset 0) matching
      where members > 0) counted
    order by newest desc`
  return rows.map(({ bytes, ...row }) => ({ ...row, bits: bytes ? sentBits(bytes) : undefined }))
}

export const blocksOfRule = async (db: Db, businessId: string, rule: SetRule): Promise<BlockSets> =>
  new Map((await newestBlocks(db, businessId, rule)).map(({ block, bits }) => [block, bits!]))

/** When the newest of each block was created, where that is known. */
export const newestByBlock = async (db: Db, businessId: string): Promise<Map<number, Date>> =>
  new Map(
    (
      await db<{ block: number; newest: Date }[]>`
      select block, newest from email_bitmap where business_id = ${businessId} and key = ${everyoneKey} and newest is not null`
    ).map(({ block, newest }) => [block, newest]),
  )

/** What the log adds to what is folded of a rule: by how much the total differs, and whoever may have come to match. */
export const logOfRule = (db: Db, businessId: string, rule: SetRule) =>
  db<{ difference: number; slots: number[]; everyone: number }[]>`
  select coalesce(sum(is_in::int - was_in::int), 0)::int as difference,
    coalesce(array_agg(distinct slot) filter (where is_in), '{}') as slots, ${everyoneNearly(db, businessId)} as everyone
  from (
    select slot, ${changeCondition(db, rule, 'new')} as is_in, ${changeCondition(db, rule, 'old')} as was_in
    from email_change where business_id = ${businessId}) logged`.then(only)

/** Names in rules, as numbers; only asked where a segment is looked at. */
export async function ruleNumbers(
  db: Db,
  businessId: string,
  segments: readonly SegmentRule[] | undefined,
): Promise<RuleNumbers> {
  if (!segments || segments.length === 0) return { tags: new Map(), listNames: new Map(), listIds: new Map() }
  const tags = await db<
    { name: string; number: number }[]
  >`select name, number from email_tag where business_id = ${businessId}`
  const lists = await db<{ id: string; name: string; number: number }[]>`
    select id, lower(name) as name, number from email_list where business_id = ${businessId}`
  return {
    tags: new Map(tags.map(tag => [tag.name, tag.number])),
    listNames: new Map(lists.map(list => [list.name, list.number])),
    listIds: new Map(lists.map(list => [list.id, list.number])),
  }
}
