import { createHash } from 'node:crypto'
import type { Db } from '../database.ts'

/**
 * Limits on what can be guessed: coupon codes, cards, addresses. Counted in the database, because the next guess may
 * come to another process, and in the world's time. Only hashes are kept: neither what was tried nor by whom.
 */
export interface Limit {
  kind: string
  windowSeconds: number
  /** who tries, with how many distinct tries each is allowed: a session, an address of the network */
  subjects: readonly { subject: string; most: number }[]
}

const hash = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 22)

export async function isTriedOut(db: Db, businessId: string, limit: Limit): Promise<boolean> {
  const subjects = limit.subjects.map(({ subject }) => hash(subject))
  const rows = await db<{ subject: string; tries: number }[]>`
    select subject, count(*)::int as tries from page_try
    where business_id = ${businessId} and kind = ${limit.kind} and subject = any(${subjects})
      and at > now() - ${limit.windowSeconds} * interval '1 second'
    group by subject`
  const tries = new Map(rows.map(row => [row.subject, row.tries]))
  return limit.subjects.some(({ subject, most }) => (tries.get(hash(subject)) ?? 0) >= most)
}

/** The same thing tried again counts once. */
export async function noteTry(db: Db, businessId: string, limit: Limit, what: string): Promise<void> {
  const rows = limit.subjects.map(({ subject }) => ({
    business_id: businessId,
    kind: limit.kind,
    subject: hash(subject),
    what: hash(what),
  }))
  await db`
    insert into page_try ${db(rows)}
    on conflict (business_id, kind, subject, what) do update set at = now()`
}

export const purgeTries = (db: Db) => db`delete from page_try where at < now() - interval '1 day'`
