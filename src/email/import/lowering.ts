import type { Db } from '../../platform/database.ts'
import * as store from './store-create.ts'

/**
 * What emails and searches are compared with is lowered by the database. ASCII is lowered here, as it would be there; the rest
 * is sent. Finds what must be sent.
 */
export type Lowering = RegExp

export const loweringOf = async (db: Db): Promise<Lowering> =>
  (await store.lowersAsciiPlainly(db)) ? /[\u0080-\uffff]/ : /[A-Z\u0080-\uffff]/

export async function lowerTexts(db: Db, lowering: Lowering, texts: readonly string[]): Promise<string[]> {
  const lowered = texts.map(text => text.toLowerCase())
  const sent = texts.flatMap((text, i) => (lowering.test(text) ? [i] : []))
  if (sent.length === 0) return lowered
  const answered = await store.lowerEach(
    db,
    sent.map(i => texts[i]!),
  )
  for (const [n, i] of sent.entries()) lowered[i] = answered[n]!
  return lowered
}
