import type { Db } from '../../platform/database.ts'
import * as store from './store.ts'

/** Spec silent: a tag's name is taken as written, without spaces around it. Tags come into being at first use. */
export const cleanTagNames = (names: readonly string[]): string[] => [
  ...new Set(names.map(name => name.trim()).filter(name => name !== '')),
]

export async function ensureTags(db: Db, businessId: string, names: readonly string[], now: Date): Promise<number[]> {
  const wanted = cleanTagNames(names)
  if (wanted.length === 0) return []
  const found = new Map((await store.ensure(db, businessId, wanted, now)).map(tag => [tag.name, tag.number]))
  return wanted.map(name => found.get(name)!)
}

export const findTags = async (db: Db, businessId: string, names: readonly string[]): Promise<number[]> =>
  names.length === 0 ? [] : (await store.byNames(db, businessId, cleanTagNames(names))).map(tag => tag.number)
