import type { Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { conflict } from '../../platform/problem.ts'
import * as store from './store.ts'

/** Names of lists are unique without regard to case, because contacts name their lists. */
export async function createList(db: Db, businessId: string, { name, now }: { name: string; now: Date }) {
  const list = await store.insertList(db, businessId, { id: newId(), name: name.trim(), now })
  if (!list) throw conflict('list_name_taken', `A list is already named "${name.trim()}".`)
  return list
}

/**
 * The wanted names as the lists spell them, by their lower-case form.
 * Spec silent: a list that a contact names comes into being with it.
 */
export async function ensureLists(
  db: Db,
  businessId: string,
  { wanted, now }: { wanted: readonly string[]; now: Date },
): Promise<Map<string, string>> {
  const named = new Map<string, string>()
  if (wanted.length === 0) return named
  const look = async () => {
    for (const { name } of await store.listsNamed(db, businessId, [...wanted])) named.set(name.toLowerCase(), name)
  }
  await look()
  const missing = wanted.filter(name => !named.has(name.toLowerCase()))
  if (missing.length === 0) return named
  for (const name of new Set(missing)) await store.insertList(db, businessId, { id: newId(), name, now })
  await look()
  return named
}
