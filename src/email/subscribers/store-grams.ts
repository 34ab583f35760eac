import { CopyRows } from '../../platform/copy-rows.ts'
import { type Db, only } from '../../platform/database.ts'
import { tenant } from '../store-tenant.ts'
import type { GramSet } from './block-grams.ts'
import { type BlockSets, inEach, inSome, sentBits } from './block-sets.ts'
import { isBits, setBytes } from './grams.ts'
import { searchText } from './store-changes.ts'

/** As the program has them: bytes of a list or of bits. */
export const storedSlots = (db: Db) => db`coalesce(slots, substring(bit_send(bits) from 5))`

/** Rows of the sets of a block that nobody was in before. */
export function gramRows(businessId: string, block: number, sets: readonly GramSet[]): CopyRows {
  const rows = new CopyRows(5, 1_500_000)
  for (const { gram, slots } of sets) {
    rows.begin()
    rows.text(businessId)
    rows.text(gram)
    rows.int(block)
    if (isBits(slots)) {
      rows.null()
      rows.bits(slots)
    } else {
      rows.bytea(slots)
      rows.null()
    }
  }
  return rows
}

export const copyGrams = (db: Db, rows: CopyRows) =>
  rows.sendTo(db`copy email_gram (business_id, gram, block, slots, bits) from stdin (format binary)`)

export const addWords = (db: Db, businessId: string, words: readonly string[]) => db`
  insert into email_word (business_id, word) select ${businessId}, word from unnest(${words as string[]}::text[]) word
  order by word on conflict do nothing`

export const setsOf = (db: Db, businessId: string, grams: readonly string[], blocks: readonly number[]) => db<
  { gram: string; block: number; slots: Buffer }[]
>`
  select g.gram, g.block, ${storedSlots(db)} as slots from unnest(${grams as string[]}::text[], ${blocks as number[]}::int[]) as wanted (gram, block)
  join email_gram g on g.business_id = ${businessId} and g.gram = wanted.gram collate "C" and g.block = wanted.block`

export async function putSets(
  db: Db,
  businessId: string,
  sets: readonly { gram: string; block: number; slots: Buffer | undefined }[],
): Promise<void> {
  const [full, empty] = [sets.filter(set => set.slots), sets.filter(set => !set.slots)]
  if (full.length > 0)
    await db`
      insert into email_gram (business_id, gram, block, slots, bits)
      select ${businessId}, gram, block, case when length(hex) < ${setBytes * 2} then decode(hex, 'hex') end,
        case when length(hex) = ${setBytes * 2} then ('x' || hex)::bit(8192) end
      from unnest(${full.map(set => set.gram)}::text[], ${full.map(set => set.block)}::int[], ${full.map(set => set.slots!.toString('hex'))}::text[])
        as s (gram, block, hex)
      on conflict (business_id, gram, block) do update set slots = excluded.slots, bits = excluded.bits`
  if (empty.length > 0)
    await db`
      delete from email_gram g using unnest(${empty.map(set => set.gram)}::text[], ${empty.map(set => set.block)}::int[]) as e (gram, block)
      where g.business_id = ${businessId} and g.gram = e.gram collate "C" and g.block = e.block`
}

export interface TodoText {
  slot: number
  indexed: string | null
  /** null: deleted since */
  current: string | null
}

/**
 * Takes slots off the list, with the text their sets hold and the text they have now. Who has a change of text in the log stays:
 * that change tells the text before it, which must be the one in the sets. Rows are asked for in the order of slots, which one index has: before
 * the planner knows the table it might take any, and read all of it for each slot.
 */
export const takeTodo = (db: Db, businessId: string, limit: number) => db<TodoText[]>`
  with due as materialized (
    select slot, indexed from email_search_todo t where business_id = ${businessId} and slot not in (
      select slot from email_change where business_id = ${businessId} and text_changed)
    order by slot limit ${limit}
  ), taken as (
    delete from email_search_todo t where t.business_id = ${businessId} and t.slot = any(array(select slot from due))
  )
  select due.slot, due.indexed, s.text as current from due left join lateral (
    select case when s.delete_after is null then ${searchText(db, db`s`)} end as text
    from email_subscriber s where s.business_id = ${tenant(db, businessId)} and s.slot >= due.slot and s.slot <= due.slot order by s.slot limit 1) s on true`

export const hasTodo = async (db: Db, businessId: string, atLeast: number) =>
  only(
    await db<{ has: boolean }[]>`
    select count(*) >= ${atLeast} as has from (select 1 from email_search_todo where business_id = ${businessId} limit ${atLeast}) few`,
  ).has

/** What is on the list already keeps its text: that is the one in the sets. */
export const addTodo = (db: Db, businessId: string, texts: readonly { slot: number; indexed: string | null }[]) => db`
  insert into email_search_todo (business_id, slot, indexed)
  select ${businessId}, slot, indexed from unnest(${texts.map(text => text.slot)}::int[], ${texts.map(text => text.indexed)}::text[])
    as t (slot, indexed) order by slot
  on conflict do nothing`

export interface TermFacts {
  /** as the database lowers it, since rows are compared so */
  term: string
  /** slots whose sets can't be trusted: their rows are looked at */
  changed: number[]
  /** common words that contain the term */
  words: string[]
}

/** With other filters beside the search, every slot in the log is in doubt; without, only those whose text changed. */
export const termFacts = (db: Db, businessId: string, term: string, options: { alone: boolean; longTerm: boolean }) =>
  db<TermFacts[]>`
  select lower(${term}::text) as term,
    array(select slot from email_change where business_id = ${businessId} ${options.alone ? db`and text_changed` : db``}
      union select slot from email_search_todo where business_id = ${businessId}) as changed,
    ${
      options.longTerm
        ? db`array(select word from email_word where business_id = ${businessId} and position(lower(${term}::text) in word) > 0)`
        : db`array[]::text[]`
    } as words`.then(only)

/** Who is in all of these sets, by block; only blocks that have all of them. */
export const inAll = async (db: Db, businessId: string, grams: readonly string[]): Promise<BlockSets> =>
  new Map(
    (
      await db<StoredSets[]>`
      select block, bit_send(bit_and(bits)) as dense, string_agg(slots, '\\xffff') as lists
      from email_gram where business_id = ${businessId} and gram = any(${grams as string[]}::text[])
      group by block having count(*) = ${grams.length}`
    ).map(({ block, dense, lists }) => [block, inEach(dense ? sentBits(dense) : undefined, lists ?? undefined)]),
  )

/** Who is in any of them. */
export const inAny = async (db: Db, businessId: string, grams: readonly string[]): Promise<BlockSets> =>
  new Map(
    (
      await db<StoredSets[]>`
      select block, bit_send(bit_or(bits)) as dense, string_agg(slots, '\\xffff') as lists
      from email_gram where business_id = ${businessId} and gram = any(${grams as string[]}::text[]) group by block`
    ).map(({ block, dense, lists }) => [block, inSome(dense ? sentBits(dense) : undefined, lists ?? undefined)]),
  )

interface StoredSets {
  block: number
  dense: Buffer | null
  /** parted by `listEnd` */
  lists: Buffer | null
}
